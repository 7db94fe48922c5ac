"""`--plain` on every command that prints a table, and the content of the app's lists on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.app.projects import make_project
from tests.support.commands import ran

DRAWN = set("─│┌┐└┘━╭╮╯╰┼├┤▲✓✗▶‖■█▏")


@pytest.fixture
def db(project_db: Path) -> str:
    make_project(project_db)
    return str(project_db)


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
    for paragraph in re.split(r"\n{2,}", out.strip())[1:]:
        lines = paragraph.splitlines()
        if lines[0] != "Notes" and not re.search(r"^(no rows|[\d,]+ rows?)$", lines[-1]):
            assert all(": " in line for line in lines), paragraph


# ---- verdicts list
