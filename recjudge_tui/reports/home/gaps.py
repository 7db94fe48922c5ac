"""Missing data of a project and how to add it; the steps from an empty project to a conclusion."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from recjudge_tui.domain.protocols import SAER, with_unit

if TYPE_CHECKING:
    from recjudge_tui.store.projects import DataCounts

Remedy = Literal["import", "judge", "label", "compare"]


class Gap(NamedTuple):
    """Missing data, its consequence, and how to add it."""

    text: str
    remedy: Remedy


class Step(NamedTuple):
    """One step, whether it is done, and the command line that does it."""

    remedy: Remedy
    text: str
    done: bool
    command: str


def gaps(data: DataCounts) -> tuple[Gap, ...]:
    """The missing kinds of data, most important first."""
    return tuple(_gaps(data))


def _gaps(data: DataCounts) -> Iterator[Gap]:
    if not data.lists and not data.explanations:
        # labels alone are enough to rank systems, but there is nothing to judge
        yield Gap("no lists and no texts: a judge has nothing to read", "import")
        return
    if data.lists and len(data.systems) == 1:
        yield Gap("lists of one system only: pairs need two", "import")
    if data.lists and not data.items_described:
        yield Gap("no items: a judge sees ids instead of titles", "import")
    if data.lists and not data.events:
        yield Gap("no events: a judge knows nothing about the users", "import")
    if data.lists and not data.held_out:
        yield Gap("no held-out events: no nDCG beside the verdicts", "import")
    if not data.labels:
        yield Gap("no labels from people: judges cannot be checked", "label")


def steps(project: str, data: DataCounts) -> tuple[Step, ...]:
    """The steps to a conclusion, in order, for a project without verdicts of a judge."""
    name = shlex.quote(project)
    protocol = with_unit("explanation")[0] if data.explanations and not data.lists else SAER[1]
    return (
        Step(
            "import",
            "lists or texts of your systems, then items, events and labels",
            bool(data.lists or data.explanations),
            f"recjudge import FILE -p {name}",
        ),
        Step(
            "judge",
            "a model, or the built-in rules, reads them",
            False,
            f"recjudge run {protocol} -p {name} --judge ollama:MODEL",
        ),
        Step(
            "label",
            "you label some cases yourself, to check the judge",
            bool(data.labels),
            f"recjudge annotate plan -p {name} --protocol {protocol} --annotators YOU --per-case 1",
        ),
        Step(
            "compare",
            "which system is better, and how far to trust the result",
            False,
            f"recjudge leaderboard -p {name} --protocol {protocol}",
        ),
    )
