"""The scores of an explanation, in the room there is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from rich.cells import cell_len

from recjudge_tui.store.case_detail import CaseDetail, Opinion
from recjudge_tui.tui.case import raters


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
        rater="rules",
        run_answers=(),
        slates=(),
        protocol="explanation",
        aspect="accuracy",
        aspects=("accuracy", "satisfaction"),
        opinions=opinions,
    )
    return cast("CaseDetail", shown)


def test_scores_stand_beside_the_users_own_at_any_width() -> None:
    for width in (34, 52, 100):
        lines = [line.plain for line in raters(_case(), width)]
        assert all(cell_len(line) <= width for line in lines)
        text = " ".join(" ".join(lines).split())
        assert "▸ accuracy ▲ spread 3" in text or width == 34
        # the user first, then the judge that the verdict is of
        assert text.split()[:2] == ["user", "rules"] or width == 34
        assert "4 +3▲" in text
        assert "2 +1" in text
