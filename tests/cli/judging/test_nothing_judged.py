"""Runs in which no call is answered: they fail, and say why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recjudge_tui.store.database import Database
from tests.support.runs import make_project, ran
from tests.support.servers.process import start


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=2)
    return db


@pytest.fixture(scope="module")
def refusing() -> Iterator[list[str]]:
    """A judge that refuses every request, as words of a command."""
    with start("openai_api", "--faults", "refusal:1", "--fault-attempts", 99) as server:
        yield ["--judge", "openai:hash-judge", "--base-url", server.url]


@pytest.mark.parametrize(
    "words",
    [("run", "pointwise"), ("run", "saer", "--profile", "none"), ("robustness", "injected", "--seed", "1")],
)
def test_the_command_fails_and_says_why(db: Database, refusing: list[str], words: tuple[str, ...]) -> None:
    code, _, err = ran(*words, "-p", "films", *refusing, "--db", db.path)
    assert code == 1
    assert "4 calls failed (refusal), for instance: " in err
    assert err.endswith(
        "nothing was judged; when the cause is removed, ask again with: recjudge runs retry 1\n"
    )
    assert ran("runs", "retry", 1, "--db", db.path)[0] == 1
