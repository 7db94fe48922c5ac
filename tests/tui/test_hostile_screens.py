"""Hostile text on every screen there is, by its keys: each widget makes its text safe by itself, and no line is too wide."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.pilot import Pilot
from textual.screen import Screen

from recjudge_tui import tui
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.people.annotation import start_adjudication
from recjudge_tui.prompting.drafts import Draft
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.annotate import AnnotationScreen, Disputes, OwnCases
from recjudge_tui.tui.dialogs import ErrorDialog, Notice
from recjudge_tui.tui.prompts import draft_dialog
from recjudge_tui.tui.screens import make_screen, screen_names
from recjudge_tui.tui.themes import Painted
from recjudge_tui.tui.triage import CasesScreen
from tests.support.app.driving import press, running, settle, shown
from tests.support.app.poisoned import JUDGED, LABELLED, poisoned
from tests.support.app.projects import make_project
from tests.support.hostile import HOSTILE, NAMED

SIZE = (80, 24)
# what harms and what is wide comes first: a narrow cell shows nothing else; then markup, and what bites alone is found by
# the pure tests
BAD = '\x1b[7m\u202e\x9d漢[/p][a="b]\x07 [/path] [a="b] [@click=app.quit]press[/] ' + " ".join(
    text for text in HOSTILE if len(text) < 5000 and "\x00" not in text
)
HIDDEN = {
    chr(c) for c in (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)) if c != 10
}
HIDDEN |= set("\u200b\u200e\u200f\u061c\ufeff")


class Walk(NamedTuple):
    """Keys pressed from a screen on (None: from the list of projects), and the screens met."""

    keys: str
    met: str
    first: Callable[[Path], Screen[Any] | None] = lambda path: None


def _of(name: str, project: int = JUDGED) -> Callable[[Path], Screen[Any] | None]:
    return lambda path: make_screen(name, project)


def _cases(asked: str) -> Callable[[Path], Screen[Any] | None]:
    return lambda path: CasesScreen(JUDGED, asked)


def _annotation(protocol: str) -> Callable[[Path], Screen[Any] | None]:
    def made(path: Path) -> Screen[Any]:
        with connect(path) as db:
            rater = db.value("SELECT id FROM raters WHERE project_id = ? ORDER BY id", (LABELLED,))
        return AnnotationScreen(LABELLED, OwnCases(rater, protocol))

    return made


def _adjudication(path: Path) -> Screen[Any]:
    with connect(path) as db:
        rater = start_adjudication(db, LABELLED, "pairwise", "cy")
        return AnnotationScreen(LABELLED, Disputes(LABELLED, rater, "pairwise"))


def _draft(path: Path) -> Screen[Any]:
    return draft_dialog(Draft(Path("/tmp/" + NAMED["osc_title"]), None, (BAD, "\x1b[31m")))


WALKS = {
    "projects": Walk(
        "j k n escape i escape D escape e escape question_mark escape colon escape slash a escape",
        "ProjectsScreen AskLine Confirm Form Palette",
    ),
    "cases": Walk(
        "j n J K enter pagedown G escape s s s s Q Q v escape w escape t escape v 1 plus escape u F escape C escape T escape"
        " y Y escape e escape slash f l a g colon tab escape question_mark escape",
        "CasesScreen PickDialog Palette AskLine",
        _cases(""),
    ),
    "sent": Walk("P J j tab J K y escape Y escape p escape", "CasesScreen PromptsScreen", _cases("")),
    "arena": Walk("j enter pagedown G escape", "CasesScreen", _cases("protocol:arena")),
    "explanation": Walk("j enter pagedown G escape", "CasesScreen", _cases("protocol:explanation")),
    "absolute": Walk("j enter G escape", "CasesScreen", _cases("protocol:absolute")),
    "home": Walk("down right down left tab tab pagedown G g", "HomeScreen", _of("home")),
    "data": Walk("j right j right j right j right right j right j G K J slash a escape", "DataScreen", _of("data")),
    "runs": Walk(
        "j k D escape e escape slash a escape j enter j f n o escape question_mark escape",
        "RunsScreen MonitorScreen",
        _of("runs"),
    ),
    "monitor": Walk("j k V escape", "MonitorScreen", _of("monitor")),
    "launch": Walk("down down up up right right down enter escape plus escape", "LaunchScreen Palette", _of("launch")),
    "reports": Walk(
        "j enter escape enter enter escape tab plus D J K tab m down right escape o escape f 2 3 4 5 6 7 8 9 1 j m escape q"
        " e escape y escape P j pagedown q",
        "ReportsScreen Form CasesScreen",
        _of("reports"),
    ),
    "compare": Walk(
        "j l m right escape s tab j J p escape e escape o escape enter", "CompareScreen Form", _of("compare")
    ),
    "prompts": Walk(
        "j enter tab right o number_sign escape d escape D enter escape T escape slash a escape",
        "PromptsScreen Form",
        _of("prompts"),
    ),
    "prompt_draft": Walk("escape", "PickDialog", _draft),
    "annotate": Walk("j n escape question_mark escape", "AnnotateScreen Form", _of("annotate", LABELLED)),
    "annotation": Walk(
        "1 w escape G G s escape left y left R y G j j pagedown", "AnnotationScreen", _annotation("pairwise")
    ),
    "flags": Walk("f 1 down 1 escape 2 enter", "AnnotationScreen Form", _annotation("pointwise")),
    "scores": Walk("1 2 3 4 enter", "AnnotationScreen", _annotation("explanation")),
    "adjudicate": Walk("1 w escape G s escape enter enter", "AnnotationScreen", _adjudication),
    "notice": Walk("escape", "Notice", lambda path: Notice(BAD, BAD)),
}  # fmt: skip


def test_no_screen_is_forgotten() -> None:
    for module in pkgutil.walk_packages(tui.__path__, "recjudge_tui.tui."):
        import_module(module.name)
    walked = {name for walk in WALKS.values() for name in walk.met.split()}
    # an error, which is a notice, is met where it belongs: in the test after this one
    assert {cls.__name__ for cls in _leaves(Screen)} - {"ErrorDialog"} | {"Notice"} == walked
    assert set(screen_names()) <= set(WALKS)


def _leaves(kind: type[Screen[Any]]) -> set[type[Screen[Any]]]:
    """Our screens that no other screen is made from."""
    below = kind.__subclasses__()
    ours = kind.__module__.startswith("recjudge_tui.")
    return {leaf for cls in below for leaf in _leaves(cls)} if below else {kind} if ours else set()


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return poisoned(tmp_path_factory.mktemp("poisoned") / "recjudge.db", BAD)


@pytest.fixture
def unsafe(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was painted and would have harmed a terminal, had the last filter not been there."""
    found: list[str] = []

    def watch(self: Painted, segments: list[Segment], background: Color) -> list[Segment]:
        found.extend(s.text[:200] for s in segments if not s.control and HIDDEN & set(s.text))
        return segments

    monkeypatch.setattr(Painted, "apply", watch)
    return found


@pytest.mark.parametrize("name", WALKS)
async def test_every_key_of_every_screen(
    name: str, spoiled: Path, project_db: Path, unsafe: list[str]
) -> None:
    walk = WALKS[name]
    project_db.write_bytes(spoiled.read_bytes())
    met: set[str] = set()
    async with running(project_db, size=SIZE) as pilot:
        first = walk.first(project_db)
        if first is not None:
            pilot.app.push_screen(first)
            await settle(pilot)
        _look(pilot, met, unsafe)
        for key in walk.keys.split():
            await press(pilot, key)
            _look(pilot, met, unsafe)
        assert pilot.app.return_code in (None, 0)
    assert set(walk.met.split()) <= met


def _look(pilot: Pilot[Any], met: set[str], unsafe: list[str]) -> None:
    met.update(type(screen).__name__ for screen in pilot.app.screen_stack)
    text = shown(pilot)
    assert not isinstance(pilot.app.screen, ErrorDialog) or pilot.app.screen.error.title == BAD, text
    assert unsafe == []
    assert not HIDDEN & set(text), text
    assert max(map(cell_len, text.splitlines())) <= SIZE[0], text


async def test_an_error_about_it_and_a_filter_that_names_it(spoiled: Path, unsafe: list[str]) -> None:
    async with running(spoiled, size=SIZE) as pilot:
        pilot.app.show_error(RecjudgeError(BAD, BAD, BAD))
        await settle(pilot)
        _look(pilot, set(), unsafe)
        await press(pilot, "escape")
        pilot.app.push_screen(CasesScreen(JUDGED, 'judge:"' + BAD.replace('"', "") + '"'))
        await settle(pilot)
        _look(pilot, set(), unsafe)


async def test_lines_of_a_megabyte(project_db: Path, unsafe: list[str]) -> None:
    make_project(project_db)
    with connect(project_db) as db, db.transaction():
        db.execute("UPDATE answers SET reasoning = ?", (NAMED["megabyte"],))
        db.execute("UPDATE calls SET error = ? WHERE state = 'failed'", (NAMED["megabyte"],))
        for table in ("projects", "raters", "prompts"):
            db.execute(f"UPDATE {table} SET name = name || ?", (NAMED["megabyte"],))
        db.execute("UPDATE runs SET settings = json_object('protocol', protocol)")
    async with running(project_db, size=SIZE) as pilot:
        keys = "D escape enter enter enter G escape Q v escape r D escape enter escape escape a"
        for key in keys.split():
            await press(pilot, key)
            _look(pilot, set(), unsafe)
