"""The figure of conformal label sets: how many labels each verdict's set holds, so that the unsure ones are read first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rich.text import Text

from recjudge_tui.reports.table import Row
from recjudge_tui.reports.uncertainty import Uncertainty, UncertaintyOptions, uncertainties
from recjudge_tui.store.database import Database
from recjudge_tui.tui.figure_text import Cell

COVERAGE_NOTE = (
    "a set holds the reference label as often as asked for, whoever the user; a verdict whose set holds more than one"
    " label is one to read first; “recjudge calibration” prints the whole of it"
)


class SetGrid(NamedTuple):
    """One row a size of set, one column a label of the verdict; `rows` are what stands behind the cells."""

    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    n: int


def found_sets(
    db: Database, project_id: int, protocol: str, aspect: str, rater: str, truth: str
) -> Uncertainty:
    """One question's verdicts with their label sets. Raises RecjudgeError where they cannot be had."""
    options = UncertaintyOptions(rater, truth, protocol=protocol, aspect=aspect, resamples=0)
    return uncertainties(db, project_id, options)[0]


def set_grid(found: Uncertainty, rater: str, truth: str) -> SetGrid:
    """Counts of verdicts by the size of their set (largest first) and their label."""
    size, n = found.sets.size, int(found.value.size)
    lines = []
    for labels in sorted({int(one) for one in size}, reverse=True):
        cells = []
        for value, name in zip(found.labels, found.names, strict=True):
            count = int(((size == labels) & (found.value == value)).sum())
            row: Row = {
                "rater_a": rater, "rater_b": truth, "labels": labels, "label": name, "value": value,
                "count": count, "n": n, "share": count / n,
            }  # fmt: skip
            weight = "bold" if labels > 1 and count else "" if count else "dim"
            cells.append(Cell(Text(str(count), weight, justify="right"), row))
        lines.append((f"{labels} label{'s' if labels > 1 else ''}", tuple(cells)))
    return SetGrid(found.names, tuple(lines), n)


def cases_of(found: Uncertainty, row: Row) -> tuple[int, ...]:
    """The cases behind one cell."""
    here = (found.sets.size == row["labels"]) & (found.value == row["value"])
    return tuple(int(case) for case in np.unique(found.case[here]))
