"""`--plain` on every command that prints a table, and the content of the app's lists on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.store.schema import connect
from tests.support.app.projects import make_project
from tests.support.commands import commands, formats_of, ran
from tests.support.hostile import NAMED

DRAWN = set("─│┌┐└┘━╭╮╯╰┼├┤▲✓✗▶‖■█▏")
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def db(project_db: Path) -> str:
    make_project(project_db)
    return str(project_db)


def test_every_command_that_prints_a_table_has_the_flag() -> None:
    tables = {name: command for name, command in commands() if "text" in formats_of(command)}
    assert len(tables) > 20
    for name, command in tables.items():
        assert "plain" in formats_of(command), name
        assert any("--plain" in option.opts for option in command.params), name


@pytest.mark.parametrize(
    "words",
    [
        ("project", "list"),
        ("project", "show", "movies"),
        ("cases", "list", "-p", "movies"),
        ("cases", "show", "1"),
        ("verdicts", "list", "-p", "movies"),
        ("runs", "list"),
        ("rater", "list", "-p", "movies"),
        ("prompt", "list"),
        ("judge", "list"),
        ("agreement", "-p", "movies"),
        ("leaderboard", "-p", "movies", "--protocol", "pairwise"),
        ("cost", "-p", "movies"),
        ("imports", "list", "-p", "movies"),
    ],
    ids=" ".join,
)
def test_plain_is_paragraphs_of_label_and_value(
    db: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, out, err = ran(capsys, *words, "--plain", "--db", db)
    assert (code, err) == (0, "")
    assert not set(out) & DRAWN
    assert ran(capsys, *words, "--format", "plain", "--db", db)[1] == out
    found = json.loads(ran(capsys, *words, "--format", "json", "--db", db)[1])
    for table in found.get("tables", [found]):
        rows = len(table["rows"])
        count = "no rows" if rows == 0 else "1 row" if rows == 1 else f"{rows:,} rows"
        assert count in out.splitlines()
    for paragraph in re.split(r"\n{2,}", out.strip())[1:]:
        lines = paragraph.splitlines()
        if lines[0] != "Notes" and not re.search(r"^(no rows|[\d,]+ rows?)$", lines[-1]):
            assert all(": " in line for line in lines), paragraph


def test_plain_and_another_format_do_not_go_together(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "project", "list", "--plain", "--format", "json", "--db", db)
    assert (code, out) == (2, "")
    assert "--plain and --format json" in err


def test_plain_to_a_file(db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "runs.txt"
    assert ran(capsys, "runs", "list", "--plain", "-o", str(target), "--db", db)[0] == 0
    assert target.read_text().startswith("Runs\n")


# ---- verdicts list


def verdicts(capsys: pytest.CaptureFixture[str], db: str, *words: str) -> dict[str, Any]:
    code, out, err = ran(capsys, "verdicts", "list", "-p", "movies", "--format", "json", "--db", db, *words)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_verdicts_are_those_of_the_filter(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    everything = verdicts(capsys, db)
    swapped = verdicts(capsys, db, "--filter", "why:swap")
    assert 0 < len(swapped["rows"]) < len(everything["rows"])
    assert all("flips when swapped" in row["why"] for row in swapped["rows"])
    assert swapped["settings"]["filter"] == "why:swap"
    assert swapped["notes"][0].startswith(f"{len(swapped['rows'])} verdicts that match “why:swap”")
    ids = {row["verdict_id"] for row in everything["rows"]}
    with connect(Path(db)) as database:
        assert ids == {str(row[0]) for row in database.rows("SELECT id FROM verdicts")}


def test_verdicts_by_confidence_and_the_first_of_them(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = verdicts(capsys, db, "--sort", "confidence")["rows"]
    known = [row["confidence"] for row in rows if row["confidence"] is not None]
    assert known == sorted(known)
    assert all(row["confidence"] is None for row in rows[len(known) :])
    first = verdicts(capsys, db, "--sort", "confidence", "--limit", "2")
    assert first["rows"] == rows[:2]
    assert f"{len(rows)} verdicts" in first["notes"][0]
    assert "the first 2 are shown" in first["notes"][1]


def test_a_filter_that_cannot_be_read(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "verdicts", "list", "-p", "movies", "--filter", "colour:red", "--db", db)
    assert (code, out) == (2, "")
    assert "no filter “colour:”" in err


def test_a_case_has_the_same_content_as_plain_and_as_text(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ran(capsys, "cases", "show", "1", "--db", db)[1]
    plain = ran(capsys, "cases", "show", "1", "--plain", "--db", db)[1]
    with connect(Path(db)) as database:
        titles = [row[0] for row in database.rows("SELECT title FROM items")]
        said = [row[0] for row in database.rows(
            "SELECT a.reasoning FROM answers a JOIN calls k ON k.id = a.call_id WHERE k.case_id = 1"
        )]  # fmt: skip
    shown = [title for title in titles if title in " ".join(text.split())]
    assert shown
    assert all(title in plain for title in shown)
    assert any(said)
    assert all(" ".join(reasoning.split()) in plain for reasoning in said)


def test_a_case_in_text_to_a_file(db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "case.txt"
    code, out, err = ran(capsys, "cases", "show", "1", "-o", str(target), "--db", db)
    assert (code, out, err) == (0, "", f"written to {target}\n")
    assert target.read_text().startswith("Case 1 ")


@pytest.mark.parametrize("fmt", ["text", "plain", "json", "csv", "md", "latex", "html"])
def test_hostile_names_in_every_listing(
    project_db: Path, capsys: pytest.CaptureFixture[str], fmt: str
) -> None:
    text = " ".join(t for t in NAMED.values() if len(t) < 3000 and "\x00" not in t)
    make_project(project_db, text=text)
    name = f"movies{text}"
    for words in (
        ("project", "list"),
        ("cases", "list", "-p", name),
        ("verdicts", "list", "-p", name),
        ("cases", "show", "1"),
        ("rater", "list", "-p", name),
        ("runs", "list"),
    ):
        code, out, err = ran(capsys, *words, "--format", fmt, "--db", str(project_db))
        assert code == 0, err
        assert RAW.search(out + err) is None
