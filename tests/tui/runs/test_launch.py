from __future__ import annotations

import socket
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from recjudge_tui.domain.protocols import offered
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.store.opening import connect
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.judge_picker import JudgePicker
from recjudge_tui.tui.runs.launch_form import (
    ADDRESS,
    FIELDS,
    FieldError,
    form_words,
    hint_of,
    is_asked,
    read_form,
)
from recjudge_tui.tui.runs.monitor import MonitorScreen
from tests.support.app.driving import press, running, shown, until
from tests.support.app.launch_form import FORM, fill, open_form, runs
from tests.support.app.lists import import_lists, judge
from tests.support.hostile import HOSTILE
from tests.support.servers.process import ServerProcess
from tests.support.visits import make_visits


def test_every_hint_fits_the_two_lines_it_has() -> None:
    hints = [hint_of(field, name) for field in FIELDS for name in (*offered(), "saer")]
    assert [hint for hint in hints if len(wrap(hint, 42)) > 2] == []


def test_messages_call_options_as_the_form_does() -> None:
    assert form_words("judge again (--again), or --limit 5") == "judge again (“judge again”), or “first N” 5"
    assert form_words("--from; --no-such-option") == "“served from”; --no-such-option"


async def test_the_form_tells_the_way_out_while_a_field_has_the_keys(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        screen.query_one("#field-judge", Input).focus()
        await pilot.pause()
        assert "esc back" in shown(pilot).splitlines()[-1]


async def test_a_run_launched_from_the_form_finishes_in_a_process_of_its_own(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        await press(pilot, "right")
        assert screen.query_one("#field-protocol", Choice).value == "pairwise"
        assert "every pair" in shown(pilot)
        screen.query_one("#start").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MonitorScreen), 20)
        monitor = pilot.app.screen
        assert isinstance(monitor, MonitorScreen)
        await until(pilot, lambda: monitor.run_status == "done", 20)
        await until(pilot, lambda: "6/6 100%" in shown(pilot))
        text = shown(pilot)
        assert "✓ done" in text
        assert "0000003" in text
        assert "als | text" in text
        assert "Latest verdicts" in text
        assert monitor._next is None
    (row,) = runs(project_db)
    assert (row["state"], row["done"], row["failed"]) == ("done", 6, 0)
    log = project_db.with_name(f"{project_db.name}.runs.log").read_text(encoding="utf-8")
    assert "run 1 done: 6 done" in log


async def test_the_estimate_follows_the_form_and_writes_nothing(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        await until(pilot, lambda: "6 on 6 cases" in shown(pilot))
        await fill(pilot, screen, limit="2", judge="ollama:some:1b")
        await until(pilot, lambda: "2 on 2 cases" in shown(pilot))
        assert "$0 (local)" in shown(pilot)
        assert "~" in shown(pilot)
        await fill(pilot, screen, systems="als, text", limit="")
        await until(pilot, lambda: "6 on 6 cases" in shown(pilot))
    assert runs(project_db) == []


async def test_what_was_judged_before_is_not_judged_again_unasked(project_db: Path) -> None:
    project = import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        judge(project_db, project, "pointwise")
        await fill(pilot, screen, limit="5")
        await until(pilot, lambda: "This cannot run" in shown(pilot))
        assert "already judged" in shown(pilot)


WRONG = (
    ("judge", "olama:x", "no judge “olama:x”"),
    ("judge", "", "no judge yet"),
    ("judge", "ollama", "is incomplete"),
    ("limit", "ten", "whole number of 1 or more"),
    ("top_k", "0", "from 1 to 1,000"),
    ("systems", "als, nobody", "no lists by “nobody”"),
)


async def test_what_is_wrong_is_said_in_the_form(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        usual_values = screen.values()
        for field, text, said in WRONG:
            await fill(pilot, screen, **{field: text})
            await until(pilot, partial(_says, pilot, said))
            assert "This cannot run" in shown(pilot)
            await press(pilot, "f5")
            assert pilot.app.screen is screen
            await fill(pilot, screen, **{field: usual_values[field]})
            await until(pilot, partial(_says, pilot, "6 on 6 cases"))
    assert runs(project_db) == []


def _says(pilot: Pilot[Any], text: str) -> bool:
    return text in shown(pilot)


async def test_an_untouched_form_asks_for_what_the_command_asks_for(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        seen = []
        for _ in offered():
            settings = read_form(screen.values()).settings
            assert settings == settings_for(settings.protocol, seed=7)
            seen.append(settings.protocol)
            await pilot.press("right")
        assert set(seen) == set(offered())


async def test_a_key_in_the_place_of_its_name_is_refused_and_not_repeated(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        await fill(pilot, screen, key="sk-live-1234567890")
        await until(pilot, lambda: "not the name of an environment" in shown(pilot))
        assert str(screen.query_one("#estimate-text").render()).count("sk-live") == 0


async def test_no_server_is_said_before_anything_is_planned(project_db: Path) -> None:
    import_lists(project_db)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        async with running(project_db, size=(120, 40)) as pilot:
            screen = await open_form(pilot)
            await fill(pilot, screen, judge="openai:some", urls=url)
            await pilot.press("f5")
            await until(pilot, lambda: "This cannot run" in shown(pilot), 20)
            assert "127.0.0.1" in str(screen.query_one("#estimate-text").render())
    assert runs(project_db) == []


async def test_an_unknown_model_is_said_with_those_there_are(
    project_db: Path, openai_server: ServerProcess
) -> None:
    import_lists(project_db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        await fill(pilot, screen, judge="openai:nosuch", urls=f"{openai_server.url}/v1")
        await pilot.press("f5")
        await until(pilot, lambda: "It serves: hash-judge" in shown(pilot), 20)
    assert runs(project_db) == []


async def test_the_judges_known_here_can_be_picked(
    project_db: Path, ollama_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama_server.url)
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        await until(pilot, lambda: len(screen._models) == 2)
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, JudgePicker)
        text = shown(pilot)
        assert "ollama:other:1b" in text
        assert "built in, no model" in text
        await press(pilot, "j", "j", "enter")
        assert screen.query_one("#field-judge", Input).value == "ollama:hash-judge:latest"
        await until(pilot, lambda: screen.estimated is not None)


async def test_no_ollama_server_does_not_hold_up_the_form(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{free.getsockname()[1]}")
        import_lists(project_db)
        async with running(project_db) as pilot:
            screen = await open_form(pilot)
            await until(pilot, lambda: "No Ollama server" in screen._note)
            await press(pilot, "down", "enter")
            assert "No Ollama server" in shown(pilot)
            assert "ollama serve" in shown(pilot)
            await press(pilot, "escape")
            assert pilot.app.screen is screen
            await press(pilot, "escape")
            assert pilot.app.screen is not screen


async def test_every_field_is_reached_by_keys_and_fits_80_by_24(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        await open_form(pilot)
        text = shown(pilot)
        # `rules` asks no server, and nothing says what this data recommends
        fields = [
            field
            for field in FIELDS
            if is_asked(field, "pointwise", ("domain",)) and field.name not in ADDRESS
        ]
        assert all(field.label in text for field in fields)
        assert not any(field.label in text for field in FIELDS if field not in fields)
        assert "Start" in text
        for field in fields:
            assert pilot.app.focused is not None
            assert pilot.app.focused.id == f"field-{field.name}"
            await pilot.press("down")
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "start"


async def test_an_address_is_asked_for_where_the_judge_may_need_one(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        assert "base URL" not in shown(pilot)
        await fill(pilot, screen, judge="openai:m")
        assert "base URL" in shown(pilot)
        await fill(pilot, screen, urls="http://127.0.0.1:1/v1", judge="rules")
        assert "base URL    http://127.0.0.1:1/v1" in shown(pilot)
        assert "key env" not in shown(pilot)


async def test_the_form_asks_for_occasions_where_the_data_has_them(project_db: Path) -> None:
    with connect(project_db) as db:
        make_visits(db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        await until(pilot, lambda: "served from" in shown(pilot))
        assert "contexts" in shown(pilot)
        await fill(pilot, screen, contexts='home, "cart"', served_to="2024-05-01")
        await until(pilot, lambda: "14 on 14 cases" in shown(pilot))
        request = read_form(screen.values())
        assert (request.settings.contexts, request.settings.served_to) == (("home", "cart"), "2024-05-01")
        await fill(pilot, screen, served_to="soon")
        await until(pilot, lambda: "“soon” is not a time" in shown(pilot))


async def test_a_project_without_lists_says_so(project_db: Path) -> None:
    with connect(project_db) as db:
        from recjudge_tui.store.projects.projects import create_project

        create_project(db, "empty")
    async with running(project_db) as pilot:
        await press(pilot, "r")
        assert "No runs yet" in shown(pilot)
        await press(pilot, "n")
        await until(pilot, lambda: "no lists to judge" in shown(pilot))


async def test_hostile_names_do_no_harm(project_db: Path) -> None:
    bad = "".join(text for text in HOSTILE if len(text) < 100 and "\x00" not in text and "," not in text)
    import_lists(project_db, text=bad.replace("\n", " ").replace("\r", " "))
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        screen.query_one("#field-name", Input).value = "[/path] \u202ername"
        await until(pilot, lambda: screen.estimated is not None and "‹RLO›" in shown(pilot))
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, MonitorScreen), 20)
        monitor = pilot.app.screen
        assert isinstance(monitor, MonitorScreen)
        await until(pilot, lambda: monitor.run_status == "done", 20)
        await press(pilot, "escape")
        await until(pilot, lambda: "[/path]" in shown(pilot))
        assert not [c for c in shown(pilot) if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]


def test_the_form_becomes_settings() -> None:
    request = read_form(
        FORM
        | {
            "judge": " openai:m ",
            "urls": "http://127.0.0.1:1/v1, http://127.0.0.1:2/v1",
            "key": "MY_KEY",
            "systems": "a, b,a",
            "sample": "20",
            "swap": "one",
            "no_history": "judge",
            "concurrency": "8",
            "name": "mine",
        }
    )
    assert request.judge.spec == "openai:m"
    assert request.judge.base_urls == ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")
    assert request.judge.api_key_env == "MY_KEY"
    settings = request.settings
    assert (settings.systems, settings.sample, settings.limit) == (("a", "b"), 20, None)
    assert (settings.swap, settings.no_history, settings.concurrency) == (False, True, 8)
    assert request.rater == "mine"


@pytest.mark.parametrize(
    ("protocol", "given", "kept"),
    [
        ("arena", {"baseline": "als", "aspects": "single", "profile": "llm"},
         {"baseline": "als", "aspects": "single", "profile": "llm", "top_k": 5, "history": 50, "shots": "none"}),
        ("explanation", {"shots": "personal", "baseline": "als", "swap": "one", "history": "3"},
         {"shots": "personal", "baseline": "", "swap": True, "history": 3, "profile": "none"}),
        ("absolute", {"profile": "none", "aspects": "single"}, {"profile": "none", "aspects": "multi", "top_k": 5}),
        ("pairwise", {"top_k": "", "history": ""}, {"top_k": 10, "history": 100, "profile": "attributes"}),
    ],
)  # fmt: skip
def test_each_protocol_reads_its_own_fields(
    protocol: str, given: dict[str, str], kept: dict[str, object]
) -> None:
    settings = read_form(FORM | {"protocol": protocol, "top_k": ""} | given).settings
    assert {name: getattr(settings, name) for name in kept} == kept


@pytest.mark.parametrize("text", ["-1", "1.5", "٣", "9" * 30, "1e3"])
def test_what_is_no_whole_number_names_its_field(text: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_form(FORM | {"concurrency": text})
    assert caught.value.field == "concurrency"
