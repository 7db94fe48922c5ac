from __future__ import annotations

import threading

import pytest

from recjudge_tui.domain.calls import Trial
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RunError
from recjudge_tui.prompting import trial as trial_module
from recjudge_tui.prompting.trial import try_prompt
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt
from tests.support.runs import RULES, make_project, planned, server_judge
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, serving


@pytest.fixture(autouse=True)
def _project(db: Database) -> None:
    make_project(db, users=2)
    # a run makes the cases; its top K and history are the usual ones
    work(db.path, planned(db, RULES, "pointwise", top_k=10))
    work(db.path, planned(db, RULES, "pairwise", top_k=10))


def case(db: Database, kind: str = "pair") -> int:
    return db.number("SELECT min(id) FROM cases WHERE kind = ?", (kind,))


def tried(
    db: Database, spec: JudgeSpec, prompt: str = "pairwise-media", kind: str = "pair", **more: object
) -> Trial:
    return try_prompt(db, get_prompt(db, prompt)[2], case(db, kind), spec, **more)  # type: ignore[arg-type]


def stored(db: Database) -> list[int]:
    counted = ("calls", "answers", "verdicts", "raters", "runs", "run_cases", "snapshots", "flags")
    return [db.value(f"SELECT count(*) FROM {table}") for table in counted]


def test_nothing_is_stored_and_nothing_stored_is_used(db: Database, openai_server: ServerProcess) -> None:
    before = stored(db)
    first = tried(db, server_judge(openai_server.url))
    assert first.parsed is not None
    assert all((first.reply.usage.input, first.reply.usage.output, first.reply.latency_s))
    assert (first.cost_usd, first.rater_kind) == (0.0, "judge")
    assert stored(db) == before
    assert not db.connection.in_transaction


def test_a_server_that_takes_no_calls_is_not_waited_for(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_module, "PATIENCE_S", 0.2)
    busy = answer(429, {"error": {"message": "too many of you"}}, "Retry-After: 600")
    with serving(lambda line, _: busy if "POST" in line else answer(404, {})) as stub:
        found = tried(db, server_judge(stub.url))
    assert (found.error_kind, found.attempts, found.parsed, found.cost_usd) == ("rate_limit", 1, None, None)
    assert "too many of you" in found.error


def test_it_can_be_cancelled(db: Database) -> None:
    cancelled = threading.Event()
    with start("openai_api", "--delay-ms", "600000") as slow:
        threading.Timer(0.4, cancelled.set).start()
        with pytest.raises(RunError, match="cancelled"):
            tried(db, server_judge(slow.url), cancelled=cancelled)
