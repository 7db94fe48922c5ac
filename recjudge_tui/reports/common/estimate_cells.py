"""The columns and cells of an estimate, the same in every table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recjudge_tui.reports.common.table import Column, Kind, Row

if TYPE_CHECKING:
    from recjudge_tui.stats.agreement import Association
    from recjudge_tui.stats.estimate import Estimate


def interval_columns(kind: Kind = "ci", of: str = "ci", *, minor: bool = False) -> tuple[Column, Column]:
    """The columns of an interval, in the unit of `kind`: `ci_low` and `ci_high`, or those of another figure."""
    return Column(f"{of}_low", "CI low", kind, minor=minor), Column(
        f"{of}_high", "CI high", kind, minor=minor
    )


def interval_cells(estimate: Estimate | Association, of: str = "ci") -> Row:
    """The cells of `interval_columns`."""
    return {f"{of}_low": estimate.ci_low, f"{of}_high": estimate.ci_high}


def estimate_cells(estimate: Estimate) -> Row:
    """The cells `value`, `ci_low`, `ci_high`, `n` and `note`."""
    return {"value": estimate.value, **interval_cells(estimate), "n": estimate.n, "note": estimate.note}
