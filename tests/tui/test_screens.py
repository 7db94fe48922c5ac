"""Every screen as text. To take the pictures anew: `pytest tests/tui/test_screens.py --snapshot-update`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.people.annotation import start_adjudication
from recjudge_tui.prompting.drafts import Draft
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.annotate import AnnotateScreen, AnnotationScreen, Disputes, OwnCases
from recjudge_tui.tui.dialogs import Choice, Notice
from recjudge_tui.tui.home import HomeScreen
from recjudge_tui.tui.prompts import draft_dialog
from recjudge_tui.tui.reports import FIGURE_KEYS, ReportsScreen
from recjudge_tui.tui.screens import make_screen
from recjudge_tui.tui.triage import CasesScreen
from tests.support.annotators import PROJECT, desk
from tests.support.app.driving import running, settle, shown, until
from tests.support.app.golden import DESKS, SEEN, copied, golden, moment
from tests.support.app.snapping import SIZE, ScreenText, pictured, press

Copy = Callable[[str], Path]
MOVIES, SHOP, EMPTY = 1, 2, 3
# figures that this database has nothing for


# a toast goes when its time has come
still = partial(running, size=SIZE, toasts=False)


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    golden(folder)
    return folder


@pytest.fixture
def copy(databases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    """A copy of a database in a place of its own, two days later, where nothing is known but what lies in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECJUDGE_ASCII", "0")
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with moment(SEEN):
        yield lambda name: copied(databases / f"{name}.db", tmp_path)


@pytest.fixture
def screens(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ScreenText)


async def test_projects(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        await pictured(pilot, screens, "projects")
        for name, keys in (
            ("projects-an-empty-one", ["j"]),
            ("new-project", ["n"]),
            ("import-form", ["escape", "i"]),
            ("delete-project", ["escape", "D"]),
            ("project-keys", ["escape", "question_mark"]),
            ("palette", ["escape", "colon"]),
            ("projects-filtered", ["escape", "slash", *"shop"]),
            ("projects-export", ["enter", "e"]),
        ):
            await press(pilot, *keys)
            await pictured(pilot, screens, name)


async def test_no_project_yet(tmp_path: Path, copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(Path("nothing.db")) as pilot:
        await pictured(pilot, screens, "projects-none")


async def test_home(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        for name, project in (("home", MOVIES), ("home-shop", SHOP), ("home-empty", EMPTY)):
            pilot.app.push_screen(make_screen("home", project))
            await settle(pilot)
            await until(pilot, partial(_all_read, pilot))
            await pictured(pilot, screens, name)


def _all_read(pilot: Pilot[Any]) -> bool:
    screen = pilot.app.screen
    return isinstance(screen, HomeScreen) and screen.view.done


async def test_a_case(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        for name, asked in (
            ("pair", "protocol:pairwise judge:qwen"),
            ("arena", "protocol:arena aspect:inspiration"),
            ("explanation", "protocol:explanation judge:rules"),
            ("absolute", "protocol:absolute"),
        ):
            pilot.app.push_screen(CasesScreen(MOVIES, asked))
            await settle(pilot)
            await pictured(pilot, screens, f"cases-{name}")
            await press(pilot, "enter")
            await pictured(pilot, screens, f"case-{name}")


async def test_explanations(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("films")) as pilot:
        pilot.app.push_screen(CasesScreen(1, "judge:rules"))
        await settle(pilot)
        await press(pilot, "c", "v", "5", "right")
        await pictured(pilot, screens, "texts")
        pilot.app.push_screen(CasesScreen(1, "judge:rules judge=user"))
        await settle(pilot)
        await press(pilot, "j", "right")
        await pictured(pilot, screens, "texts-of-two-raters")


async def test_pointwise_cases(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        pilot.app.push_screen(CasesScreen(SHOP, "protocol:pointwise"))
        await settle(pilot)
        await pictured(pilot, screens, "cases-pointwise")
        pilot.app.push_screen(CasesScreen(EMPTY))
        await settle(pilot)
        await pictured(pilot, screens, "cases-none")
        pilot.app.push_screen(CasesScreen(SHOP, "label:poor judge:nobody"))
        await settle(pilot)
        await pictured(pilot, screens, "cases-nothing-matches")


async def test_triage(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main"), "movies") as pilot:
        await press(pilot, "Q")
        await pictured(pilot, screens, "cases-queue")
        for name, keys in (
            ("override", ["v"]),
            ("note", ["escape", "w"]),
            ("tag", ["escape", "t"]),
            ("keep", ["escape", "v", "0", "plus"]),
            ("cases-overridden", ["escape"]),
            ("keys-cases", ["question_mark"]),
            ("saved-filters", ["escape", "F"]),
            ("saved-filter-delete", ["D"]),
            ("filter-completion", ["escape", "escape", "slash", *"flag"]),
            ("filter-values", ["colon"]),
            ("cases-export", ["escape", "e"]),
        ):
            await press(pilot, *keys)
            await pictured(pilot, screens, name)


async def test_runs(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        pilot.app.push_screen(make_screen("runs", EMPTY))
        await settle(pilot)
        await pictured(pilot, screens, "runs-none")
        pilot.app.push_screen(make_screen("runs", SHOP))
        await settle(pilot)
        await pictured(pilot, screens, "runs")
        await press(pilot, "D")
        await pictured(pilot, screens, "run-delete")
        await press(pilot, "escape", "enter")
        await pictured(pilot, screens, "monitor")
        await press(pilot, "question_mark")
        await pictured(pilot, screens, "keys-monitor")


async def test_a_run_whose_server_reuses_prompts(copy: Copy, screens: SnapshotAssertion) -> None:
    path = copy("main")
    with connect(path) as db:
        run = db.value("SELECT max(id) FROM runs WHERE project_id = ?", (SHOP,))
        db.execute("UPDATE calls SET tokens_in = 1000, tokens_cached = 720 WHERE run_id = ?", (run,))
    async with still(path) as pilot:
        pilot.app.push_screen(make_screen("runs", SHOP))
        await settle(pilot)
        await press(pilot, "enter")
        await pictured(pilot, screens, "monitor-reused")


async def test_launch(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        pilot.app.push_screen(make_screen("launch", SHOP))
        await until(pilot, lambda: any(row.display for row in pilot.app.screen.query("#row-again")))
        pilot.app.screen.query_one("#field-again", Choice).action_step(1)
        await until(pilot, lambda: "f5  Start: " in shown(pilot))
        await settle(pilot)
        await pictured(pilot, screens, "launch")
        await press(pilot, "plus")
        await pictured(pilot, screens, "launch-advanced")
        await press(pilot, "escape", "up", "up", "up", "enter")
        await pictured(pilot, screens, "judges")
        await press(pilot, "escape")
        pilot.app.push_screen(make_screen("launch", EMPTY))
        await settle(pilot)
        await pictured(pilot, screens, "launch-nothing")


async def test_agreement(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("figures")) as pilot:
        await _agreement(pilot)
        await pictured(pilot, screens, "agreement")
        await press(pilot, "m")
        await pictured(pilot, screens, "agreement-choice")
        await press(pilot, "escape", "f")
        for name, key in FIGURE_KEYS.items():
            await press(pilot, key)
            await until(pilot, partial(_drawn, pilot, name))
            await settle(pilot)
            await pictured(pilot, screens, f"view-{name}")


async def test_other_figures(copy: Copy, screens: SnapshotAssertion) -> None:
    """Those that need items with words, or lists judged alone."""
    async with still(copy("shop")) as pilot:
        await _agreement(pilot)
        await pictured(pilot, screens, "agreement-shop")
        await press(pilot, "f", "3")
        await until(pilot, partial(_drawn, pilot, "q-metric"))
        await settle(pilot)
        await pictured(pilot, screens, "view-q-metric")
        await press(pilot, "7")
        await until(pilot, lambda: "pointwise" in shown(pilot).splitlines()[0])
        await settle(pilot)
        await press(pilot, "m")
        await pictured(pilot, screens, "view-choice")
        await press(pilot, "escape")
        await pictured(pilot, screens, "view-label-shares")
        await press(pilot, "0")
        await until(pilot, partial(_drawn, pilot, "flags"))
        await settle(pilot)
        await pictured(pilot, screens, "view-flags-table")
        for form in ("intervals", "ranks"):
            await press(pilot, "m", "down", "down", "right", "enter")
            await until(pilot, partial(_chosen, pilot, "show", form))
            await settle(pilot)
            await pictured(pilot, screens, f"view-flags-{form}")


async def _agreement(pilot: Pilot[Any]) -> None:
    await press(pilot, "a")
    await until(pilot, lambda: "Leaderboard" in shown(pilot))
    await press(pilot, "tab")
    await until(pilot, lambda: "[agreement]" in shown(pilot) and "Agreement" in shown(pilot))
    await settle(pilot)


def _drawn(pilot: Pilot[Any], name: str) -> bool:
    screen = pilot.app.screen
    return (
        isinstance(screen, ReportsScreen) and screen.made is not None and screen.made.tab == f"figure {name}"
    )


def _chosen(pilot: Pilot[Any], option: str, value: str) -> bool:
    screen = pilot.app.screen
    return (
        isinstance(screen, ReportsScreen)
        and screen.made is not None
        and screen.made.values.get(option) == value
    )


async def test_agreement_of_nobody(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        for name in ("reports", "compare", "prompts", "annotate"):
            pilot.app.push_screen(make_screen(name, EMPTY))
            await settle(pilot)
            await pictured(pilot, screens, f"{name}-none")


async def test_compare(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("figures")) as pilot:
        pilot.app.push_screen(make_screen("compare", 1))
        await settle(pilot)
        await pictured(pilot, screens, "compare")
        await press(pilot, "m")
        await pictured(pilot, screens, "compare-choice")


async def test_prompts(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("shop")) as pilot:
        pilot.app.push_screen(make_screen("prompts", 1))
        await settle(pilot)
        await pictured(pilot, screens, "prompts")
        for name, keys in (
            ("prompt-case", ["enter", "tab"]),
            ("prompt-case-number", ["number_sign"]),
            ("prompt-picker", ["escape", "D"]),
            ("prompt-diff", ["enter"]),
            ("prompt-try", ["escape", "T"]),
        ):
            await press(pilot, *keys)
            await pictured(pilot, screens, name)


async def test_annotate(copy: Copy, screens: SnapshotAssertion) -> None:
    path = copy("desk")
    async with still(path) as pilot:
        pilot.app.push_screen(AnnotateScreen(1))
        await settle(pilot)
        await pictured(pilot, screens, "annotate")
        await press(pilot, "n")
        await pictured(pilot, screens, "annotate-form")
        await press(pilot, "escape")
        for protocol, people in DESKS.items():
            with connect(path) as db:
                rater = desk(db, people.split(",")[0], protocol).rater_id
            pilot.app.push_screen(AnnotationScreen(1, OwnCases(rater, protocol)))
            await settle(pilot)
            await pictured(pilot, screens, f"annotation-{protocol}")
            if protocol == "pointwise":
                await press(pilot, "f")
                await pictured(pilot, screens, "annotation-flag")
                await press(pilot, "escape")
            await press(pilot, "escape")


async def test_adjudicate(copy: Copy, screens: SnapshotAssertion) -> None:
    path = copy("desk")
    with connect(path) as db:
        rater = start_adjudication(db, project_id(db, PROJECT), "pairwise", "cy")
    async with still(path) as pilot:
        pilot.app.push_screen(AnnotationScreen(1, Disputes(1, rater, "pairwise")))
        await settle(pilot)
        await pictured(pilot, screens, "adjudicate")


async def test_dialogs(copy: Copy, screens: SnapshotAssertion) -> None:
    async with still(copy("main")) as pilot:
        app = pilot.app
        await press(pilot, "p")
        cause = "The server at http://127.0.0.1:1 refused the connection."
        app.show_error(RecjudgeError("the judge cannot be asked", cause, "Start it and press R."))
        await settle(pilot)
        await pictured(pilot, screens, "error")
        wrong = ("label 2 has no reply", "the template says {{ uesr }}, which is not known")
        for name, dialog in (
            (
                "notice",
                Notice("lists.csv: 12 of 14 rows stored", "lists.csv:3: no rank\nlists.csv:9: no item"),
            ),
            ("draft", draft_dialog(Draft(Path("pairwise-media.toml"), None, wrong))),
        ):
            await press(pilot, "escape")
            app.push_screen(dialog)
            await settle(pilot)
            await pictured(pilot, screens, name)


@pytest.mark.parametrize("look", ["ascii", "no-colour"])
async def test_main_screens_otherwise(
    copy: Copy, screens: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    monkeypatch.setenv(*(("RECJUDGE_ASCII", "1") if look == "ascii" else ("NO_COLOR", "1")))
    async with still(copy("main")) as pilot:
        await pictured(pilot, screens, f"{look}-projects")
        await press(pilot, "enter")
        await pictured(pilot, screens, f"{look}-home")
        pilot.app.push_screen(make_screen("cases", MOVIES, filter_text=""))
        await settle(pilot)
        await pictured(pilot, screens, f"{look}-cases")
        for name in ("runs", "reports", "compare", "prompts"):
            pilot.app.push_screen(make_screen(name, SHOP))
            await settle(pilot)
            await pictured(pilot, screens, f"{look}-{name}")
            await press(pilot, "escape")
