"""The order of a run's calls: calls whose prompts begin alike follow each other, so that a server reads the common part
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from recjudge_tui.domain.calls import Order
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.protocols.rendering import system_text
from recjudge_tui.store.cases import ShownCase
from recjudge_tui.store.runs import PlannedCall


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
