from __future__ import annotations

import os
from pathlib import Path

import pytest

from recjudge_tui.errors import StoreError, UsageError
from recjudge_tui.reports.doctor import (
    Check,
    Surroundings,
    local_checks,
    server_checks,
)
from recjudge_tui.steps import Step
from recjudge_tui.store.schema import FileReport, RunningRun, connect
from tests.support.servers.process import ServerProcess
from tests.support.stub_server import answer, serving

PLANTED = "planted-key-0123456789"
SOUND = FileReport(size=2048, journal="wal", faults=(), running=(), key_names=("MY_KEY", "BROKEN"))


@pytest.fixture(autouse=True)
def _no_server_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")


@pytest.fixture
def here(project_db: Path) -> Surroundings:
    return Surroundings(
        path=project_db, stale=(RunningRun(7, "films", "llm", 12, "host|1|2|3", None),),
        prices=project_db.with_name("prices.toml"), prices_fault=None, environment={"TERM": "xterm-256color"},
        encoding="utf-8", size=(120, 40), mounts=f"/dev/sda {project_db.parent} ext4 rw 0 0\n",
    )  # fmt: skip


def checked(here: Surroundings, looked: FileReport | StoreError | None = SOUND) -> dict[str, Check]:
    return {check.what: check for check in local_checks(here, looked)}


def servers() -> dict[str, Check]:
    return {check.what: check for check in server_checks()}


def test_what_works_and_what_deserves_a_look(here: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", PLANTED)
    monkeypatch.setenv("BROKEN", f"two words {PLANTED}")
    here.path.touch()
    found = checked(here)
    assert {"Python", "SQLite", "proxy", "certificates", "extra ray"} <= set(found)
    assert {what for what, check in found.items() if check.state != "ok"} == {"run 7", "key BROKEN"}
    assert found["run 7"].next_step == Step("resume", {"run": "7"})
    assert found["terminal"].detail == "utf-8, 256 colours, 120x40"
    assert found["file system"].detail == "ext4: a local disk"
    assert (found["key MY_KEY"].detail, found["key OPENAI_API_KEY"].detail) == ("set", "not set")
    assert "built-in list prices" in found["prices"].detail
    assert PLANTED not in str(found)
    here.prices.touch()
    odd = here._replace(
        mounts=f"box:/x {here.path.parent} nfs4 rw 0 0\n", prices_fault=UsageError("unreadable")
    )
    assert checked(here)["prices"].detail == str(here.prices)
    assert [checked(odd)[what].state for what in ("file system", "prices")] == ["warning", "problem"]
    assert "unknown" in checked(here._replace(mounts=None))["file system"].detail


@pytest.mark.parametrize(
    ("looked", "state", "words"),
    [
        (SOUND, "ok", "2.0 KiB, intact, journal wal"),
        (SOUND._replace(size=5), "ok", ": 5 bytes, intact"),
        (SOUND._replace(faults=("row 7 missing",)), "problem", "damaged: row 7 missing"),
        (None, "ok", "not created yet"),
        (
            StoreError("a.db was made by another version of recjudge", "It is at schema 9."),
            "problem",
            "another version",
        ),
    ],
)
def test_the_database_is_checked(
    here: Surroundings, looked: FileReport | StoreError | None, state: str, words: str
) -> None:
    found = checked(here, looked)["database"]
    assert (found.state, words in found.detail) == (state, True), found


def test_a_database_that_can_only_be_read_still_gives_reports(
    here: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(here.path).close()
    below = checked(here._replace(path=here.path / "deeper.db"), None)["database"]
    assert (below.state, "cannot be written" in below.detail) == ("problem", True)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    found = checked(here)["database"]
    assert (found.state, "reports work" in found.detail) == ("warning", True), found


def test_servers_that_answer_and_that_do_not(
    openai_server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{openai_server.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    found = servers()
    assert (
        found["server of OPENAI_BASE_URL"].state,
        "1 model" in found["server of OPENAI_BASE_URL"].detail,
    ) == ("ok", True)
    assert found["server of ANTHROPIC_BASE_URL"].state == "warning"
    assert found["server of Ollama"].state == "warning", "it was named by OLLAMA_HOST"


def test_no_key_is_sent_and_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", PLANTED)
    with serving(lambda line, number: answer(401, {"error": {"message": PLANTED}})) as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        found = servers()["server of OPENAI_BASE_URL"]
    assert (found.state, "it requires a key" in found.detail) == ("ok", True)
    assert PLANTED not in str(stub.heads) + str(found)


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recjudge_tui.reports.doctor.WITHIN_S", 0.2)
    with serving(lambda line, number: b"") as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        monkeypatch.setenv("OLLAMA_HOST", stub.url)
        found = server_checks()
    assert [check.state for check in found] == ["warning", "warning"]
