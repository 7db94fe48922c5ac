"""New run: what the form shows, asks and starts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import offered
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.project import Project
from recjudge_tui.runs.groups import read_experiment
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.runs import judge_capabilities, list_runs, run_row
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import FieldError
from recjudge_tui.tui.launch import start_run
from recjudge_tui.tui.row_list import Palette
from recjudge_tui.tui.runs import MonitorScreen
from tests.support.app.driving import press, running, shown, type_text, until
from tests.support.app.launch_form import asked_for, fill, open_form, runs
from tests.support.app.lists import import_lists, judge
from tests.support.servers.process import ServerProcess
from tests.support.visits import make_visits
from tests.support.waiting import wait_until


async def test_a_run_launched_from_the_form_finishes_in_a_process_of_its_own(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot, "pairwise")
        assert "two lists of one user, both orders" in shown(pilot)
        screen.query_one("#start").focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MonitorScreen))
        monitor = pilot.app.screen
        await until(pilot, lambda: monitor.run_status == "done")
        await until(pilot, lambda: "6/6 100%" in shown(pilot))
        text = shown(pilot)
        assert "✓ done" in text
        assert "0000003" in text
        assert "als | text" in text
        assert "Latest answers" in text
        assert monitor._next is None
    (row,) = runs(project_db)
    assert (row["state"], row["done"], row["failed"]) == ("done", 6, 0)
    log = project_db.with_name(f"{project_db.name}.runs.log").read_text(encoding="utf-8")
    assert "run 1 done: 6 done" in log


async def test_the_monitor_opens_though_a_dialog_is_open(project_db: Path) -> None:
    run = judge(project_db, import_lists(project_db))
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        await press(pilot, "question_mark")
        screen._show_started((run, None))
        assert isinstance(pilot.app.screen, MonitorScreen)
        assert screen not in pilot.app.screen_stack


async def test_the_same_run_again_says_so_first(project_db: Path) -> None:
    project = import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        judge(project_db, project, "pointwise")
        await fill(pilot, screen, limit="2")
        await until(pilot, lambda: "has already judged these 4 cases. Starting it again" in shown(pilot))
        assert "f5  Judge again: judge 4 cases on this machine" in shown(pilot)
        # the warnings stand above the prompt, in view without scrolling
        text = shown(pilot)
        assert text.index("has already judged") < text.index("rules · prompt")
        await press(pilot, "f5")
        assert "Judge the same again?" in shown(pilot)
        await press(pilot, "n")
        assert pilot.app.screen is screen
        assert len(runs(project_db)) == 1
        await press(pilot, "f5")
        await pilot.press("y")
        await until(pilot, lambda: [run["state"] for run in runs(project_db)] == ["done", "done"])


WRONG = (
    ("judge", "olama:x", "no judge “olama:x”"),
    ("judge", "ollama", "is incomplete"),
    ("timeout_s", "soon", "Write a number: more than 0"),
    ("temperature", "2.5", "at least 0 and at most 2"),
    ("variables", "item", "NAME=WORD"),
    ("top_k", "0", "from 1 to 1,000"),
    ("systems", "als, nobody", "no system “nobody”"),
)


async def test_faults_are_shown_in_the_form(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        for field, text, said in WRONG:
            await fill(pilot, screen, **{field: text})
            await until(pilot, partial(_says, pilot, said))
            assert "This cannot run" in shown(pilot)
            await press(pilot, "f5")
            assert pilot.app.screen is screen
            await fill(pilot, screen, **{field: "rules" if field == "judge" else ""})
            await until(pilot, partial(_says, pilot, "6 calls on 6 cases"))
    assert runs(project_db) == []


def _says(pilot: Pilot[Any], text: str) -> bool:
    return text in shown(pilot)


async def test_an_untouched_form_asks_for_what_the_command_asks_for(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        seen = []
        for _ in offered():
            request = screen.request()
            assert request.settings == settings_for(request.protocol, seed=7)
            seen.append(request.protocol)
            await press(pilot, "right")
        assert set(seen) == set(offered())


async def test_a_found_server_is_tested_and_asked(
    project_db: Path, ollama_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama_server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-to-be-seen")
    import_lists(project_db)
    place = f"localhost:{ollama_server.url.rpartition(':')[2]}"
    async with running(project_db) as pilot:
        screen = await open_form(pilot, "pairwise")
        # a model that is there comes before the built-in judges
        await until(pilot, lambda: f"✓ Ollama {place}, 2 models" in shown(pilot))
        await until(pilot, lambda: f"f5  Start: send 6 calls to {place}" in shown(pilot))
        assert "▸ system" in shown(pilot)
        assert "t test with 3 calls" in shown(pilot)
        await press(pilot, "t")
        await until(pilot, lambda: "✓ answers, 0." in shown(pilot))
        await press(pilot, "down", "enter")
        assert isinstance(pilot.app.screen, Palette)
        text = shown(pilot)
        assert "ollama:other:1b" in text
        assert "built in, no model" in text
        assert "ANTHROPIC_API_KEY is set" in text
        assert "sk-not" not in text
        await type_text(pilot, "other")
        await press(pilot, "enter")
        assert screen.judge.judge.spec == "ollama:other:1b"
        await press(pilot, "enter")
        await type_text(pilot, "anthropic")
        await press(pilot, "enter")
        await type_text(pilot, "m-1")
        await press(pilot, "enter")
        assert screen.judge.judge.spec == "anthropic:m-1"
        await until(pilot, lambda: "Start: send 6 calls to api.anthropic.com" in shown(pilot))
    with connect(project_db) as db:
        known = judge_capabilities(db, JudgeSpec(spec="ollama:hash-judge:latest"))
    assert known.images is None


async def test_a_paid_run_asks_once_with_its_cost_and_budget(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot, "pairwise")
        await fill(pilot, screen, judge="openai:gpt-4o")
        await press(pilot, "f5")
        text = shown(pilot)
        assert "Start a run that costs money?" in text
        assert "6 calls to api.openai.com" in text
        assert "No budget is set" in text
        await press(pilot, "n")
        await fill(pilot, screen, budget_usd="2.5")
        assert "budget $2.50" in shown(pilot)
        await press(pilot, "f5")
        assert "more than $2.50" in shown(pilot)
        await press(pilot, "y")
        # the key is missing, and nothing was planned
        await until(pilot, lambda: "This cannot run" in shown(pilot))
        await fill(pilot, screen, judge="openai:of-nobody", budget_usd="")
        await press(pilot, "f5")
        assert "Without a price, a budget cannot be enforced" in shown(pilot)
    assert runs(project_db) == []


async def test_the_form_saves_itself_as_the_command_does(project_db: Path, tmp_path: Path) -> None:
    project = import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot, "pairwise")
        await fill(pilot, screen, sample="2", seed="8")
        screen.fields["protocol"].focus()
        await press(pilot, "s", "ctrl+u")
        await type_text(pilot, str(tmp_path / "mine.toml"))
        await press(pilot, "enter")
        await until(pilot, lambda: (tmp_path / "mine.toml").exists())
    with connect(project_db) as db:
        (request,) = read_experiment(db, Project.numbered(db, project).id, tmp_path / "mine.toml").requests
    assert request.judge == JudgeSpec(spec="rules")
    assert request.settings == settings_for("pairwise", sample=2, seed=8)


async def test_the_form_asks_for_occasions_where_the_data_has_them(project_db: Path) -> None:
    with connect(project_db) as db:
        make_visits(db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        await until(pilot, lambda: screen.fields.is_shown("served_from"))
        assert screen.fields.is_shown("contexts")
        await fill(pilot, screen, contexts='home, "cart"', served_to="2024-05-01")
        await until(pilot, lambda: "14 calls on 14 cases" in shown(pilot))
        request = screen.request()
        assert (request.settings.contexts, request.settings.served_to) == (("home", "cart"), "2024-05-01")
        await fill(pilot, screen, served_to="soon")
        await until(pilot, lambda: "“soon” is not a time" in shown(pilot))


def test_the_form_becomes_settings() -> None:
    request = asked_for(
        spec="openai:m",
        base_urls="http://127.0.0.1:1/v1, http://127.0.0.1:2/v1",
        api_key_env="MY_KEY",
        header_env="x-gateway=GATEWAY_KEY, x-route=ROUTE",
        systems="a, b,a",
        sample="20",
        swap="one",
        no_history="judge",
        concurrency="8",
        name="mine",
    )
    assert request.judge.spec == "openai:m"
    assert request.judge.base_urls == ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1")
    assert request.judge.api_key_env == "MY_KEY"
    assert request.judge.header_env == (("x-gateway", "GATEWAY_KEY"), ("x-route", "ROUTE"))
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
    settings = asked_for(protocol, **given).settings
    assert {name: getattr(settings, name) for name in kept} == kept


@pytest.mark.parametrize(
    ("field", "text"),
    [*(("concurrency", text) for text in ("-1", "1.5", "٣", "9" * 30, "1e3")),
     *(("drop_poor_over", text) for text in ("1.5", "-0.5", "half", "nan", "5e-1", "٠"))],
)  # fmt: skip
def test_what_is_no_number_of_the_bounds_names_its_field(field: str, text: str) -> None:
    with pytest.raises(FieldError) as caught:
        asked_for("saer", **{field: text})
    assert caught.value.field == field


# ---- two stages, stratified samples and runs that stop early


async def test_saer_is_launched_from_the_form_and_both_stages_are_seen(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db) as pilot:
        screen = await open_form(pilot, "saer")
        await fill(pilot, screen, seed="11", top_k="3", concurrency="2", name="both stages")
        await until(pilot, lambda: "pointwise: 6 calls on 6 cases" in shown(pilot))
        assert "pairwise: 6 calls on 3 cases" in shown(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, MonitorScreen))
        await until(pilot, lambda: [run["state"] for run in runs(project_db)] == ["done", "done"])
        await until(pilot, lambda: "pairwise run 2 ✓ done  6/6" in shown(pilot)
                    or "pointwise run 1 ✓ done  6/6" in shown(pilot))  # fmt: skip
        monitor = pilot.app.screen
        await press(pilot, "n")
        other = pilot.app.screen
        assert isinstance(other, MonitorScreen)
        assert {monitor.run_id, other.run_id} == {1, 2}
        await press(pilot, "q")
        await until(pilot, lambda: "Runs (2)" in shown(pilot))
    second, first = runs(project_db)
    # the process of the command found these runs: it planned no others
    assert [(row["protocol"], row["rater"], row["done"]) for row in (first, second)] == [
        ("pointwise", "both stages", 6),
        ("pairwise", "both stages", 6),
    ]


def test_what_the_form_says_reaches_both_stages(project_db: Path) -> None:
    project = import_lists(project_db)
    request = asked_for("saer", profile="none", until="decided", margin="0.2", history="3", no_history="judge",
                        seed="11", swap="one", concurrency="2", top_k="3")  # fmt: skip
    with connect(project_db) as db:
        result = start_run(db, project, request, lambda _: None)
        assert result == (1, None)
        wait_until(lambda: {run["state"] for run in list_runs(db)} == {"done"})
        stages = [RunSettings.model_validate_json(run_row(db, run)["settings"]) for run in (1, 2)]
    assert [(stage.until, stage.margin) for stage in stages] == [("", None), ("decided", 0.2)]
    for stage in stages:
        assert (stage.profile, stage.history, stage.no_history, stage.seed) == ("none", 3, True, 11)
        assert (stage.swap, stage.concurrency, stage.top_k) == (False, 2, 3)
