"""A planted key shows nowhere after a run full of faults against a server that sends it back in all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran
from tests.support.stub_server import Script, answer, serving

PLANTED = "planted-key-0123456789"
BARE = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_REGION": "eu-west-1"}
JUDGES = {
    "ollama:m": {"OLLAMA_API_KEY": PLANTED},
    "openai:m": {"OPENAI_API_KEY": PLANTED},
    "anthropic:m": {"ANTHROPIC_API_KEY": PLANTED},
    "bedrock:m": {**BARE, "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": PLANTED},
}
ERROR = {"error": {"message": PLANTED, "type": PLANTED, "code": PLANTED}, "message": PLANTED}
PROSE = {
    "model": PLANTED,
    "message": {"role": "assistant", "content": PLANTED, "thinking": PLANTED},
    "done_reason": PLANTED,
    "choices": [{"message": {"content": PLANTED, "reasoning_content": PLANTED}, "finish_reason": PLANTED}],
    "content": [{"type": "text", "text": PLANTED}, {"type": "thinking", "thinking": PLANTED}],
    "stop_reason": PLANTED,
    "output": {"message": {"role": "assistant", "content": [{"text": PLANTED}]}},
    "stopReason": "end_turn",
}
FAULTS = [
    *(
        answer(status, ERROR, "Retry-After: 0", f"X-Echo: {PLANTED}")
        for status in (400, 413, 429, 500, 503, 529)
    ),
    *(answer(status, PLANTED.encode()) for status in (200, 400, 500)),
    answer(307, b"", f"Location: http://127.0.0.1:1/?key={PLANTED}"),
    answer(200, PROSE),
    f"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{PLANTED}".encode(),
    f"{PLANTED}\r\n\r\n".encode(),
]
LAST = answer(401, ERROR, "x-amzn-ErrorType: ExpiredTokenException")
NO_LIST = answer(404, {"error": {"message": "no list"}})
TAGS = [{"name": "m", "model": "m:latest", "digest": "f" * 64}]
OLLAMA = answer(200, {"version": "1", "models": TAGS, "model_info": {}})


def faulty(count: int) -> Script:
    """Every fault in turn, and after `count` calls the key is refused, which ends the run."""
    turn = iter(range(10_000))

    def script(line: str, number: int) -> bytes:
        if "/api/" in line and "chat" not in line:
            return OLLAMA
        if line.startswith("GET"):
            return NO_LIST
        asked = next(turn)
        return FAULTS[asked % len(FAULTS)] if asked < count else LAST

    return script


def written(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file under the folder: database, its WAL, logs, exports."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()


@pytest.mark.parametrize("judge", JUDGES)
def test_the_key_is_nowhere(project_db: Path, judge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    with connect(project_db) as db:
        make_project(db, users=15)
    with serving(faulty(len(FAULTS) + 8)) as stub:
        at, env = ("--judge", judge, "--base-url", stub.url), JUDGES[judge]
        told = [
            ran("judge", "test", judge, "--base-url", stub.url, "--debug", "--db", project_db, env=env),
            ran("run", "pointwise", "-p", "films", *at, "--debug", "--db", project_db, env=env),
            ran("runs", "show", 1, "--format", "json", "--db", project_db, env=env),
            ran("judge", "list", "--format", "json", "--db", project_db, env=env),
        ]
        seen = json.dumps(stub.heads)
    for code, out, err in told:
        assert PLANTED not in out
        assert PLANTED not in err, code
    assert told[1][0] == 1
    assert "Traceback" in told[1][2], "--debug shows the traceback"
    with connect(project_db) as db:
        kinds = {row[0] for row in db.rows("SELECT DISTINCT error_kind FROM calls WHERE state = 'failed'")}
        assert kinds, "the run met faults"
    for name, content in written(project_db.parent):
        assert PLANTED.encode() not in content, name
    assert (PLANTED in seen) == (judge != "bedrock:m"), "the key did go out to its own server"
