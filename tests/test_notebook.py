"""The Python face: reports as records, verdicts in chunks, judging with and without a running event loop."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

from recjudge_tui import NotebookProject, open_project
from recjudge_tui.errors import NotFoundError, StoreError, UsageError
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from tests.support.runs import make_project, ran
from tests.support.servers.process import ROOT
from tests.support.stub_server import answer, completion, serving


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("face") / "recjudge.db"
    with connect(path) as db:
        make_project(db, users=6)
    with open_project(db=path, write=True) as films:
        assert films.judge("pairwise", "rules").done == 12
        assert films.judge("pointwise", "rules", rater="random words", limit=4).state == "done"
    return path


@pytest.fixture
def films(judged: Path) -> NotebookProject:
    return open_project("films", judged)


def rows_of(judged: Path, *words: str) -> list[dict[str, object]]:
    _, out, _ = ran(*words, "-p", "films", "--db", judged, "--format", "json")
    rows: list[dict[str, object]] = json.loads(out)["rows"]
    return rows


def test_a_report_is_what_the_command_prints(films: NotebookProject, judged: Path) -> None:
    with films:
        board = films.leaderboard("pairwise", method="winrate")
        assert list(board) == rows_of(judged, "leaderboard", "--protocol", "pairwise", "--method", "winrate")
        assert list(films.raters()) == rows_of(judged, "rater", "list")
        assert {row["system"] for row in films.metrics(3, metrics=("ndcg",), systems=("als",))} == {"als"}
        assert [row["id"] for row in films.runs()] == [2, 1]
        assert films.flags(by="activity").title
        assert "needs a second rater" in films.agreement("pairwise").notes[0]


def test_a_report_is_a_sequence_a_text_and_a_page(films: NotebookProject) -> None:
    with films:
        raters = films.raters()
    assert (raters[0]["name"], [r["name"] for r in raters[:1]], len(raters)) == (
        "random words",
        ["random words"],
        2,
    )
    assert set(raters[-1]) == set(raters.columns)
    assert "rules" in repr(raters)
    assert "<table" in raters._repr_html_()


def test_arrow_takes_a_report_without_records(films: NotebookProject) -> None:
    with films:
        board = films.leaderboard("pairwise")
    table = pyarrow.table(board)
    assert table.column_names == list(board.columns)
    assert table.to_pylist() == list(board)


def test_verdicts_come_in_chunks_with_the_columns_of_the_export(films: NotebookProject, judged: Path) -> None:
    with films:
        chunks = list(films.verdicts(chunk=4))
        assert [len(chunk) for chunk in chunks] == [4, 4, 4, 2]
        assert [len(chunk) for chunk in films.verdicts("judge:rules")] == [6]
        with pytest.raises(UsageError):
            next(films.verdicts(chunk=0))
    _, out, _ = ran("export", "-p", "films", "verdicts", "--format", "csv", "-o", "-", "--db", judged)
    exported = list(csv.DictReader(io.StringIO(out)))
    assert [str(row["case_id"]) for chunk in chunks for row in chunk] == [row["case_id"] for row in exported]
    assert list(chunks[0][0]) == list(exported[0])


def test_reading_changes_nothing_and_judging_must_be_asked_for(films: NotebookProject, judged: Path) -> None:
    before = judged.read_bytes()
    with films:
        list(films.verdicts())
        with pytest.raises(UsageError, match="read-only"):
            films.judge("pointwise", "rules")
    assert judged.read_bytes() == before


async def test_judging_where_an_event_loop_runs(project_db: Path) -> None:
    with connect(project_db) as db:
        make_project(db)
    seen = []
    assert asyncio.get_running_loop()
    with open_project("films", project_db, write=True) as films:
        result = films.judge("pointwise", "rules", progress=seen.append, seed=3)
    assert (result.state, result.done, result.failed) == ("done", result.calls, 0)
    assert seen[-1].done == result.done


def test_headers_of_the_users_own_are_sent_and_never_stored(
    project_db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", "planted-value-of-the-gateway")
    with connect(project_db) as db:
        make_project(db)
    said = completion('{"reasoning": "planted-value-of-the-gateway", "winner": "Set 1"}')
    with (
        serving(lambda line, _: answer(200, said) if "POST" in line else answer(404, {})) as stub,
        open_project("films", project_db, write=True) as films,
    ):
        headers = {"x-gateway": "GATEWAY_KEY"}
        result = films.judge(
            "pairwise", "openai:m", limit=1, base_urls=[f"{stub.url}/v1"], header_env=headers
        )
        assert result.done == 2
        (judge,) = films.db.rows("SELECT judge FROM runs")
    assert all("x-gateway: planted-value" in head for head in stub.heads)
    assert json.loads(judge["judge"])["header_env"] == [["x-gateway", "GATEWAY_KEY"]]
    assert b"planted-value" not in b"".join(path.read_bytes() for path in project_db.parent.glob("*.db*"))


def test_which_project(judged: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no project “books”"):
        open_project("books", judged)
    with pytest.raises(StoreError, match="no database at"):
        open_project(db=tmp_path / "none.db")
    with connect(tmp_path / "two.db") as db:
        create_project(db, "a")
        create_project(db, "b")
    with pytest.raises(UsageError) as several:
        open_project(db=tmp_path / "two.db")
    assert "a, b" in several.value.cause


def test_an_older_file_is_not_changed_by_reading(project_db: Path) -> None:
    with connect(project_db) as db:
        make_project(db)
        db.execute("INSERT INTO migrations VALUES (2, '0002_older.sql', '', '')")
    before = project_db.read_bytes()
    with pytest.raises(StoreError, match="another version of recjudge"):
        open_project("films", project_db)
    assert project_db.read_bytes() == before


def test_the_package_alone_loads_nothing_of_it() -> None:
    program = "import sys, recjudge_tui; print([m for m in sys.modules if m.startswith('recjudge_tui.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_page_about_it_runs_as_it_stands(
    judged: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copied = tmp_path / "recjudge.db"
    copied.write_bytes(judged.read_bytes())
    monkeypatch.setenv("RECJUDGE_DB", str(copied))
    page = (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(programs) == 2
    program = "\n".join(programs).replace("limit=20", "limit=2").replace("synthetic-shop", "films")
    program = program.replace('"cooccurrence", "text"', '"als", "pop"')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "3 done 4 0 0.0"
