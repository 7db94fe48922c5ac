"""Runs of a file: combinations planned and resumed as one, one table at the end, and what cannot be read is named."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recjudge_tui.store.database import Database
from tests.support.runs import make_project, ran
from tests.support.servers.counts import request_count
from tests.support.servers.process import start
from tests.support.verdicts import Project, give

FILE = """
protocols = ["pointwise", "pairwise"]
judges = ["rules", "random"]
prompts = ["pairwise-media", "pairwise-shopping"]
truth = "anna"
[options]
top = 4
[options.pairwise]
no-swap = true
"""


@pytest.fixture
def db(db: Database) -> Database:
    make_project(db, users=6)
    return db


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "e.toml"
    path.write_text(text, encoding="utf-8")
    return path


def runs_of(db: Database) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(db.path)) as file:
        return file.execute(
            """SELECT ru.protocol, json_extract(ru.judge, '$.spec'), p.name
               FROM runs ru JOIN prompts p ON p.id = ru.prompt_id ORDER BY ru.id"""
        ).fetchall()


def test_all_combinations_run_once_and_end_in_one_table(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    words = ("run", path, "-p", "films", "--db", db.path, "--format", "json")
    code, _, err = ran(*words, "--dry-run")
    assert (code, runs_of(db)) == (0, [])
    assert "together:" in err
    code, out, _ = ran(*words)
    assert code == 0
    assert sorted(runs_of(db)) == sorted(
        [("pointwise", judge, "pointwise-media") for judge in ("rules", "random")]
        + [
            ("pairwise", judge, f"pairwise-{kind}")
            for judge in ("rules", "random")
            for kind in ("media", "shopping")
        ]
    )
    rows = json.loads(out)["rows"]
    assert [row["state"] for row in rows] == ["done"] * 6
    assert {(row["protocol"], row["judge"]) for row in rows} == {
        (protocol, judge) for protocol in ("pointwise", "pairwise") for judge in ("rules", "random")
    }
    # nothing is asked twice, and the options of one protocol are its own
    code, again, err = ran(*words)
    assert (code, json.loads(again)["rows"], err.count("exists (done)")) == (0, rows, 6)
    with closing(sqlite3.connect(db.path)) as file:
        swaps = file.execute(
            "SELECT DISTINCT protocol, json_extract(settings, '$.swap') FROM runs"
        ).fetchall()
    assert sorted(swaps) == [("pairwise", 0), ("pointwise", 1)]


def test_the_table_compares_with_people(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    words = ("run", path, "-p", "films", "--db", db.path, "--format", "json")
    assert ran(*words)[0] == 0
    cases = db.column("SELECT id FROM cases WHERE kind = 'list' ORDER BY id")
    give(Project(db, 1), "anna", {case: float(at % 3) for at, case in enumerate(cases)})
    table = json.loads(ran(*words)[1])
    by_rater = {row["rater"]: row for row in table["rows"] if row["protocol"] == "pointwise"}
    assert by_rater["rules"]["n"] == len(cases)
    assert by_rater["rules"]["stat"] == "qwk"
    assert "pointwise: " in table["answer"]
    assert "agrees most with people" in table["answer"]


def test_a_judge_that_cannot_answer_does_not_keep_the_others_from_it(db: Database, tmp_path: Path) -> None:
    with start("openai_api", "--faults", "401:1", "--fault-attempts", 9) as server:
        path = written(
            tmp_path,
            f"""
            protocols = ["pointwise"]
            judges = [{{spec = "openai:hash-judge", base_urls = ["{server.url}/v1"]}}, "rules"]
            """,
        )
        code, out, err = ran("run", path, "-p", "films", "--db", db.path, "--format", "json")
        assert request_count(server) > 0
    assert code == 1
    assert "run 1 goes no further" in err
    assert [judge for _, judge, _ in runs_of(db)] == ["openai:hash-judge", "rules"]
    assert [row["done"] for row in json.loads(out)["rows"]] == [0, 12]


def test_a_command_is_saved_and_runs_the_same(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "saved.toml"
    given = (
        "run",
        "pairwise",
        "-p",
        "films",
        "--judge",
        "rules",
        "--top",
        3,
        "--no-swap",
        "--sample",
        4,
        "--db",
        db.path,
    )
    code, _, err = ran(*given, "--save", path)
    assert code == 0
    assert f"recjudge run {path}" in err
    assert ran(*given, "--save", path)[0] == 2
    assert ran("run", path, "-p", "films", "--db", db.path)[0] == 0
    code, _, err = ran(*given)
    assert "already judged" in err
    assert len(runs_of(db)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("protocols = [", "cannot be read"),
        ('judges = ["rules"]', "“protocols” does not fit"),
        ('protocols = ["pairwise"]', "“judges” does not fit"),
        ('protocols = ["pairs"]\njudges = ["rules"]', "it names pairs"),
        ('protocols = ["pairwise"]\njudges = ["nobody:x"]', "nobody"),
        ('protocols = ["pairwise"]\njudges = [3]', "“judges” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nprompts = ["no-such"]', "no-such"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nprompts = ["pointwise-media"]', "none of the protocols"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nbudget = "5"', "“budget” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\nbuget = 5', "“buget” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\ntpo = 5', "“tpo” is no option of a run"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\ntop = "many"', "“top_k” does not fit"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\nshots = "one"', "“shots” is no option of pairwise"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\nbudget = 1', "one for all runs"),
        ('protocols = ["pairwise"]\njudges = ["rules"]\n[options]\nsystems = ["zzz"]', "zzz"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_and_nothing_is_planned(
    db: Database, tmp_path: Path, text: str, said: str
) -> None:
    code, out, err = ran("run", written(tmp_path, text), "-p", "films", "--db", db.path)
    assert code in (1, 2), err
    assert said in err
    assert "unexpected" not in err
    assert (out, runs_of(db)) == ("", [])


def test_nothing_else_is_given_with_a_file(db: Database, tmp_path: Path) -> None:
    path = written(tmp_path, FILE)
    code, _, err = ran("run", path, "-p", "films", "--judge", "rules", "--db", db.path)
    assert code == 2
    assert "leave out --judge" in err
    code, _, err = ran("run", tmp_path / "none.toml", "-p", "films", "--db", db.path)
    assert (code, "cannot be read" in err) == (2, True)
