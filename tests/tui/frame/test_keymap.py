from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.config_file import KeySetting
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.tui.dialogs import Confirm, ErrorDialog
from recjudge_tui.tui.keys import all_bindings, key_rows, keymap_for, settle, written
from recjudge_tui.tui.projects import ProjectsScreen
from recjudge_tui.tui.screens import FilterLine
from tests.support.app.driving import press, running, shown, type_text, until
from tests.support.app.driving import settle as settled
from tests.support.app.projects import make_project

BINDINGS = all_bindings()


def settings(**keys: str) -> list[KeySetting]:
    return [
        KeySetting(name.replace("__", "."), key, line) for line, (name, key) in enumerate(keys.items(), 1)
    ]


def faults(**keys: str) -> list[str]:
    return [fault.sentence("c") for fault in settle(settings(**keys))[1]]


def test_the_keys_that_decide_mean_nothing_else() -> None:
    """A key pressed once too often, or on the wrong screen, does not write a verdict."""
    # the form of a run has no verdicts: t tests its judge; on the home it opens triage
    deciding = {"judging.note", "judging.answer_t", "launch.test", "home.triage"}
    other = {
        (key, name)
        for name, keys in BINDINGS.shipped.items()
        for key in keys
        if key in tuple("cxvwtu") and not name.startswith("triage.") and name not in deciding
    }
    assert not other


def configure(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


async def keyed(pilot: Pilot[Any]) -> None:
    """Until the keys of the file hold."""
    await until(pilot, lambda: bool(pilot.app._keymap))
    await settled(pilot)


def test_every_binding_of_the_app_has_an_id_and_no_key_that_terminals_eat() -> None:
    assert {"cases.filter", "app.back", "list.down", "filter.accept", "confirm.yes"} <= set(BINDINGS.shipped)
    for owner in BINDINGS.owners:
        for bound in owner.declared:
            assert bound.id, f"{owner.name}: {bound.key} has no id"
            assert bound.description, bound.id
            assert bound.key not in {f"ctrl+{key}" for key in "hijms"}
            assert not bound.key.startswith(("alt+", "cmd+", "super+"))


def test_the_shipped_keys_are_free_of_clashes_and_can_all_be_written() -> None:
    rows, wrong = key_rows([])
    assert wrong == ()
    for row in rows:
        assert row.keys == row.shipped
        if row.id.startswith(("tabs.next", "app.next_panel")):
            continue
        keymap, wrong_again = settle([KeySetting(row.id, ",".join(row.keys))])
        assert wrong_again == [], row
        assert keymap == {row.id: BINDINGS.shipped[row.id]}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"cases__srt": "z"}, "c:1: no binding “cases.srt”. Similar: cases.sort"),
        ({"case__filter": "z"}, "c:1: no binding “case.filter”. Similar: cases.filter"),
        ({"cases__sort": "/"}, "c:1: “/” has two actions on cases: cases."),
        ({"cases__sort": "q"}, "c:1: “q” has two actions on cases: "),
        ({"cases__sort": "alt+s"}, "c:1: “alt+s” does not reach the program"),
        ({"cases__sort": "cmd+s"}, "c:1: “cmd+s” does not reach the program"),
        ({"cases__sort": "ctrl+enter"}, "c:1: “ctrl+enter” does not reach the program"),
        *[({"cases__sort": f"ctrl+{k}"}, f"c:1: “ctrl+{k}” does not reach the program") for k in "hijms"],
        ({"cases__sort": "shift+s"}, "c:1: no key “shift+s”. Write “S”."),
        ({"cases__sort": "escpae"}, "c:1: no key “escpae”. Did you mean “escape”?"),
        ({"cases__sort": "hyperspace+x"}, "c:1: no key “hyperspace+x”"),
        ({"cases__sort": ""}, "c:1: “cases.sort” needs a key"),
        ({"cases__sort": "z,"}, "c:1: “cases.sort” needs a key. Write “comma” for the comma."),
        ({"app__quit": "Q"}, "c:1: “Q” is needed for typing"),
        ({"filter__accept": "x"}, "c:1: “x” is needed for typing"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_apply_is_reported_with_its_line(keys: dict[str, str], said: str) -> None:
    found = faults(**keys)
    assert found
    assert found[0].startswith(said)
    assert settle(settings(**keys))[0] == {}


@pytest.mark.parametrize("key", ["z", "Z", "f12", "ctrl+o", "shift+f3", "comma", "ctrl+right", "#", "é"])
def test_keys_that_can_be_bound(key: str) -> None:
    keymap, wrong = settle(settings(cases__drop_chip=key))
    assert wrong == []
    assert [written(found) for found in keymap["cases.drop_chip"]] == [key]


def test_the_same_binding_twice() -> None:
    keymap, wrong = settle([KeySetting("cases.sort", "z", 1), KeySetting("cases.sort", "f8", 4)])
    assert keymap == {"cases.sort": ("z",)}
    assert wrong[0].sentence("c").startswith("c:4: “cases.sort” is set twice")


def test_a_key_that_two_share_is_not_taken_from_the_other() -> None:
    keymap, wrong = settle(settings(monitor__pause="z"))
    assert wrong == []
    assert keymap_for(keymap) == {"monitor.pause": "z", "monitor.resume": "p"}


async def test_the_keys_of_the_file_hold_and_are_shown(project_db: Path, config_folder: Path) -> None:
    make_project(project_db)
    configure(config_folder, '[keys]\ncases.sort = "f8"\ncases.filter = "f7"\n"app.back" = "f4"\n')
    async with running(project_db, "movies", size=(120, 40)) as pilot:
        await keyed(pilot)
        footer = shown(pilot).splitlines()[-1]
        assert "f7 filter" in footer
        assert "f4 back" in footer
        assert "/ filter" not in footer
        before = shown(pilot)
        await press(pilot, "s")
        assert shown(pilot) == before
        await press(pilot, "f8")
        assert shown(pilot) != before
        await press(pilot, "question_mark")
        await type_text(pilot, "sort")
        assert "Sort another way" in shown(pilot)
        await press(pilot, "escape", "colon")
        await type_text(pilot, "filter")
        await until(pilot, lambda: re.search(r"f7 +Filter", shown(pilot)))
        await press(pilot, "escape", "q")
        assert not isinstance(pilot.app.screen, ProjectsScreen)
        await press(pilot, "f4")
        assert isinstance(pilot.app.screen, ProjectsScreen)


async def test_a_wrong_file_shows_its_faults_and_the_app_goes_on(
    project_db: Path, config_folder: Path
) -> None:
    make_project(project_db)
    text = '[app]\ntheme = "nope"\n[keys]\ncases.srt = "f8"\ncases.sort = "f8"\n'
    configure(config_folder, text)
    async with running(project_db, "movies", size=(160, 50)) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorDialog))
        await settled(pilot)
        assert isinstance(pilot.app.screen, ErrorDialog)
        error = pilot.app.screen.error
        assert error.title == f"2 mistakes in your settings, {config_folder / 'config.toml'}"
        assert error.cause.splitlines()[0].startswith("config.toml:2: no theme “nope”. Available: recjudge,")
        assert error.cause.splitlines()[1].startswith(
            "config.toml:4: no binding “cases.srt”. Similar: cases.sort"
        )
        assert "no binding “cases.srt”" in shown(pilot)
        assert pilot.app.theme == "recjudge"
        await press(pilot, "escape")
        assert "movies" in shown(pilot)
    assert (config_folder / "config.toml").read_text(encoding="utf-8") == text


async def test_a_typed_letter_stays_a_letter_whatever_it_is_mapped_to(
    project_db: Path, config_folder: Path
) -> None:
    make_project(project_db)
    configure(config_folder, '[keys]\n"filter.close" = "f9"\n"cases.drop_chip" = "W"\n"app.peel" = "Z"\n')
    async with running(project_db, "movies") as pilot:
        await keyed(pilot)
        await press(pilot, "slash")
        await type_text(pilot, "WZ")
        assert pilot.app.screen.query_one(FilterLine).value == "WZ"
        await press(pilot, "f9")
        assert not pilot.app.screen.query_one(FilterLine).has_focus


async def test_hints_name_the_keys_in_effect(project_db: Path, config_folder: Path) -> None:
    configure(config_folder, '[keys]\nnotice.close = "f8"\nconfirm.yes = "Y"\n')
    async with running(project_db) as pilot:
        await keyed(pilot)
        pilot.app.push_screen(ErrorDialog(RecjudgeError("It broke.")))
        await settled(pilot)
        assert "f8 close" in shown(pilot)
        await press(pilot, "escape")
        assert "It broke." in shown(pilot)
        await press(pilot, "f8")
        answers: list[bool | None] = []
        pilot.app.push_screen(Confirm("Sure?", "Really?"), answers.append)
        await settled(pilot)
        assert "Y yes   n no" in shown(pilot)
        await press(pilot, "Y")
        assert answers == [True]
