from __future__ import annotations

import json

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError
from recjudge_tui.prompting.trial import probe
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import save_capabilities
from tests.support.runs import calls, make_project, planned
from tests.support.servers.counts import request_count, reset
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import answer, completion, serving


def at(spec: str, *urls: str) -> JudgeSpec:
    return JudgeSpec(spec=spec, base_urls=urls)


def test_what_is_refused_is_found_out() -> None:
    with start("openai_api", "--refuse", "response_format,temperature,seed,logprobs") as server:
        found = probe(at("openai:hash-judge", server.url))
    assert (found.schema_enforced, found.temperature, found.seed, found.logprobs) == (False,) * 4
    assert set(found.refused) == {"response_format", "temperature", "seed", "logprobs"}


def test_a_real_server(llama_server: ServerProcess) -> None:
    found = probe(at("openai:tiny-stair", llama_server.url))
    assert (found.schema_enforced, found.logprobs, found.context_length) == (True, True, 8192)


def test_a_call_that_fails_is_a_problem_and_three_are_an_error() -> None:
    busy = answer(503, {"error": {"message": "busy now"}})
    good = answer(200, completion('{"reasoning": "", "answer": "quokka-17"}'))
    with serving(lambda line, n: answer(404, {}) if "GET" in line else busy if n == 1 else good) as stub:
        found = probe(at("openai:m", stub.url))
    assert found.schema_enforced
    assert len(found.problems) == 1
    assert "busy now" in found.problems[0]
    with (
        serving(lambda line, n: answer(404, {}) if "GET" in line else busy) as stub,
        pytest.raises(JudgeError, match="none of 3 calls"),
    ):
        probe(at("openai:m", stub.url))


def test_a_run_leaves_out_what_is_refused_and_takes_confidences_from_logprobs(db: Database) -> None:
    make_project(db)
    with start("openai_api", "--refuse", "temperature") as server:
        spec = at("openai:hash-judge", server.url)
        before = planned(db, spec)
        work(db.path, before)
        save_capabilities(db, spec, probe(spec))
        reset(server)
        after = planned(db, spec, rater="again", use_cache=False)
        work(db.path, after)
        asked = request_count(server)
    assert asked == len(calls(db, after)), "nothing was sent only to be refused"
    assert {json.loads(call["sent"])["sent"].get("top_logprobs") for call in calls(db, before)} == {None}
    assert {json.loads(call["sent"])["sent"].get("top_logprobs") for call in calls(db, after)} == {5}
    shares = "SELECT count(*), count(confidence) FROM verdicts WHERE run_id = ?"
    assert tuple(db.rows(shares, (before,))[0]) == (8, 0)
    assert tuple(db.rows(shares, (after,))[0]) == (8, 8)
