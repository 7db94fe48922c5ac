"""A judge's passport: figures one can count by hand, what was not measured, and names that bite."""

from __future__ import annotations

import pytest

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.runs.engine import work
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.runs import make_project, planned, server_judge
from tests.support.servers.process import start


def rows(table: Table, part: str, figure: str | None = None) -> list[Row]:
    return [row for row in table.rows if row["part"] == part and figure in (None, row["figure"])]


def the(table: Table, part: str, figure: str, **where: str) -> Row:
    found = [r for r in rows(table, part, figure) if all(r.get(k) == v for k, v in where.items())]
    assert len(found) == 1, found
    return found[0]


def passport(db: Database, rater: str) -> Table:
    return passport_table(db, project_id(db, "films"), rater)


def passport_table(db: Database, identity: int, rater: str) -> Table:
    return table_of(Opened.numbered(db, identity), "passport", rater=rater)


def test_equal_answers_are_counted_over_pairs_of_repeats_also_as_another_rater(db: Database) -> None:
    make_project(db, users=8)
    with start("openai_api", "--by-seed") as server:
        judge = server_judge(server.url)
        work(db.path, planned(db, judge, rater="once"))
        work(db.path, planned(db, judge, rater="thrice", repeats=3))
    said: dict[int, list[float]] = {}
    for row in db.rows(
        "SELECT k.case_id, a.value FROM calls k JOIN answers a ON a.call_id = k.id WHERE k.run_id = 2"
    ):
        said.setdefault(row[0], []).append(row[1])
    equal = [sum(v[i] == v[j] for i, j in ((0, 1), (0, 2), (1, 2))) / 3 for v in said.values()]
    for rater, note in (("once", "same judge and prompt, as thrice"), ("thrice", "")):
        found = the(passport(db, rater), "Self-consistency", "equal answers")
        assert found["value"] == pytest.approx(sum(equal) / 16)
        assert (found["n"], found["note"]) == (16, note)
    assert 0 < sum(equal) < 16


def test_failures_latency_and_the_served_model_of_a_real_server(db: Database) -> None:
    make_project(db, users=12)
    with start("openai_api", "--delay-ms", 20, "--faults", "refusal:0.3") as server:
        work(db.path, planned(db, server_judge(server.url), use_cache=False))
    table = passport(db, "openai:hash-judge")
    failed = db.value("SELECT count(*) FROM calls WHERE state = 'failed'")
    assert 0 < failed < 24
    assert the(table, "Failures", "of them refusal")["value"] == pytest.approx(failed / 24)
    median, late = (
        the(table, "Price and latency", f"latency, {w}")["value"] for w in ("median", "95th percentile")
    )
    assert 0.02 <= median <= late
    assert the(table, "Price and latency", "price of 1,000 cases")["value"] == 0.0, "a server of one's own"
    assert "hash-judge" in str(the(table, "Judge", "served model")["text"])
    digest = db.value("SELECT digest FROM prompts WHERE name = 'pointwise-media'")
    assert the(table, "Judge", "prompt")["text"] == f"pointwise-media@1 (SHA-256 {digest[:12]})"
