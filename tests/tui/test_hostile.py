"""Hostile text in every place it can come from, on every screen: shown as text, never obeyed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.material import UserView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.text import safe_text
from recjudge_tui.store.case_detail import CaseDetail
from recjudge_tui.store.verdicts import VerdictRow
from recjudge_tui.tui.case import case_content, case_title
from recjudge_tui.tui.row_list import fitted
from recjudge_tui.tui.verdict_list import VerdictList
from tests.support.app.hostile import ALL, FORBIDDEN
from tests.support.hostile import HOSTILE


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("texts", [False, True], ids=["pairs", "texts"])
def test_a_row_has_its_width_regardless_of_its_content(text: str, texts: bool) -> None:
    row = VerdictRow(
        1, 7, text, "judge", "pairwise", text, text, 0.5, False, True, 2, text, text, False, True, (2, 1),
        user_id=text, systems=(text, "als"), occasion=Occasion(text, "2024-05-01T12:00:00+00:00"),
        several_occasions=True, item=text,
    )  # fmt: skip
    rows = [row, row._replace(failed=True, rater="other"), row._replace(systems=(text,), reviewed=True)]
    listed = VerdictList(1)
    lines = [[row] for row in rows]
    listed._texts = {7: [1]} if texts else {}
    needs = listed.sampled(lines)
    for width in (60, 100):
        for shown_row in lines:
            line = "".join(cell for cell, _ in listed.cells(shown_row, fitted(listed.columns, needs, width)))
            assert cell_len(line) == width
            assert not FORBIDDEN & set(line)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_case_is_plain_text(text: str) -> None:
    case = _case(text)
    for width in (20, 36, 100):
        content = case_content(case, width)
        assert not FORBIDDEN - {"\t"} & set(content.plain)
        assert all(line.plain == line.plain for line in content.wrap(width))
    assert not FORBIDDEN & set(case_title(case))


def test_a_long_text_is_cut_and_says_so() -> None:
    content = case_content(_case("x" * 1_000_000), 80)
    assert len(content.plain) < 80_000
    assert "988,000 more characters" in content.plain
    assert "more characters" not in case_content(_case("x" * 20_000), 80, longest=10**7).plain


def _case(text: str) -> CaseDetail:
    def row(**cells: object) -> Any:
        """A row with the columns of an opinion, an answer and a flag."""
        usual = {
            "rater": text, "rater_kind": "judge", "protocol": "pairwise", "aspect": text, "label": text, "value": 1.0,
            "failed": False, "flipped": True, "confidence": None, "mine": True, "call": 1, "set_one": text, "sample": 0,
            "reasoning": text, "error_kind": "", "error": "", "attempts": 1, "item_id": text, "issue": text, "reason": text,
        }  # fmt: skip
        return SimpleNamespace(**usual | cells)

    return CaseDetail(
        verdict_id=1, case_id=1, kind="pair", user_id=text, item_id=text, rater=text, rater_kind="judge",
        protocol="pairwise", aspect=text, label=text, value=1.0, failed=False, flipped=True, confidence=0.5, rule=text,
        note=text, run_id=1, prompt=text, created_at=text, run_shown=1,
        opinions=(row(), row(rater_kind="annotator", aspect=text + "2", value=0.0, mine=False)),
        aspects=(text, text + "2"),
        run_answers=(
            row(),
            row(call=2, aspect="", label="", reasoning="", failed=True, error_kind=text, error=text, attempts=3),
            row(call=3, aspect=text + "2", sample=1),
        ),
        flags=(row(),),
        user=UserView(user_id=text, attributes={text or "x": text}, browsed=(text,), preferences=(text,)),
        slates=(), explanation=None, explanation_system=text, profile=text, example=None,
    )  # fmt: skip


def test_the_function_that_makes_it_safe_is_the_one_of_the_model() -> None:
    """If `safe_text` let an escape through, the tests above would be worth nothing."""
    assert not FORBIDDEN - {"\t"} & set(safe_text(ALL))
