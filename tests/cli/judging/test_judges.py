from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.store.runs import judge_capabilities
from recjudge_tui.store.schema import connect
from tests.support.runs import ran
from tests.support.servers.process import ServerProcess

PLANTED = "planted-key-0123456789"


@pytest.fixture(autouse=True)
def _no_server_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")


def rows(out: str) -> list[dict[str, Any]]:
    table: Any = json.loads(out)
    found: list[dict[str, Any]] = table["rows"] if isinstance(table, dict) else table
    return found


def listed(project_db: Path, **environment: str) -> dict[str, dict[str, Any]]:
    code, out, err = ran("judge", "list", "--format", "json", "--db", project_db, env=environment)
    assert code == 0, err
    assert PLANTED not in out + err
    return {row["spec"]: row for row in rows(out)}


def probed(project_db: Path, *words: object, **environment: str) -> tuple[int, dict[str, str], str]:
    code, out, err = ran("judge", "test", *words, "--format", "json", "--db", project_db, env=environment)
    assert PLANTED not in out + err
    return code, {row["what"]: row["found"] for row in rows(out)}, err


def test_the_list_tells_keys_by_name_and_whether_they_are_set(project_db: Path) -> None:
    judges = listed(project_db, ANTHROPIC_API_KEY=PLANTED)
    assert judges["anthropic:MODEL"]["key"] == "ANTHROPIC_API_KEY set"
    assert judges["openai:MODEL"]["key"] == "OPENAI_API_KEY not set"
    assert judges["bedrock:MODEL"]["key"].endswith("not set")
    assert judges["rules"]["key"] == ""
    assert {judge["source"] for judge in judges.values()} == {"built in"}


def test_a_test_prints_what_was_found_and_keeps_it(project_db: Path, openai_server: ServerProcess) -> None:
    code, found, err = probed(project_db, "openai:hash-judge", "--base-url", openai_server.url)
    assert code == 0, err
    assert list(found) == [
        "reachable", "address", "model", "schema enforced", "temperature", "seed", "logprobs", "sees images",
        "context length", "latency", "price",
    ]  # fmt: skip
    assert (found["reachable"], found["model"], found["schema enforced"]) == ("yes", "hash-judge", "yes")
    assert (found["temperature"], found["seed"], found["logprobs"]) == ("accepted", "accepted", "yes")
    assert (found["context length"], found["price"]) == ("not reported", "none (local server)")
    with connect(project_db) as db:
        kept = judge_capabilities(db, JudgeSpec(spec="openai:hash-judge", base_urls=(openai_server.url,)))
    assert kept.schema_enforced


def test_a_judge_that_cannot_be_used_says_why_and_ends_with_1(project_db: Path) -> None:
    code, found, err = probed(project_db, "openai:m", "--base-url", "http://127.0.0.1:1")
    assert (code, found) == (1, {"usable": "no", "address": "http://127.0.0.1:1"})
    assert "No server at http://127.0.0.1:1/v1" in err
    code, found, err = probed(project_db, "anthropic:m")
    assert (code, found) == (1, {"usable": "no"})
    assert "ANTHROPIC_API_KEY is not set" in err
    with connect(project_db) as db:
        assert db.value("SELECT count(*) FROM capabilities") == 0
