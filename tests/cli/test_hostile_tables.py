"""Hostile names, texts and models through every command that prints a table, every export, report and figure."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from recjudge_tui.reports.figures.declared import FIGURES
from tests.support.app.poisoned import poisoned
from tests.support.commands import commands, formats_of, ran
from tests.support.hostile import NAMED

# markup first, which a narrow cell shows too; a list of names is split at commas
ALL = ['[/path] [a="b]', *(text for text in NAMED.values() if len(text) < 3000 and "\x00" not in text)]
TEXT = " ".join(ALL).replace(",", ";")
PROJECT, QWEN, LLAMA, ANNA = (name + TEXT for name in ("movies", "qwen2.5:14b", "llama", "anna"))
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"-?\d[\d.e+-]*\Z")
DRAWN = set("─│┌┐└┘━╭╮╯╰┼├┤▲✓✗▶‖■█▏")
HERE = ("-p", PROJECT)
# commands that say nothing of a project, and those that are refused here: a batch needs a server, and the pairs of an
# adversarial run other lists
# “runs work-group” prints the page of “run saer”
APART = {"config keys", "config show", "reproduce", "runs work-group"}
# their rows name nothing of the project, or they have none here
NAMELESS = {"judge test", "why", "flags", "robustness ablation", "robustness injected"}
REFUSED = {"batch status": 2, "prompt tune": 2, "robustness adversarial": 1}

# the words after the command
TABLES: dict[str, tuple[str, ...]] = {
    "project list": (),
    "project show": (PROJECT,),
    "imports list": HERE,
    "cases list": HERE,
    "cases show": ("1",),
    "verdicts list": HERE,
    "verdicts log": HERE,
    "prompt list": (),
    "prompt try": ("pairwise-media", "--case", "1", "--judge", "rules"),
    "prompt tune": ("pairwise-media", *HERE, "--judge", "rules"),
    "judge list": ("--all",),
    "judge test": ("rules",),
    "run": ("saer", *HERE, "--judge", "rules", "--name", "r", "--dry-run"),
    "runs list": (),
    "runs show": ("1",),
    "runs settings": HERE,
    "runs failures": HERE,
    "batch status": ("1",),
    "rater list": HERE,
    "annotate status": ("-p", "films" + TEXT),
    "agreement": HERE,
    "compare": (*HERE, QWEN, ANNA),
    "flags": HERE,
    "leaderboard": (*HERE, "--protocol", "pairwise"),
    "estimate": (*HERE, "--rater", QWEN, "--truth", ANNA, "--protocol", "pairwise"),
    "cost": HERE,
    "metrics": HERE,
    "trend": HERE,
    "biases": HERE,
    "robustness ablation": (*HERE, "--raters", f"{QWEN},{LLAMA}"),
    "robustness adversarial": (*HERE, "--judge", "rules", "--dry-run"),
    "robustness injected": (*HERE, "--judge", "rules"),
    "robustness position": HERE,
    "outcome add": (
        *HERE,
        "--systems",
        f"als{TEXT},cooc{TEXT}",
        *"--impressions 9,9 --clicks 1,2 --name".split(),
    ),
    "outcome show": HERE,
    "plan": (*HERE, "--protocol", "pairwise", "--rater", QWEN),
    "methods": HERE,
    "passport": (*HERE, QWEN),
    "gate": (*HERE, "--rater", QWEN, "--truth", ANNA, "--at-least", "percent=0"),
    "why": (*HERE, "--rater", QWEN, "--protocol", "pairwise"),
    "doctor": HERE,
}


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return poisoned(tmp_path_factory.mktemp("poisoned") / "recjudge.db", TEXT)


Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    spoiled: Path, project_db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ran:
    """A command on a copy: its exit code, and what it wrote, in which nothing is raw."""
    project_db.write_bytes(spoiled.read_bytes())
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:1")

    def call(*words: str) -> tuple[int, str, str]:
        code, out, err = ran(capsys, *words, "--db", str(project_db))
        assert RAW.search(out + err) is None, (words, out + err)
        return code, out, err

    return call


def test_no_command_is_forgotten() -> None:
    assert {name for name, command in commands() if "text" in formats_of(command)} - APART == set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_every_table_in_every_format(run: Ran, name: str) -> None:
    formats = next(formats_of(command) for other, command in commands() if other == name)
    for fmt in formats:
        code, out, err = run(
            *name.split(), *TABLES[name], *([fmt + TEXT] if name == "outcome add" else []), "--format", fmt
        )
        assert code == REFUSED.get(name, 0), err
        assert fmt != "plain" or not set(out.replace(TEXT, "")) & DRAWN
        if not code and name != "run":
            _holds_together(fmt, out)
            if fmt in ("text", "plain", "csv") and name not in NAMELESS:
                assert "[/path]" in out


def test_plain_is_an_option_of_its_own(run: Ran) -> None:
    words = ("rater", "list", *HERE)
    assert run(*words, "--plain") == run(*words, "--format", "plain")


def _holds_together(fmt: str, out: str) -> None:
    if fmt == "json":
        assert json.loads(out)["title"]
    if fmt == "csv":
        # one table, or several with a blank line between
        rows = list(csv.reader(io.StringIO(out)))
        table: list[list[str]] = []
        for row in [*rows, []]:
            assert not table or not row or len(row) == len(table[0])
            table = [*table, row] if row else []
        _runs_nothing(rows)


def _runs_nothing(rows: list[list[str]]) -> None:
    for cell in (cell for row in rows for cell in row):
        assert NUMBER.match(cell) or not FORMULA.match(cell), cell


@pytest.mark.parametrize("what", ["verdicts", "calls", "flags", "cases", "labels"])
def test_every_export(run: Ran, tmp_path: Path, what: str) -> None:
    for fmt in ("csv", "jsonl", "json"):
        target = tmp_path / f"out.{fmt}"
        assert run("export", *HERE, what, "--format", fmt, "-o", str(target))[0] == 0
        text = target.read_text(encoding="utf-8")
        assert RAW.search(text) is None
        if fmt == "csv":
            head, *rows = csv.reader(io.StringIO(text))
            assert rows
            assert {len(row) for row in rows} == {len(head)}
            _runs_nothing(rows)
        else:
            found = [json.loads(line) for line in text.splitlines()] if fmt == "jsonl" else json.loads(text)
            # a program gets the text as it is
            assert "\\u001b[31mred" in json.dumps(found)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure(run: Ran, tmp_path: Path, name: str) -> None:
    target = tmp_path / "figure.svg"
    code, _, err = run("export", *HERE, "--figure", name, "-o", str(target))
    if code:
        assert err.startswith("error: ")
    else:
        ElementTree.parse(target)
        assert RAW.search(target.read_text(encoding="utf-8")) is None


def test_the_report(run: Ran, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert run("report", *HERE, "-o", str(target))[0] == 0
    page = target.read_text(encoding="utf-8")
    assert RAW.search(page) is None
    met: set[str] = set()

    class Elements(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            met.add(tag)
            assert not [name for name, _ in attrs if name.startswith("on")]

    Elements().feed(page)
    assert "script" not in met
    assert "[/path]" in page
