from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import ran

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


def test_the_list_tells_keys_by_name_and_whether_they_are_set(project_db: Path) -> None:
    judges = listed(project_db, ANTHROPIC_API_KEY=PLANTED)
    assert judges["anthropic:MODEL"]["key"] == "ANTHROPIC_API_KEY set"
    assert judges["openai:MODEL"]["key"] == "OPENAI_API_KEY not set"
    assert judges["bedrock:MODEL"]["key"].endswith("not set")
    assert judges["rules"]["key"] == ""
    assert {judge["source"] for judge in judges.values()} == {"built in"}
