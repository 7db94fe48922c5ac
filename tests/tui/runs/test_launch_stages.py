"""Two stages, stratified samples and runs that stop early, launched from the form."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.run import RunSettings
from recjudge_tui.store.runs import list_runs, run_row
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import Choice
from recjudge_tui.tui.form import FieldError
from recjudge_tui.tui.launch import LaunchScreen, read_form, start_run
from recjudge_tui.tui.runs import MonitorScreen
from tests.support.app.driving import press, running, shown, until
from tests.support.app.launch_form import FORM, fill, open_form, runs
from tests.support.app.lists import import_lists
from tests.support.waiting import wait_until


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
        assert isinstance(monitor, MonitorScreen)
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
    values = FORM | {"protocol": "saer", "profile": "none", "until": "decided", "margin": "0.2", "history": "3",
                     "no_history": "judge", "seed": "11", "swap": "one", "concurrency": "2", "top_k": "3"}  # fmt: skip
    with connect(project_db) as db:
        result = start_run(db, project, read_form(values), lambda _: None)
        assert (result.run_id, result.error) == (1, None)
        wait_until(lambda: {run["state"] for run in list_runs(db)} == {"done"})
        stages = [RunSettings.model_validate_json(run_row(db, run)["settings"]) for run in (1, 2)]
    assert [(stage.until, stage.margin) for stage in stages] == [("", None), ("decided", 0.2)]
    for stage in stages:
        assert (stage.profile, stage.history, stage.no_history, stage.seed) == ("none", 3, True, 11)
        assert (stage.swap, stage.concurrency, stage.top_k) == (False, 2, 3)


async def test_saer_that_is_done_is_not_started_again(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db, size=(120, 40)) as pilot:
        await open_form(pilot, "saer")
        await pilot.press("f5")
        await until(pilot, lambda: len(runs(project_db)) == 2)
        await until(pilot, lambda: [run["state"] for run in runs(project_db)] == ["done", "done"])
        await press(pilot, "q")
        await press(pilot, "n")
        await press(pilot, "left", "left")
        await until(pilot, lambda: "already exists" in shown(pilot))
        await pilot.press("f5")
        await until(pilot, lambda: "both stages are already done" in shown(pilot))
        assert isinstance(pilot.app.screen, LaunchScreen)
    assert len(runs(project_db)) == 2


@pytest.mark.parametrize("drop", ["0.5", ".25", "0", "1", "1.0"])
def test_a_share_of_poor(drop: str) -> None:
    request = read_form(FORM | {"protocol": "saer", "drop": drop})
    assert (request.saer, request.drop_poor_over) == (True, float(drop))


@pytest.mark.parametrize("drop", ["1.5", "-0.5", "half", "nan", "5e-1", "٠"])
def test_what_is_no_share_names_its_field(drop: str) -> None:
    with pytest.raises(FieldError) as caught:
        read_form(FORM | {"protocol": "saer", "drop": drop})
    assert caught.value.field == "drop"


async def test_a_stratified_run_says_whom_it_draws(project_db: Path) -> None:
    import_lists(project_db, users=8)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        screen.query_one("#field-stratify", Choice).action_step(1)
        await until(pilot, lambda: "“drawn” needs a sample" in shown(pilot))
        await fill(pilot, screen, sample="4")
        await until(pilot, lambda: "shown events (of 8 users)" in shown(pilot))
        await pilot.press("f5")
        await until(pilot, lambda: [run["state"] for run in runs(project_db)] == ["done"])
    with connect(project_db) as db:
        settings = RunSettings.model_validate_json(run_row(db, 1)["settings"])
    assert (settings.stratify, settings.sample) == ("activity", 4)


async def test_a_run_until_it_is_decided_says_that_it_may_take_less(project_db: Path) -> None:
    import_lists(project_db)
    async with running(project_db, size=(120, 40)) as pilot:
        screen = await open_form(pilot)
        await press(pilot, "down", "down", "right")
        await until(pilot, lambda: "This is the upper bound" in shown(pilot))
        await fill(pilot, screen, margin="0.2")
        await pilot.press("f5")
        await until(pilot, lambda: [run["state"] for run in runs(project_db)] == ["done"])
    with connect(project_db) as db:
        settings = RunSettings.model_validate_json(run_row(db, 1)["settings"])
    assert (settings.until, settings.margin) == ("decided", 0.2)
