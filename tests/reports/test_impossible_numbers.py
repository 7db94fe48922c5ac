"""A database may hold costs and token counts that cannot be: they are shown as absent, with the reason."""

from __future__ import annotations

import json

import pytest

from recjudge_tui.errors import RunError
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.start import change_settings
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import run_progress
from tests.support.commands import ran
from tests.support.runs import RULES, make_project, planned

ODD = {
    "infinite cost": ("cost_usd", 9e999),
    "negative cost": ("cost_usd", -1.0),
    "huge cost": ("cost_usd", 1e300),
    "tokens that overflow": ("tokens_in", 2**63 - 1),
    "negative tokens": ("tokens_out", -5),
}
COMMANDS = {
    "runs list": ("--format", "json"),
    "runs show 1": ("--format", "json"),
    "cost -p films": ("--format", "json"),
    "passport -p films rules": ("--format", "json"),
    "export -p films calls": ("--format", "jsonl"),
    "report -p films": ("-o", "-"),
}


@pytest.mark.parametrize("kind", ODD)
def test_reports_work_without_a_sum_and_say_why_it_is_missing(
    db: Database, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    make_project(db, users=2)
    run = planned(db, RULES)
    work(db.path, run)
    db.execute("UPDATE calls SET cost_usd = 0.5, tokens_in = 100, tokens_out = 10")
    column, value = ODD[kind]
    db.execute(f"UPDATE calls SET {column} = ? WHERE id < 3", (value,))
    for command, more in COMMANDS.items():
        if command.startswith("report") and kind not in ("infinite cost", "tokens that overflow"):
            continue
        code, out, err = ran(capsys, *command.split(), *more, "--db", str(db.path))
        assert code == 0, (command, err)
        assert "Infinity" not in out
        assert "NaN" not in out
        if command in ("runs list", "runs show 1", "cost -p films"):
            table = json.loads(out)
            row = table["rows"][0]
            told = f"{row.get('note', '')} {table['notes']}"
            assert "2 calls with an impossible stored cost or number of tokens" in told
            assert row["cost_usd" if column == "cost_usd" or "cost" in command else column] is None
    progress = run_progress(db, run)
    assert progress.cost_usd == (1.0 if column == "cost_usd" else 2.0)
    assert progress.tokens_in <= 400


def test_a_budget_is_refused_if_an_impossible_cost_is_stored(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(db, users=2)
    run = planned(db, RULES)
    work(db.path, run)
    db.execute("UPDATE calls SET cost_usd = 9e999, state = 'planned' WHERE id = 1")
    change_settings(db, run, budget_usd=5.0)
    with pytest.raises(RunError, match="the budget of this run cannot be enforced"):
        work(db.path, run)
