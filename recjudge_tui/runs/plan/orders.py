"""The orders in which the two lists of a case are shown. They do not depend on systems' names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from recjudge_tui.domain.calls import Order, digest
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.runs.plan.adversarial import positions
from recjudge_tui.store.cases import CaseKey


def orders_a_case(protocol: Protocol, settings: RunSettings) -> int:
    """How many orders each case is asked in."""
    return len(protocol.orders) if settings.swap else 1


def case_orders(
    protocol: Protocol,
    settings: RunSettings,
    keys: Sequence[CaseKey],
    read_contents: Callable[[], Mapping[int, str]],
) -> list[tuple[Order, ...]]:
    """The orders of each case, cases in the order of the plan. `read_contents`: digest of the items of each list, by its
    id.

    A pair asked once shows the tested system first and the baseline second, as RecSys Arena does. Without a baseline
    the order is drawn.
    """
    if protocol.name == ADVERSARIAL:
        return [(order,) for order in positions(keys, settings.seed)]
    if orders_a_case(protocol, settings) == len(protocol.orders):
        return [protocol.orders] * len(keys)
    if settings.baseline:
        return [("ba" if key.system_a == settings.baseline else "ab",) for key in keys]
    return [(order,) for order in _drawn(settings.seed, keys, read_contents())]


def _drawn(seed: int, keys: Sequence[CaseKey], contents: Mapping[int, str]) -> list[Order]:
    """Permuted blocks of two: of each two consecutive cases of two systems, each system comes first once.

    The content of the lists, not the names of their systems, decides which comes first in the first case of a block.
    For lists with the same items, the order of import decides.
    """
    open_block: dict[tuple[str, str], Order] = {}
    orders: list[Order] = []
    for key in keys:
        systems = key.system_a, key.system_b
        previous = open_block.pop(systems, None)
        if previous is not None:
            orders.append("ab" if previous == "ba" else "ba")
            continue
        assert key.slate_a is not None
        assert key.slate_b is not None
        a, b = (
            (digest(seed, key.user_id, *key.occasion, contents[slate]), slate)
            for slate in (key.slate_a, key.slate_b)
        )
        orders.append("ab" if a < b else "ba")
        open_block[systems] = orders[-1]
    return orders
