"""The pages of docs/: what the tutorial types prints what it shows, and each page has its place."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recjudge_tui.cli.docs import MADE, page, page_names
from recjudge_tui.domain.event_types import EVENT_KINDS
from recjudge_tui.importers.registry import layouts
from recjudge_tui.tui.keys import all_bindings
from tests.support.commands import ran
from tests.support.servers.process import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DOCS = ROOT / "docs"
_SESSION = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LEFT_OUT = "..."


def typed(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page's console blocks, each with the lines that it is said to print."""
    commands: list[tuple[str, list[str]]] = []
    for line in "".join(_SESSION.findall(page.read_text(encoding="utf-8"))).splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(" ".join(line.split()))
    return commands


def printed(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    if command.startswith("recjudge "):
        code, out, err = ran(capsys, *shlex.split(command)[1:])
    else:
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        code, out, err = done.returncode, done.stdout, done.stderr
    return code, [" ".join(line.split()) for line in (out + err).splitlines()]


def test_the_tutorial_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("RECJUDGE_DB", str(tmp_path / "tutorial.db"))
    commands = typed(DOCS / "tutorial.md")
    assert len(commands) > 12
    for command, shown in commands:
        code, lines = printed(command, capsys)
        assert code == 0, (command, lines)
        for line in shown:
            assert line == _LEFT_OUT or line in lines, (command, line, lines)
        if shown and _LEFT_OUT not in shown:
            assert lines == shown, command


def test_each_page_is_on_the_site() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    named = [
        page
        for room in site["project"]["nav"]
        for pages in room.values()
        for entry in pages
        for page in entry.values()
    ]
    assert sorted(named) == sorted(
        {page.name for page in DOCS.glob("*.md")} | {f"{name}.md" for name in MADE}
    )


def test_each_page_is_read_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "docs")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == page_names()
    code, out, _ = ran(capsys, "docs", "servers")
    assert (code, out) == (0, (DOCS / "servers.md").read_text(encoding="utf-8"))
    code, _, err = ran(capsys, "docs", "nothing")
    assert code == 2
    assert "servers" in err


def test_the_pages_of_reference_say_what_the_program_says() -> None:
    rows = {
        name: [
            line.split(" | ")[0].strip("| `") for line in page(name).splitlines() if line.startswith("| ")
        ][2:]
        for name in ("keys", "events", "layouts")
    }
    assert rows["keys"] == sorted(all_bindings().shipped)
    assert rows["events"] == [kind.name for kind in EVENT_KINDS]
    assert rows["layouts"] == [layout.name for layout in layouts()]
    assert "## recjudge leaderboard\n" in page("commands")


def test_the_readme_stands_where_the_source_is_not() -> None:
    """On a page of a package index a link into the source leads nowhere; pictures stand there as what they show."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"(?<!!)\[[^\]]*\]\((?!https?:)[^)]+\)", text) == []
    pictures = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", text)
    assert len(pictures) == 4
    assert [path for _, path in pictures if not (ROOT / path).exists()] == []
    pages = {*re.findall(r"recjudge docs ([a-z]+)", text), *re.findall(r"^- `([a-z]+)`", text, re.MULTILINE)}
    assert len(pages) > 7
    assert [name for name in pages if not (DOCS / f"{name}.md").exists()] == []


def test_the_readme_shows_the_leaderboard_of_the_tutorial() -> None:
    """Both are of the same sample data, and the tutorial's is computed by a test."""
    rows = [
        line
        for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        if re.match(r"\d     \w", line)
    ]
    assert len(rows) == 2
    assert set(rows) <= set((DOCS / "tutorial.md").read_text(encoding="utf-8").splitlines())
