"""Labels that were exported come back as they were, whatever a spreadsheet would have made of them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.cli.app import main
from recjudge_tui.importers.load import import_files
from recjudge_tui.project import Project
from recjudge_tui.reports.common.writers.data import EXPORT_FORMATS
from recjudge_tui.reports.exports import export
from recjudge_tui.store.database import Database
from recjudge_tui.store.exports import label_rows
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect

RISKY = (
    "=1+1", "@SUM(A1)", "+49 30 1234", "-2+3", "-5", "'=1+1", "''=1", "'quoted'", "＝1", '=HYPERLINK("http://x")',
)  # fmt: skip
HEADER = ("rater", "user_id", "system", "system_a", "system_b", "value", "note", "protocol")


def _labels(text: str) -> list[tuple[str, ...]]:
    other = "~" + text
    return [
        (text, text, text, "", "", "Good", text, "pointwise"),
        (text, text, "", min(text, other), max(text, other), "B", f" {text}", "pairwise"),
        ("anna", f"u {text}", text, "", "", "0.25", "", "absolute"),
    ]


def _all(db: Database, project: str) -> list[tuple[Any, ...]]:
    return sorted(label_rows(db, project_id(db, project)))


def _import(db: Database, project: str, path: Path) -> None:
    import_files(db, project, [path], "labels")


@pytest.fixture
def given(tmp_path: Path) -> Path:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADER)
    writer.writerows(row for text in RISKY for row in _labels(text))
    path = tmp_path / "given.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("fmt", ["csv", "jsonl"])
def test_labels_come_back(given: Path, tmp_path: Path, fmt: Any) -> None:
    exported = tmp_path / f"labels.{fmt}"
    with connect(tmp_path / "a.db") as db:
        _import(db, "first", given)
        before = _all(db, "first")
        assert {row[0] for row in before} == {*RISKY, "anna"}
        written = export(Project.named(db, "first"), "labels", fmt, exported)
        assert written.rows == len(before) == 3 * len(RISKY)
        assert (written.defused > 0) == (fmt == "csv")
        _import(db, "second", exported)
        assert _all(db, "second") == before


@pytest.mark.parametrize("what", ["verdicts", "flags", "cases", "labels", "calls"])
def test_every_export_says_how_many_cells_it_changed(
    given: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    path = tmp_path / "a.db"
    with connect(path) as db:
        _import(db, "=films", given)
    with pytest.raises(SystemExit) as done:
        main(["export", "-p", "=films", what, "--db", str(path)])
    out, err = capsys.readouterr()
    assert done.value.code == 0
    rows = list(csv.reader(io.StringIO(out, newline="")))[1:]
    assert ("apostrophe" in err) == bool(rows)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "+"))]
    assert what in ("flags", "calls") or rows


def test_flags_and_occasions_come_back(tmp_path: Path) -> None:
    """Without the occasion, the second import could not tell which of the two lists was judged."""
    lists, labels = tmp_path / "lists.csv", tmp_path / "labels.csv"
    lists.write_text(
        "user_id,system,item_id,rank,context,served_at\nu,s,a,1,home,2024-05-01\nu,s,b,1,mail,\n",
        encoding="utf-8",
    )
    labels.write_text(
        "rater,user_id,system,value,context,flags\nanna,u,s,Good,home,a:duplicate\nanna,u,s,Poor,mail,\n",
        encoding="utf-8",
    )
    for ending in ("csv", "jsonl"):
        exported = tmp_path / f"exported.{ending}"
        with connect(tmp_path / f"{ending}.db") as db:
            for project in ("first", "second"):
                import_files(db, project, [lists], "lists")
            _import(db, "first", labels)
            export(Project.named(db, "first"), "labels", "csv" if ending == "csv" else "jsonl", exported)
            _import(db, "second", exported)
            assert _all(db, "second") == _all(db, "first")
            assert {(row[7], row[11], *row[12:14]) for row in _all(db, "second")} == {
                ("Good", '[{"item_id":"a","issue":"duplicate","reason":""}]', "home", "2024-05-01T00:00:00+00:00"),
                ("Poor", "", "mail", ""),
            }  # fmt: skip
            assert db.value("SELECT count(*) FROM cases WHERE slate_a IS NULL") == 0


def test_formats() -> None:
    assert set(EXPORT_FORMATS) == {"csv", "jsonl", "json"}


# each text is a file; the letters, numbers and words of answers are also names of systems
KINDS_OF_LABELS = {
    "numbers": "rater,user_id,value,aspect,scale\nanna,u1,7,tempo,0-10\nanna,u2,2.5,tempo,0-10\nben,u1,,tempo,0-10\n",
    "small numbers": "rater,user_id,value,aspect,scale\nanna,u1,0.5,tempo,\"[1e-07, 1]\"\n",
    "words": "rater,user_id,value,scale\nanna,u1,no,no < maybe < yes\nben,u1,yes,no < maybe < yes\n",
    "categories": "rater,user_id,value,scale\nanna,u1,red,red | green | blue\nben,u1,blue,red | green | blue\n",
    "words with marks": 'rater,user_id,value,scale\nanna,u1,a|b,"{""categories"": [""a|b"", ""c<d"", ""=1""]}"\n',
    "failures": "rater,user_id,system,system_a,system_b,value,state\ngpt-4,u1,s,,,,failed\ngpt-4,u1,,s,t,,failed\n"
    "gpt-4,u2,s,,,Good,ok\nanna,u2,,s,t,s,\n",
    "games": "rater,user_id,system_a,system_b,verdict_1,verdict_2,note,aspect\n"
    "gpt-4,u1,s,t,model_1,model_1,=n,overall\ngpt-4,u2,s,t,model_1,model_2,,overall\ngpt-4,u3,t,s,tie,error,,overall\n"
    "gpt-4,u4,t,s,error,failed,,overall\ngpt-4,u5,t,s,model_2,,,tempo\ngpt-4,u6,s,t,,failed,,overall\n",
    "games of 1": "rater,user_id,system_a,system_b,shown_first,value\ngpt-4,u1,1,model 1,1,first\n"
    "gpt-4,u1,1,model 1,model 1,first\ngpt-4,u2,-1,0,0,second\ngpt-4,u3,A,B,A,first\ngpt-4,u4,tie,0,tie,tie\n",
    "letters": "rater,user_id,system_a,system_b,value\nanna,u1,B,C,C\nanna,u2,B,C,A\nanna,u3,Tie,x,draw\nben,u4,A,1,A\n"
    "ben,u5,1,A,1\nben,u6,-1,B,B\n",
    "counts": "rater,system_a,system_b,wins,ties,losses,failed\ngpt-4,s,t,3,1,2,1\n",
    "adversarial": "rater,user_id,system_a,system_b,value\nanna,u1,foreign:s,own:s,own:s\n",
    "explanations": "rater,user_id,item_id,system,aspect,value,rater_kind\nu1,u1,i,s,satisfaction,3.75,ground_truth\n",
}  # fmt: skip


def _everything(db: Database, project: str) -> dict[str, list[tuple[Any, ...]]]:
    """All that labels store, without ids."""
    where = (project_id(db, project),)
    case = "r.name, r.kind, c.user_id, c.item_id, c.system_a, c.system_b, c.context, v.protocol, v.aspect"
    verdicts = "verdicts v JOIN raters r ON r.id = v.rater_id JOIN cases c ON c.id = v.case_id"
    queries = {
        "verdicts": f"SELECT {case}, v.state, v.value, v.label, v.rule, v.order_consistent, v.note FROM {verdicts}"
        " WHERE r.project_id = ?",
        "games": f"SELECT {case}, g.list_order, g.value FROM {verdicts} JOIN games g ON g.verdict_id = v.id"
        " WHERE r.project_id = ?",
        "scales": "SELECT protocol, aspect, low, high, words, ordered FROM scales WHERE project_id = ?",
    }
    return {
        name: sorted((tuple(row) for row in db.rows(sql, where)), key=repr) for name, sql in queries.items()
    }


@pytest.mark.parametrize("fmt", ["csv", "jsonl"])
def test_every_kind_of_label_gives_the_same_verdicts_again(tmp_path: Path, fmt: Any) -> None:
    with connect(tmp_path / "a.db") as db:
        for name, text in KINDS_OF_LABELS.items():
            path, exported = tmp_path / f"{name}.csv", tmp_path / f"{name} again.{fmt}"
            path.write_text(text, encoding="utf-8")
            _import(db, name, path)
            before = _everything(db, name)
            lines = text.count("\n") - 1
            assert len(before["verdicts"]) == {"counts": 7, "games of 1": lines - 1}.get(
                name, lines - (name in ("numbers",))
            )
            assert bool(before["games"]) == name.startswith("games"), name
            export(Project.named(db, name), "labels", fmt, exported)
            _import(db, f"{name} again", exported)
            assert _everything(db, f"{name} again") == before, name
