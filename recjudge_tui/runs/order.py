"""The order of a run's calls, and the order in which a call shows its two lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from recjudge_tui.domain.calls import Order, digest
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.templates.rendering import system_text
from recjudge_tui.runs.selection import positions
from recjudge_tui.store.cases import CaseKey, ShownCase
from recjudge_tui.store.runs import PlannedCall

# ---- call order --------------------------------------------------------------------------------------------------


class CaseCalls(NamedTuple):
    """A case with what is shown of it, and the orders in which its lists are shown."""

    case_id: int
    shown: ShownCase
    orders: tuple[Order, ...]


def guidelines_are_shared(prompt: Prompt, top_k: int, aspects: Sequence[str]) -> bool:
    """Whether the shared text is the same for all aspects: then the question about an aspect follows the lists."""
    return len({system_text(prompt, top_k, aspect) for aspect in aspects}) == 1


def ordered_calls(
    cases: Sequence[CaseCalls], aspects: Sequence[str], repeats: int, *, aspect_last: bool
) -> Iterator[PlannedCall]:
    """Every call of the cases. Users keep their order. Cases that show the same data about a user move to the place of
    the first of them. The calls about them are sorted by the list shown first, then by the other one, then by aspect;
    by aspect first if prompts do not end with it. Repeats of a prompt follow each other.

    A prompt consists of the guidelines, the user, the lists and the question, in this order. A server that remembers
    only its last prompt thus reads each part as rarely as one that remembers them all. With two systems, a case's
    second order follows its first one.
    """
    by_user: dict[int, list[CaseCalls]] = {}
    for case in cases:
        by_user.setdefault(case.shown.user, []).append(case)
    for shown_alike in by_user.values():
        prompts = _prompts(shown_alike)
        by_aspect = ((prompt, aspect) for aspect in aspects for prompt in prompts)
        for (case_id, order), aspect in product(prompts, aspects) if aspect_last else by_aspect:
            for sample in range(repeats):
                yield PlannedCall(case_id, order, aspect, sample)


def _prompts(cases: Sequence[CaseCalls]) -> list[tuple[int, Order]]:
    """(case, order) of the prompts about one user, in the order in which their lists first occur."""
    rank: dict[int | None, int] = {}
    prompts = []
    for case_id, shown, orders in cases:
        for order in orders:
            parts = (shown.slate_b, shown.slate_a) if order == "ba" else (shown.slate_a, shown.slate_b)
            ranks = tuple(rank.setdefault(part, len(rank)) for part in (shown.example, *parts))
            prompts.append((ranks, case_id, order))
    # stable: explanations of one user stay in the order of their items
    prompts.sort(key=lambda prompt: prompt[0])
    return [(case_id, order) for _, case_id, order in prompts]


# ---- orders ------------------------------------------------------------------------------------------------------


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
