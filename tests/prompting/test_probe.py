from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.errors import JudgeError, UsageError
from recjudge_tui.prompting.probe import SIZE, WORDS, image_of_word, probe
from recjudge_tui.runs.engine.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import save_capabilities
from tests.support.runs import calls, make_project, plan, planned
from tests.support.servers.counts import request_count, reset
from tests.support.servers.process import ServerProcess, start
from tests.support.stub_server import Script, answer, completion, serving


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def at(spec: str, *urls: str) -> JudgeSpec:
    return JudgeSpec(spec=spec, base_urls=urls)


def reads(word: str) -> Script:
    """A server that answers every question with this word."""

    def script(line: str, _: int) -> bytes:
        said = completion(json.dumps({"reasoning": "r", "answer": word}))
        return answer(200, said) if "POST" in line else answer(404, {})

    return script


class TestSight:
    @pytest.fixture(autouse=True)
    def _planted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recjudge_tui.prompting.probe.WORDS", ("WALNUT",))

    def test_a_judge_that_reads_the_word_accepts_images(self) -> None:
        with serving(reads("It says walnut.")) as stub:
            found = probe(at("openai:m", stub.url))
            parts = stub.sent()["messages"][1]["content"]
        assert found.images is True
        assert [part["type"] for part in parts] == ["text", "image_url", "text"]
        assert "WALNUT" not in json.dumps(parts).upper()

    def test_a_judge_that_does_not_read_the_word_does_not_accept_images(self, db: Database) -> None:
        make_project(db, users=1)
        with serving(reads("NONE")) as stub:
            spec = at("openai:m", stub.url)
            found = probe(spec)
            assert found.images is False
            save_capabilities(db, spec, found)
            with pytest.raises(UsageError, match="does not see images"):
                plan(db, spec, images=True)

    def test_a_server_that_refuses_the_image_does_not(self, llama_server: ServerProcess) -> None:
        assert probe(at("openai:tiny-stair", llama_server.url)).images is False

    def test_another_failure_leaves_it_open(self) -> None:
        said = completion('{"reasoning": "r", "answer": "Paris"}')
        with serving(
            lambda _, n: answer(200, said) if n < 4 else answer(400, {"error": "Could not process image"})
        ) as stub:
            found = probe(at("openai:m", stub.url))
        assert found.images is None
        assert "Could not process image" in found.problems[0]

    def test_the_mirror_is_not_needed_with_a_baseline(self) -> None:
        assert probe(at("rules")).images is None

    def test_the_word_can_be_read_in_the_image(self) -> None:
        images = {word: image_of_word(word) for word in WORDS}
        assert len({placed.image.digest for placed in images.values() if placed}) == len(WORDS)
        for placed in images.values():
            assert placed is not None
            dark = Image.open(BytesIO(placed.data)).convert("L").point(lambda tone: 255 if tone < 128 else 0)
            left, top, right, bottom = dark.getbbox() or (0, 0, 0, 0)
            assert 0 < left < 200 < 312 < right < SIZE[0]
            assert bottom - top > 50


def test_a_server_that_can_do_everything_takes_four_calls(openai_server: ServerProcess) -> None:
    reset(openai_server)
    found = probe(at("openai:hash-judge", openai_server.url))
    assert request_count(openai_server) == 4
    assert (found.schema_enforced, found.temperature, found.seed, found.logprobs) == (True, True, True, True)
    assert (found.model, found.refused, found.problems, found.concurrency) == ("hash-judge", (), (), 8)
    assert found.endpoints == (f"{openai_server.url}/v1",)
    assert found.latency_s


def test_what_is_refused_is_found_out() -> None:
    with start("openai_api", "--refuse", "response_format,temperature,seed,logprobs") as server:
        found = probe(at("openai:hash-judge", server.url))
    assert (found.schema_enforced, found.temperature, found.seed, found.logprobs) == (False,) * 4
    assert set(found.refused) == {"response_format", "temperature", "seed", "logprobs"}


def test_a_server_that_accepts_the_schema_but_ignores_it_is_detected() -> None:
    said = completion('{"reasoning": "known to all", "answer": "Paris"}')
    with serving(lambda line, n: answer(200, said) if "POST" in line else answer(404, {})) as stub:
        found = probe(at("openai:m", stub.url))
        asked = stub.sent()["messages"]
    assert found.schema_enforced is False
    assert found.logprobs is False
    assert "quokka" not in json.dumps(asked)


def test_a_real_server(llama_server: ServerProcess) -> None:
    found = probe(at("openai:tiny-stair", llama_server.url))
    assert (found.schema_enforced, found.logprobs, found.context_length) == (True, True, 8192)


def test_ollama_and_anthropic(ollama_server: ServerProcess) -> None:
    found = probe(at("ollama:hash-judge", ollama_server.url))
    assert (found.schema_enforced, found.temperature, found.seed, found.logprobs) == (True, True, True, True)
    assert found.context_length == 32768
    assert len(found.digest) == 64
    with start("anthropic_api", "--refuse", "temperature") as server:
        found = probe(at("anthropic:hash-judge", server.url))
    assert (found.schema_enforced, found.temperature, found.seed, found.logprobs) == (
        True,
        False,
        False,
        False,
    )
    assert found.refused == ("temperature",)


@pytest.mark.parametrize("spec", ["rules", "random"])
def test_a_judge_without_a_language_model_is_not_probed(spec: str) -> None:
    found = probe(at(spec))
    assert not found.language_model
    assert found.latency_s is None


def test_a_recording_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("", encoding="utf-8")
    assert not probe(at(f"replay:{tmp_path / 'r.jsonl'}")).language_model


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


def test_the_estimate_takes_its_time_from_the_probe_until_there_is_a_run(db: Database) -> None:
    make_project(db)
    spec = at("openai:hash-judge", "http://127.0.0.1:1")
    assert plan(db, spec).estimate.seconds is None
    save_capabilities(db, spec, Capabilities(model="m", latency_s=4.0, concurrency=8))
    assert plan(db, spec, rater="b").estimate.seconds == pytest.approx(8 * 4.0 / 8)
