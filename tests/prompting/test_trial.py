from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from recjudge_tui.domain.calls import Trial
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError, NotFoundError, RunError, UsageError
from recjudge_tui.prompting import trial as trial_module
from recjudge_tui.prompting.preview import request_now
from recjudge_tui.prompting.trial import try_prompt
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt
from tests.support.requests import sent_request
from tests.support.runs import RULES, make_project, planned, server_judge
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import Script, answer, completion, serving

SET_1 = '{"reasoning": "the first is closer", "winner": "Set 1"}'


@pytest.fixture(autouse=True)
def _project(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_project(db, users=2)
    # a run makes the cases; its top K and history are the usual ones
    work(db.path, planned(db, RULES, "pointwise", top_k=10))
    work(db.path, planned(db, RULES, "pairwise", top_k=10))


def case(db: Database, kind: str = "pair") -> int:
    found: int = db.value("SELECT min(id) FROM cases WHERE kind = ?", (kind,))
    return found


def tried(
    db: Database, spec: JudgeSpec, prompt: str = "pairwise-media", kind: str = "pair", **more: object
) -> Trial:
    return try_prompt(db, get_prompt(db, prompt)[2], case(db, kind), spec, **more)  # type: ignore[arg-type]


def stored(db: Database) -> list[int]:
    counted = ("calls", "answers", "verdicts", "raters", "runs", "run_cases", "snapshots", "flags")
    return [db.value(f"SELECT count(*) FROM {table}") for table in counted]


def scripted(*bodies: bytes) -> Script:
    posts = iter(bodies)
    return lambda line, _: next(posts) if "POST" in line else answer(404, {})


def test_it_asks_what_a_run_asks(db: Database) -> None:
    for kind, prompt in (("list", "pointwise-media"), ("pair", "pairwise-media")):
        first = db.value(
            "SELECT min(c.id) FROM calls c JOIN cases k ON k.id = c.case_id WHERE k.kind = ? AND k.id = ?",
            (kind, case(db, kind)),
        )
        asked = tried(db, RULES, prompt, kind)
        assert asked.request.content_hash() == sent_request(db, first).content_hash()
        assert asked.request.sampling == sent_request(db, first).sampling


def test_the_built_in_judge_says_what_it_said_in_the_run(db: Database) -> None:
    said = db.row("SELECT a.label, a.reasoning FROM answers a JOIN calls c ON c.id = a.call_id WHERE c.case_id = ?"
                  " AND c.list_order = 'ab'", (case(db),))  # fmt: skip
    found = tried(db, RULES)
    assert said is not None
    assert found.parsed is not None
    assert [(a.aspect, a.label, a.reasoning) for a in found.parsed.answers] == [("overall", *said)]
    assert (found.judge, found.rater_kind, found.cost_usd, found.attempts) == ("rules", "rules", 0.0, 1)
    assert (found.error, found.order) == ("", "ab")


def test_flags_come_with_it(db: Database) -> None:
    flag = {"item": 1, "issue": "other", "reason": "not due"}
    said = json.dumps({"reasoning": "x", "category": "Poor Match", "flagged_items": [flag]})
    with serving(scripted(answer(200, completion(said)))) as stub:
        found = tried(db, server_judge(stub.url), "pointwise-media", "list")
    assert found.parsed is not None
    assert found.request.material is not None
    first = found.request.material.slates[0].items[0].item_id
    assert [(f.item_id, f.issue, f.reason) for f in found.parsed.flags] == [(first, "other", "not due")]


def test_a_label_is_turned_back_from_the_order_shown(db: Database) -> None:
    for order, label in (("ab", "A"), ("ba", "B")):
        with serving(scripted(answer(200, completion(SET_1)))) as stub:
            found = tried(db, server_judge(stub.url), order=order)
        assert found.parsed is not None
        assert (found.order, found.parsed.answers[0].label) == (order, label)


def test_nothing_is_stored_and_nothing_stored_is_used(db: Database, openai_server: ServerProcess) -> None:
    before = stored(db)
    first = tried(db, server_judge(openai_server.url))
    assert first.parsed is not None
    assert first.reply is not None
    assert first.reply.usage.input
    assert first.reply.usage.output
    assert first.reply.latency_s
    assert (first.cost_usd, first.rater_kind) == (0.0, "judge")
    assert stored(db) == before
    assert not db.connection.in_transaction


def test_an_unknown_price_gives_no_cost(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recjudge_tui.prompting.trial.price_of", lambda _: None)
    usage = {"prompt_tokens": 900, "completion_tokens": 20}
    with serving(scripted(answer(200, {**completion(SET_1), "usage": usage}))) as stub:
        found = tried(db, server_judge(stub.url))
    assert found.reply is not None
    assert (found.cost_usd, found.reply.usage.input, found.reply.usage.output) == (None, 900, 20)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(db: Database) -> None:
    bad = answer(200, completion("I like both."))
    with serving(scripted(bad, answer(200, completion(SET_1)))) as stub:
        found = tried(db, server_judge(stub.url))
    assert found.parsed is not None
    assert (found.parsed.parsed_by, found.attempts) == ("reask", 2)
    with serving(scripted(bad, bad)) as stub:
        found = tried(db, server_judge(stub.url))
    assert found.parsed is None
    assert found.reply is not None
    assert (found.error_kind, found.attempts, found.reply.text) == ("bad_reply", 2, "I like both.")
    assert "no JSON object" in found.error


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


def test_invalid_requests(db: Database) -> None:
    with pytest.raises(NotFoundError, match="cannot show case"):
        tried(db, RULES, "pointwise-media", "pair")
    with pytest.raises(NotFoundError, match="no case 999"):
        try_prompt(db, get_prompt(db, "pairwise-media")[2], 999, RULES)
    with pytest.raises(UsageError, match="has no order “ba”"):
        tried(db, RULES, "pointwise-media", "list", order="ba")
    with pytest.raises(UsageError, match="no judge “oracle”"):
        tried(db, JudgeSpec(spec="oracle"))
    with pytest.raises(JudgeError):
        tried(db, JudgeSpec(spec="openai:m", base_urls=("http://127.0.0.1:9/v1",)))


def test_a_request_of_the_other_order_shows_the_lists_the_other_way_round(db: Database) -> None:
    prompt = get_prompt(db, "pairwise-media")[2]
    one, other = (request_now(db, prompt, case(db), order) for order in ("ab", "ba"))
    assert one.material is not None
    assert other.material is not None
    assert one.material.slates == other.material.slates[::-1]
    assert one.messages[0] == other.messages[0]
    assert one.messages[1] != other.messages[1]


def test_it_runs_in_a_thread(db: Database) -> None:
    """The app asks from a worker, with a connection of its own there."""
    found: list[Trial] = []

    def in_thread(path: Path) -> None:
        from recjudge_tui.store.schema import connect

        with connect(path) as own:
            found.append(tried(own, RULES))

    thread = threading.Thread(target=in_thread, args=(db.path,))
    thread.start()
    thread.join()
    assert found[0].parsed is not None
