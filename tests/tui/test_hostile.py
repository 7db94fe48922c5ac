"""Hostile text in every place it can come from, on every screen: shown as text, never obeyed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.material import UserView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.case_detail import CaseDetail
from recjudge_tui.store.verdicts import VerdictRow
from recjudge_tui.tui.case import case_content, case_title
from recjudge_tui.tui.projects import ProjectsScreen
from recjudge_tui.tui.row_list import fitted
from recjudge_tui.tui.triage import CasesScreen
from recjudge_tui.tui.verdict_list import VerdictList
from tests.support.app.driving import press, running, settle, shown
from tests.support.app.hostile import ALL, FORBIDDEN, harmless
from tests.support.app.projects import make_arena, make_explanations, make_project
from tests.support.hostile import HOSTILE


async def test_every_screen(project_db: Path) -> None:
    text = ALL
    project = make_project(project_db, text=text)
    make_arena(project_db, project, text)
    make_explanations(project_db, project, text, {"user": {"accuracy": 2.0}, "rouge": {"overall": 0.2}})
    async with running(project_db, size=(100, 30)) as pilot:
        harmless(shown(pilot), 100)
        for key in (
            "D",
            "n",
            "i",
            "escape",
            "question_mark",
            "escape",
            "enter",
            "down",
            "right",
            "G",
            "g",
            "enter",
        ):
            await press(pilot, key)
            harmless(shown(pilot), 100)
        assert isinstance(pilot.app.screen, CasesScreen)
        for key in (*"jnnnsyJK", "Y", "escape", "e", "escape", "enter", "pagedown", "pagedown", "escape"):
            await press(pilot, key)
            harmless(shown(pilot), 100)
        for asked in ("arena", "explanation"):
            pilot.app.push_screen(CasesScreen(1, f"protocol:{asked}"))
            await settle(pilot)
            for key in ("enter", "G", "escape", "q"):
                harmless(shown(pilot), 100)
                await press(pilot, key)
        pilot.app.push_screen(CasesScreen(1, f'judge:"{text.replace(chr(34), "")}"'))
        await settle(pilot)
        harmless(shown(pilot), 100)
        pilot.app.show_error(RecjudgeError(text, text, text))  # type: ignore[attr-defined]
        await settle(pilot)
        harmless(shown(pilot), 100)
        await press(pilot, "escape", "q", "q", "q")
        assert isinstance(pilot.app.screen, ProjectsScreen)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("ascii_only", ["0", "1"], ids=["unicode", "ascii"])
def test_a_row_has_its_width_regardless_of_its_content(
    text: str, ascii_only: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECJUDGE_ASCII", ascii_only)
    row = VerdictRow(
        1, 7, text, "judge", "pairwise", text, text, 0.5, False, True, 2, text, text, False, True, (2, 1),
        user_id=text, systems=(text, "als"), occasion=Occasion(text, "2024-05-01T12:00:00+00:00"),
        several_occasions=True, item=text,
    )  # fmt: skip
    rows = [row, row._replace(failed=True, rater="other"), row._replace(systems=(text,), reviewed=True)]
    listed = VerdictList(1)
    needs = listed.sampled(rows)
    for width in (60, 100):
        for shown_row in rows:
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
