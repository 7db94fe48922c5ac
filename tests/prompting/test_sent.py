"""What was sent for a verdict, rendered again: in both orders, as text, JSON and curl."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from recjudge_tui.prompting.trial import sent_text, sent_verdict
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from tests.support import runs
from tests.support.stub_server import answer, completion, serving

REPLY = json.dumps({"reasoning": "It's better: $HOME `id` 'x'.", "winner": "Set 1"})
SECRET = "sk-very-secret-key-1234"


@pytest.fixture
def judged(db: Database, monkeypatch: pytest.MonkeyPatch) -> tuple[Database, int, list[bytes]]:
    """A verdict of a server that needs a key, and the bodies it was sent."""
    monkeypatch.setenv("MY_KEY", SECRET)
    runs.make_project(db, users=1)
    replies = answer(404, {}), answer(200, completion(REPLY))
    with serving(lambda line, _: replies["POST" in line]) as stub:
        spec = runs.server_judge(stub.url).model_copy(update={"api_key_env": "MY_KEY"})
        work(db.path, runs.planned(db, spec, "pairwise"))
    return db, db.value("SELECT id FROM verdicts"), [body for body in stub.bodies if body]


def test_the_command_line_sends_the_same_body_and_names_the_key_only(
    judged: tuple[Database, int, list[bytes]], tmp_path: Path
) -> None:
    db, verdict, bodies = judged
    sent = sent_verdict(db, verdict)
    for form in ("text", "json", "curl"):
        assert SECRET not in sent_text(sent, form)
    command = sent.calls[0].curl
    assert '"Authorization: Bearer $MY_KEY"' in command
    # a shell hands the body to the program as it stands here
    fake = tmp_path / "curl"
    fake.write_text('#!/bin/sh\nfor word in "$@"; do last="$word"; done\nprintf %s "$last"\n')
    fake.chmod(0o755)
    out = subprocess.run(["sh", "-c", f"PATH={shlex.quote(str(tmp_path))}:$PATH; {command}"],
                         capture_output=True, check=True)  # fmt: skip
    assert json.loads(out.stdout) in [json.loads(body) for body in bodies]
