"""A key that a server sends back is found in every form, and the name of its variable is no key."""

from __future__ import annotations

import json
import sys
import types
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from urllib.parse import quote

import httpx2 as httpx
import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError
from recjudge_tui.judges import keys
from recjudge_tui.judges.http import Answer
from recjudge_tui.judges.keys import Key, find_keys
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.store.schema import connect
from tests.support.commands import ran
from tests.support.runs import make_project
from tests.support.stub_server import answer, completion, serving

SECRET = "planted/key+0123456789="
KEY = Key("MY_KEY", SECRET)
GOOD = json.dumps({"reasoning": f"I know {SECRET}.", "category": "Good Match", "flagged_items": []})


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


FORMS = {
    "plain": SECRET,
    "percent": quote(SECRET, safe=""),
    "every character percent": "".join(f"%{byte:02x}" for byte in SECRET.encode()),
    "base64": b64encode(SECRET.encode()).decode(),
    "base64 for URLs": urlsafe_b64encode(f"a{SECRET}".encode()).decode(),
    "basic authentication": b64encode(f"user:{SECRET}".encode()).decode(),
    "hex": SECRET.encode().hex(), "HEX": SECRET.encode().hex().upper(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_the_key_stays(form: str) -> None:
    text = f"the key {FORMS[form]} is not known"
    clean = KEY.scrub(text)
    assert "[MY_KEY]" in clean
    assert FORMS[form] not in clean
    assert clean.startswith("the key ")
    assert clean.endswith(" is not known")


@pytest.mark.parametrize(
    "body",
    [
        f'{{"error": "{SECRET}"}}',
        f'{{"error": {{"a": ["{escaped(SECRET)}"]}}}}',
        f'{{"{escaped(SECRET)}": 1}}',
        json.dumps({"a": SECRET}).replace("/", "\\/"),
        f"<html>{SECRET}</html>",
    ],
)
def test_an_answer_is_scrubbed_as_a_whole(body: str) -> None:
    headers = httpx.Headers([(b"x-echo", SECRET.encode()), (b"x", b"\xff")])
    response = Answer(400, headers, body.encode())
    clean = KEY.scrub_answer(response)
    assert SECRET not in str(clean.headers.multi_items())
    if body.startswith("{"):
        assert SECRET not in json.dumps(json.loads(clean.content)).replace("\\/", "/")
    assert SECRET.encode() not in clean.content
    assert clean.status_code == 400


KEYS = (
    "sk-proj-0123456789abcdef", "sk-ant-api03-xyz", "gsk_0123456789abcdefghijklmnop", "AIzaSyA0123456789abcdefghij",
    "sk_live_51H8abcdefgh", "gsk_ABCdefGHIjkl",
    "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "hf_ABCDEFGHIJKLMNOPQRSTUVWX", "with space", "2nd", "a=b", "schlüssel",
)  # fmt: skip


def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated(
    project_db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for key in KEYS:
        with pytest.raises(UsageError) as caught:
            make_judge(JudgeSpec(spec="openai:m", api_key_env=key))
        assert key not in str(caught.value)
    key = KEYS[0]
    with connect(project_db) as db:
        make_project(db, users=1)
    at = ("--judge", "openai:m", "--api-key-env", key, "--db", str(project_db))
    code, out, err = ran(capsys, "run", "pointwise", "-p", "films", *at)
    assert (code, key in out + err) == (2, False)
    for path in project_db.parent.glob(f"{project_db.name}*"):
        assert key.encode() not in path.read_bytes()


@pytest.mark.parametrize("form", ["plain", "basic authentication"])
def test_a_key_that_a_server_echoes_is_stored_nowhere(
    project_db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """In its list of models, its own name, ids, replies and errors; looked for in every file and output."""
    echo = FORMS[form]
    monkeypatch.setenv("MY_KEY", SECRET)
    listed = {"data": [{"id": "m", "owned_by": echo, "aliases": [echo]}]}
    replies = [
        answer(
            200, {**completion(GOOD), "model": echo, "id": echo, "system_fingerprint": echo}, f"x-id: {echo}"
        ),
        answer(400, {"error": {"message": echo, "code": echo, "type": echo}}),
        answer(200, {**completion(json.dumps({"reasoning": echo, "category": echo})), "model": echo}),
    ]

    def script(line: str, number: int) -> bytes:
        return answer(200, listed) if line.startswith("GET") else replies[number % 3]

    told = []
    with serving(script) as stub, connect(project_db) as db:
        make_project(db, users=6)
        spec = ("--judge", "openai:m", "--base-url", stub.url, "--api-key-env", "MY_KEY")
        told.append(ran(capsys, "run", "pointwise", "-p", "films", *spec, "--debug", "--db", str(project_db)))
        assert "MY_KEY" in str([tuple(row) for row in db.rows("SELECT identity FROM runs")])
        report, rows = str(project_db.with_name("report.html")), str(project_db.with_name("calls.jsonl"))
        for words in (
            ("runs", "show", "1", "--format", "json"),
            ("report", "-p", "films", "-o", report),
            ("export", "-p", "films", "calls", "-o", rows),
            ("judge", "test", "openai:m", "--base-url", stub.url, "--api-key-env", "MY_KEY", "--debug"),
        ):
            told.append(ran(capsys, *words, "--db", str(project_db)))
        files = {path.name: path.read_bytes() for path in project_db.parent.iterdir() if path.is_file()}
    assert any(name.endswith("-wal") for name in files)
    for needle in {SECRET, echo}:
        assert not [name for name, content in files.items() if needle.encode() in content]
        assert not [code for code, out, err in told if needle in out + err]


# ---- keys ----------------------------------------------------------------------------------------------------


def test_neither_repr_nor_scrubbed_text_holds_the_key() -> None:
    key = Key("MY_KEY", "planted-key-123")
    assert "planted" not in f"{key} {key!r}"
    assert key.scrub("wrong key planted-key-123!") == "wrong key [MY_KEY]!"


def test_a_placeholder_key_is_not_cut_out_of_answers() -> None:
    assert Key("MY_KEY", "none").scrub("none of them") == "none of them"


class _KeyringError(Exception):
    pass


def test_a_session_without_a_keyring_service_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The optional package is not installed for tests: a stand-in."""

    def get_password(service: str, name: str) -> str:
        raise _KeyringError("no backend")

    keyring = types.ModuleType("keyring")
    errors = types.ModuleType("keyring.errors")
    monkeypatch.setattr(keyring, "get_password", get_password, raising=False)
    monkeypatch.setattr(errors, "KeyringError", _KeyringError, raising=False)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    monkeypatch.setattr(keys, "find_spec", lambda name: object())
    assert find_keys(("MY_KEY",), ("http://127.0.0.1:1",)).get("MY_KEY") is None
