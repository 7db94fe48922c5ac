"""The scores of an explanation, in the room there is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from rich.cells import cell_len

from recjudge_tui.store.case_detail import CaseDetail, Opinion
from recjudge_tui.tui.case import raters
from recjudge_tui.tui.widgets import UNICODE


def _case() -> CaseDetail:
    def said(rater: str, kind: str, aspect: str, value: float) -> Opinion:
        return Opinion(rater, kind, "explanation", aspect, "", value, False, False, None, rater == "rules")

    given = (("user", "ground_truth", 1), ("rules", "rules", 4), ("annotator_1", "annotator", 2),
             ("annotator_2", "annotator", 3))  # fmt: skip
    opinions = tuple(
        said(name, kind, a, value) for a in ("accuracy", "satisfaction") for name, kind, value in given
    )
    shown = SimpleNamespace(
        kind="explanation",
        protocol="explanation",
        aspect="accuracy",
        aspects=("accuracy", "satisfaction"),
        opinions=opinions,
    )
    return cast("CaseDetail", shown)


def test_two_raters_share_a_line_before_their_bars_need_it() -> None:
    lines = [line.plain for line in raters(_case(), 52, UNICODE)]
    assert lines[1].split() == ["user", "1", "user", "rules", "4", "+3", "▲"]
    assert lines[2].split() == ["annotator_1", "2", "+1", "annotator_2", "3", "+2", "▲"]
    assert all(cell_len(line) <= 52 for line in lines)
    # with room for both there are bars, and with room for one rater there are too
    assert "████" in " ".join(line.plain for line in raters(_case(), 78, UNICODE))
    narrow = [line.plain for line in raters(_case(), 34, UNICODE)]
    assert narrow[2].split()[:2] == ["rules", "████"]
