"""The list on which the cases of a project open when no filter is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.listing import newest_judged_run, run_has_confidences


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
