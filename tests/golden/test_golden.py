"""Every figure that a report gave when it was kept is given today."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isclose
from typing import Any

import pytest

from tests.builder import Built
from tests.golden.projects import PROJECTS
from tests.golden.reports import LEFT, Row, is_name, kept_of, rows_of

_kept = cache(kept_of)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """A project by name, made when it is first asked for."""
    return cache(lambda name: PROJECTS[name](tmp_path_factory.mktemp(name) / f"{name}.db"))


@pytest.mark.parametrize(("name", "line"), [(name, line) for name in PROJECTS for line in _kept(name)])
def test_a_report_gives_the_kept_figures(built: Callable[[str], Built], name: str, line: str) -> None:
    left = {column for command, columns in LEFT.items() if line.startswith(command) for column in columns}
    today, lost = rows_of(built(name), line), []
    for kept in _kept(name)[line]:
        kept = {column: cell for column, cell in kept.items() if column not in left}
        same = [
            row for row in today if all(_equal(row, *cell) for cell in kept.items() if is_name(line, cell[0]))
        ]
        if not any(all(_equal(row, *cell) for cell in kept.items()) for row in same):
            lost.append((kept, same))
    assert not lost, "\n".join(f"kept {kept}\n  today {same or 'no such row'}" for kept, same in lost[:8])


def _equal(row: Row, column: str, cell: Any) -> bool:
    found = row.get(column, "no such column")
    if isinstance(cell, int | float) and isinstance(found, int | float):
        return isclose(cell, found, rel_tol=1e-9, abs_tol=1e-9)
    return str(found) == str(cell)
