"""The filter of the list of verdicts: its bar, and the filters to try when the list opens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from recjudge_tui.domain.filters import HINT, parse_filter
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts import newest_judged_run, run_has_confidences
from recjudge_tui.tui.kit.completion import Values
from recjudge_tui.tui.kit.filter_bar import FilterBar


class OpeningFilter(NamedTuple):
    """A filter to try, its order, and what the top line says of it: why it is not the queue."""

    filter_text: str
    sort: str = "id"
    about: str = ""


def opening_filters(db: Database, project_id: int) -> Iterator[OpeningFilter]:
    """The filters to try until one lists a verdict: the queue of the newest run, the queue of all runs, the flagged
    verdicts of that run, all its verdicts. Yields nothing if no judge has run.
    """
    run = newest_judged_run(db, project_id)
    if run is None:
        return
    yield OpeningFilter(f"run:{run.id} queue:any")
    yield OpeningFilter("queue:any")
    sort, order = "id", ""
    if run_has_confidences(db, run.id):
        sort, order = "confidence", ", least confident first"
    yield OpeningFilter(
        f"run:{run.id} flag:any", sort, f"queue empty: flagged verdicts of run {run.id}{order}"
    )
    yield OpeningFilter(f"run:{run.id}", sort, f"queue empty: verdicts of run {run.id}{order}")


def verdict_filter_bar(project_id: int) -> FilterBar:
    return FilterBar(_chips, f'{HINT} "free text"', values=partial(_filter_values, project_id=project_id))


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _filter_values(db: Database, project_id: int) -> Values:
    from recjudge_tui.store.filters import filter_values

    return filter_values(db, project_id)
