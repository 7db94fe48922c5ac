"""A database from somebody else sends no secret anywhere: each pair of a variable and a server is confirmed first.

The servers here are real and keep every header that reaches them.
"""

from __future__ import annotations

import json
import os
import pty
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.judges.keys import UNSTORED, Sent, UntrustedError, remember, server_of
from recjudge_tui.judges.registry import check_trust
from recjudge_tui.settings import config_dir
from recjudge_tui.store.schema import connect
from recjudge_tui.tui.dialogs import Confirm
from recjudge_tui.tui.runs import MonitorScreen
from tests.support.app.driving import press, running, shown, until
from tests.support.app.launch_form import open_form
from tests.support.runs import command, make_project, ran
from tests.support.stub_server import Stub, answer, completion, serving
from tests.support.waiting import HANG_S

SECRETS = {
    "OPENAI_API_KEY": "planted-openai-0123",
    "AWS_SECRET_ACCESS_KEY": "planted-aws-0123456",
    "GITHUB_TOKEN": "planted-github-01234",
}
STOLEN = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN")
REPLY = {"reasoning": "It fits.", "category": "Good Match", "flagged_items": []}
DOORS = {
    "resume": ("runs", "resume", 1),
    "detached": ("runs", "resume", 1, "--detach"),
    "retry": ("runs", "retry", 1),
    "batch submit": ("batch", "submit", 1),
}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a reader with secrets and no decisions yet."""
    environment = {**SECRETS, "RECJUDGE_CONFIG": str(tmp_path / "settings")}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(UNSTORED, raising=False)
    return environment


def _script(line: str, number: int) -> bytes:
    if "/chat/completions" in line:
        return answer(200, completion(json.dumps(REPLY)))
    if line.startswith("POST /v1/files"):
        return answer(200, {"id": "file-1"})
    if "/batches" in line:
        return answer(200, {"id": "batch_1", "status": "in_progress"})
    return answer(200, {"data": [{"id": "gpt-4o"}]})


@pytest.fixture
def attacker() -> Iterator[Stub]:
    with serving(_script) as stub:
        yield stub


def plant(path: Path, url: str, **changes: Any) -> None:
    """A planned run whose judge somebody has exchanged in the file."""
    judge = {
        "spec": "openai:gpt-4o", "base_urls": [f"{url}/v1"], "api_key_env": "AWS_SECRET_ACCESS_KEY",
        "header_env": [["X-A", "GITHUB_TOKEN"]], **changes,
    }  # fmt: skip
    with connect(path) as db:
        if not db.value("SELECT count(*) FROM runs"):
            make_project(db)
            words = ("run", "pointwise", "-p", "films", "--judge", "rules", "--limit", 2, "--plan-only")
            assert ran(*words, "--db", path)[0] == 0
        db.execute("UPDATE runs SET judge = ?, state = 'planned'", (json.dumps(judge),))
        db.execute("UPDATE raters SET name = ?, kind = 'judge'", (judge["spec"],))


def got(stub: Stub) -> set[str]:
    """The secrets that reached a server."""
    return {name for name, value in SECRETS.items() if any(value in head for head in stub.heads)}


@pytest.mark.parametrize("door", DOORS)
def test_a_door_is_shut_until_the_user_trusts_the_host(
    project_db: Path, attacker: Stub, settings: dict[str, str], door: str
) -> None:
    plant(project_db, attacker.url)
    if door == "retry":
        with connect(project_db) as db:
            db.execute("UPDATE calls SET state = 'failed', error_kind = 'timeout'")
    place = attacker.url.removeprefix("http://")
    words = (*DOORS[door], "--db", project_db)
    for _ in range(2):
        code, _, err = ran(*words, env=settings)
        assert (code, attacker.heads) == (1, []), err
        for named in (*STOLEN, f"--trust-host http://{place}"):
            assert named in err
    assert ran(*words, "--trust-host", "elsewhere.example", env=settings)[0] == 1
    assert attacker.heads == []
    code, _, err = ran(*words, "--trust-host", place, env=settings)
    assert code == 0, err
    if door == "detached":
        ran("runs", "stop", 1, "--db", project_db)
    assert got(attacker) == set(STOLEN)


def test_a_decision_is_kept_for_this_server_alone(
    project_db: Path, attacker: Stub, settings: dict[str, str]
) -> None:
    plant(project_db, attacker.url)
    resume = ("runs", "resume", 1, "--db", project_db)
    assert ran(*resume, "--trust-host", attacker.url, env=settings)[0] == 0
    kept = Path(settings["RECJUDGE_CONFIG"]) / "trusted.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == [[name, attacker.url] for name in STOLEN]
    assert kept.stat().st_mode & 0o777 == 0o600
    with connect(project_db) as db:
        # the file holds the server as somebody wrote it, and nothing of the decision
        assert [
            row for row in db.connection.iterdump() if attacker.url in row and 'INTO "runs"' not in row
        ] == []
        db.execute("DELETE FROM answers")
        db.execute("UPDATE calls SET state = 'planned'")
    code, _, err = ran(*resume, env=settings)
    assert code == 0, err
    with serving(_script) as other:
        plant(project_db, other.url)
        code, _, err = ran(*resume, env=settings)
        assert (code, other.heads) == (1, [])
        assert other.url in err
        plant(project_db, attacker.url, api_key_env="OPENAI_API_KEY")
        code, _, err = ran(*resume, env=settings)
        assert (code, "OPENAI_API_KEY" in err, "GITHUB_TOKEN" in err) == (1, True, False)
    assert "OPENAI_API_KEY" not in got(attacker)


def test_a_stage_of_saer_is_such_a_run(project_db: Path, attacker: Stub, settings: dict[str, str]) -> None:
    with connect(project_db) as db:
        make_project(db)
    words = ("run", "saer", "-p", "films", "--judge", "rules", "--limit", 2, "--db", project_db)
    assert ran(*words, "--plan-only")[0] == 0
    plant(project_db, attacker.url)
    with connect(project_db) as db:
        db.execute("UPDATE raters SET name = 'rules', kind = 'rules'")
    code, _, err = ran("runs", "work-group", 1, "--db", project_db, env=settings)
    assert (code, attacker.heads, "GITHUB_TOKEN" in err) == (1, [], True), err
    # the same command asks the judge that it names, and not that of the runs in the file
    code, _, err = ran(*words, env=settings)
    assert (code, attacker.heads) == (0, []), err


def test_a_batch_is_not_followed_to_another_server(
    project_db: Path, attacker: Stub, settings: dict[str, str]
) -> None:
    plant(project_db, attacker.url)
    sending = ("batch", "submit", 1, "--trust-host", attacker.url, "--db", project_db)
    code, _, err = ran(*sending, env=settings)
    assert code == 0, err
    with serving(_script) as other:
        plant(project_db, other.url)
        for word in ("status", "collect"):
            code, _, err = ran("batch", word, 1, "--db", project_db, env=settings)
            assert (code, other.heads, other.url in err) == (1, [], True), err
            code, _, err = ran("batch", word, 1, "--trust-host", other.url, "--db", project_db, env=settings)
            assert (code, got(other)) == (0, set(STOLEN)), err
            (Path(settings["RECJUDGE_CONFIG"]) / "trusted.json").unlink()
            other.heads.clear()


@pytest.mark.parametrize(("said", "code"), [(b"\n", 130), (b"n\n", 130), (b"y\n", 0)])
def test_a_terminal_is_asked(
    project_db: Path, attacker: Stub, settings: dict[str, str], said: bytes, code: int
) -> None:
    plant(project_db, attacker.url)
    master, slave = pty.openpty()
    try:
        process = command("runs", "resume", 1, "--db", project_db, env=settings, stdin=slave, stderr=slave)
        os.write(master, said)
        process.communicate(timeout=HANG_S)
        screen = os.read(master, 100_000).decode()
    finally:
        os.close(master)
        os.close(slave)
    assert process.returncode == code, screen
    assert f"Send AWS_SECRET_ACCESS_KEY, GITHUB_TOKEN to {attacker.url}? [y/N]" in screen
    assert got(attacker) == (set() if code else set(STOLEN))


def test_the_judge_is_shown_with_its_address_and_its_variables(
    project_db: Path, attacker: Stub, settings: dict[str, str]
) -> None:
    plant(project_db, attacker.url)
    where = f"{attacker.url}/v1, key from AWS_SECRET_ACCESS_KEY, header X-A from GITHUB_TOKEN"
    assert where in " ".join(ran("runs", "show", 1, "--db", project_db)[1].split())
    for words in (("runs", "show", 1), ("runs", "list")):
        (row,) = json.loads(ran(*words, "--format", "json", "--db", project_db)[1])["rows"]
        assert row["address"] == where
    typed = ("--judge", "openai:gpt-4o", "--base-url", attacker.url, "--api-key-env", "GITHUB_TOKEN")
    _, _, err = ran("run", "pointwise", "-p", "films", *typed, "--dry-run", "--db", project_db, env=settings)
    assert f"asks {attacker.url}, key from GITHUB_TOKEN" in err
    with connect(project_db) as db:
        db.execute("UPDATE runs SET judge = ?", ('{"spec": "openai:x", "base_urls": 3}',))
    (row,) = json.loads(ran("runs", "list", "--format", "json", "--db", project_db)[1])["rows"]
    assert row["address"] == "cannot be read"


def test_what_the_user_typed_is_consent(project_db: Path, attacker: Stub, settings: dict[str, str]) -> None:
    with connect(project_db) as db:
        make_project(db)
    judge = ("--judge", "openai:gpt-4o", "--base-url", attacker.url, "--api-key-env", "GITHUB_TOKEN")
    words = ("run", "pointwise", "-p", "films", *judge, "--limit", 2, "--plan-only", "--db", project_db)
    assert ran(*words, env=settings)[0] == 0
    code, _, err = ran("runs", "resume", 1, "--db", project_db, env=settings)
    assert (code, got(attacker)) == (0, {"GITHUB_TOKEN"}), err


def test_settings_that_cannot_be_written_do_not_stop_what_was_typed(
    project_db: Path, attacker: Stub, settings: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "settings").write_text("a file, not a folder", encoding="utf-8")
    with connect(project_db) as db:
        make_project(db)
    judge = ("--judge", "openai:gpt-4o", "--base-url", attacker.url, "--api-key-env", "GITHUB_TOKEN")
    words = ("run", "pointwise", "-p", "films", *judge, "--limit", 2, "--db", project_db)
    code, _, err = ran(*words, env=settings)
    assert (code, got(attacker)) == (0, {"GITHUB_TOKEN"}), err
    assert ran("runs", "retry", 1, "--db", project_db, env=settings)[0] == 1


# ---- the app


async def _answer(pilot: Pilot[Any], key: str, attacker: Stub) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
    text = shown(pilot)
    assert attacker.heads == []
    for named in (*STOLEN, attacker.url.removeprefix("http://")):
        assert named in text
    await press(pilot, key)


@pytest.mark.parametrize("key", ["n", "y"])
async def test_the_app_asks_before_it_resumes(project_db: Path, attacker: Stub, key: str) -> None:
    plant(project_db, attacker.url)
    async with running(project_db) as pilot:
        monitor = MonitorScreen(1)
        await pilot.app.push_screen(monitor)
        await until(pilot, lambda: monitor.view is not None)
        assert "GITHUB_TOKEN" in shown(pilot)
        await press(pilot, "p")
        await _answer(pilot, key, attacker)
        if key == "y":
            await until(pilot, lambda: monitor.run_status == "done")
    assert got(attacker) == (set(STOLEN) if key == "y" else set())


@pytest.mark.parametrize("key", ["n", "y"])
async def test_the_app_asks_before_it_starts_with_a_judge_of_the_file(
    project_db: Path, attacker: Stub, key: str
) -> None:
    plant(project_db, attacker.url)
    async with running(project_db) as pilot:
        screen = await open_form(pilot)
        await until(pilot, lambda: screen.estimated is not None)
        assert all(name in shown(pilot) for name in STOLEN)
        await press(pilot, "f5")
        if not isinstance(pilot.app.screen, Confirm) or "costs money" in shown(pilot):
            await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
            await press(pilot, "y")
        await until(pilot, lambda: "Send" in shown(pilot) and isinstance(pilot.app.screen, Confirm))
        await _answer(pilot, key, attacker)
        if key == "y":
            await until(pilot, lambda: isinstance(pilot.app.screen, MonitorScreen))
            monitor = pilot.app.screen
            await until(pilot, lambda: monitor.run_status == "done")
        else:
            await until(pilot, lambda: "This cannot run" in shown(pilot))
    assert got(attacker) == (set(STOLEN) if key == "y" else set())


# ---- spellings


OWN = "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({"base_urls": ()}, ""),
        ({"base_urls": (OWN,)}, ""),
        ({"base_urls": ("https://API.OpenAI.com:443/v1",)}, ""),
        ({"base_urls": (), "api_key_env": "AWS_SECRET_ACCESS_KEY"}, "https://api.openai.com"),
        ({"base_urls": (), "header_env": (("X-A", "GITHUB_TOKEN"),)}, "https://api.openai.com"),
        ({"base_urls": ("http://api.openai.com/v1",)}, "http://api.openai.com"),
        ({"base_urls": ("https://api.openai.com:444/v1",)}, "https://api.openai.com:444"),
        ({"base_urls": ("https://api.openai.com./v1",)}, "https://api.openai.com."),
        ({"base_urls": ("https://api.openai.com.evil.example",)}, "https://api.openai.com.evil.example"),
        ({"base_urls": ("https://evil.example/api.openai.com",)}, "https://evil.example"),
        ({"base_urls": ("https://аpi.openai.com/v1",)}, "https://xn--pi-6kc.openai.com"),
        ({"base_urls": (OWN, "https://evil.example")}, "https://evil.example"),
        ({"base_urls": ("http://[::1]:8080",)}, "http://[::1]:8080"),
        ({"base_urls": ("http://[0:0:0:0:0:0:0:1]:8080",)}, "http://[::1]:8080"),
        ({"base_urls": ("http://127.0.0.1:8080",)}, "http://127.0.0.1:8080"),
        ({"base_urls": ("http://127.0.0.1:8080",), "api_key_env": "NOT_SET_KEY"}, ""),
    ],
)
def test_a_spelling_of_a_server_is_no_way_around(changes: dict[str, Any], asked: str) -> None:
    spec = JudgeSpec(spec="openai:gpt-4o", **changes)
    if not asked:
        check_trust(spec)
        return
    with pytest.raises(UntrustedError) as refused:
        check_trust(spec)
    assert {pair.server for pair in refused.value.sent} == {asked}


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com@evil.example/",
        "https://evil.example#@api.openai.com",
        "https://evil.example\\@api.openai.com",
        "https://api.openai.com%2eevil.example",
    ],
)
def test_an_address_that_two_readers_understand_differently_is_none(url: str) -> None:
    with pytest.raises(RecjudgeError):
        check_trust(JudgeSpec(spec="openai:gpt-4o", base_urls=(url,)))


def test_loopback_without_a_secret_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    for spec in ("openai:m", "ollama:m"):
        check_trust(JudgeSpec(spec=spec, base_urls=("http://127.0.0.1:8080",)))


def test_the_server_of_the_environment_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.example/v1")
    check_trust(JudgeSpec(spec="openai:m"))
    with pytest.raises(UntrustedError):
        check_trust(JudgeSpec(spec="openai:m", api_key_env="GITHUB_TOKEN"))


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("https://bedrock-runtime.us-east-1.amazonaws.com", False),
        ("https://bedrock-runtime.us-east-1.amazonaws.com.evil.example", True),
        ("https://bedrock-runtime.s3-us-west-2.amazonaws.com", True),
        ("http://bedrock-runtime.us-east-1.amazonaws.com", True),
        ("http://127.0.0.1:9", True),
    ],
)
def test_the_credentials_of_aws_go_to_aws(url: str, asked: bool) -> None:
    check_trust(JudgeSpec(spec="bedrock:m"))
    spec = JudgeSpec(spec="bedrock:m", base_urls=(url,))
    if asked:
        with pytest.raises(UntrustedError, match="AWS credentials"):
            check_trust(spec)
    else:
        check_trust(spec)


@pytest.mark.parametrize(
    ("host", "server", "same"),
    [
        ("evil.example", "https://evil.example:444", True),
        ("evil.example:444", "https://evil.example:444", True),
        ("EVIL.example/", "http://evil.example", True),
        ("https://evil.example", "http://evil.example", False),
        ("evil.example", "https://not-evil.example", False),
        ("example", "https://evil.example", False),
        ("::1", "http://[::1]:80", True),
        ("[::1]:80", "http://[::1]:80", True),
        ("", "https://evil.example", False),
    ],
)
def test_a_host_names_its_own_server_alone(host: str, server: str, same: bool) -> None:
    assert Sent("KEY", server_of(server)).is_at(host) is same


def test_two_writers_lose_no_decision() -> None:
    def write(number: int) -> None:
        for n in range(5):
            remember([Sent("KEY", f"https://{number}-{n}.example")])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads((config_dir() / "trusted.json").read_text(encoding="utf-8"))) == 20


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}", b'["KEY"]', b'[["KEY", 3], ["KEY"]]', b"\xff", b"[" * 100_000]
)
def test_a_damaged_file_confirms_nothing_and_is_replaced(content: bytes) -> None:
    path = config_dir() / "trusted.json"
    path.parent.mkdir()
    path.write_bytes(content)
    spec = JudgeSpec(spec="openai:m", base_urls=("http://evil.example",))
    with pytest.raises(UntrustedError) as refused:
        check_trust(spec)
    remember(refused.value.sent)
    check_trust(spec)
