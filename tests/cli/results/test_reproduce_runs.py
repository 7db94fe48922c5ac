"""A paper's whole experiment by one command: planned, asked for once, resumed, and shown in the paper's tables."""

from __future__ import annotations

import csv
import io

import pytest

from recjudge_tui.store.database import Database
from tests.support.runs import make_project, ran


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=6)
    return db


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_saers_five_runs_fill_its_tables_and_are_not_made_twice(db: Database) -> None:
    words = ("reproduce", "saer", "-p", "films", "--judge", "random", "--db", db.path, "--format", "csv")
    code, out, err = ran(*words, "--dry-run")
    assert (code, out, db.value("SELECT count(*) FROM runs")) == (0, "", 0)
    assert err.count("random") >= 5
    assert "together:" in err
    code, out, err = ran(*words)
    assert code == 0
    assert db.pairs("SELECT protocol, count(*) FROM runs GROUP BY protocol") == {
        "pointwise": 1, "pairwise": 1, "adversarial": 3,
    }  # fmt: skip
    own = [row for row in rows(out) if row["project"] == "films"]
    assert {row["table"] for row in own} >= {"Table 1", "Table 2", "Table 3"}
    assert {row["judge"].partition(",")[0] for row in own if row["table"] == "Table 3"} == {
        "random generic", "random overspecified", "random saer",
    }  # fmt: skip
    code, again, err = ran(*words)
    assert (code, again, err.count("exists (done)")) == (0, out, 5)
    assert db.value("SELECT count(*) FROM runs") == 5


def test_what_the_project_cannot_feed_is_named(db: Database) -> None:
    words = ("reproduce", "arena", "-p", "films", "--judge", "random", "--db", db.path, "--format", "csv")
    code, _, err = ran(*words, "--dry-run")
    assert code == 0
    assert "left out: arena: arena as published needs a baseline" in err
    systems = db.column("SELECT DISTINCT system FROM slates ORDER BY 1")
    code, out, err = ran(*words, "--baseline", systems[0])
    assert code == 0, err
    assert "left out" not in err
    own = [row for row in rows(out) if row["project"] == "films" and row["table"] == "Table 2"]
    five = {"random", *(f"random run {number}" for number in range(2, 6))}
    assert {row["judge"] for row in own} == five
    made = db.pairs("SELECT protocol, count(*) FROM runs GROUP BY protocol")
    assert made == {"arena": 5, "absolute": 1}
    assert ran(*words, "--baseline", systems[0])[1] == out
    assert db.pairs("SELECT protocol, count(*) FROM runs GROUP BY protocol") == made
    code, _, err = ran("reproduce", "zhang2024", "-p", "films", "--judge", "random", "--db", db.path)
    assert code in (1, 2)
    assert "no cases" in err or "explanation" in err
