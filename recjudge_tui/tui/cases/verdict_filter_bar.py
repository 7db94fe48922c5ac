"""The filter above a list of verdicts, with the keys and values of its grammar."""

from __future__ import annotations

from functools import partial

from recjudge_tui.domain.filters import HINT, parse_filter
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.completion import Values
from recjudge_tui.tui.kit.filter_bar import FilterBar


def verdict_filter_bar(project_id: int) -> FilterBar:
    return FilterBar(_chips, f'{HINT} "free text"', values=partial(_filter_values, project_id=project_id))


def _chips(text: str) -> tuple[str, ...]:
    return parse_filter(text).chips()


def _filter_values(db: Database, project_id: int) -> Values:
    from recjudge_tui.store.verdicts.filter_values import filter_values

    return filter_values(db, project_id)
