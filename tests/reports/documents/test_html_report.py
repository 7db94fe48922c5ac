"""The report of a project: one file that stands alone, holds everything, and runs nothing."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

import pytest

from recjudge_tui.errors import NotFoundError
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.table import TableText
from recjudge_tui.reports.html_report import SECTIONS
from recjudge_tui.reports.html_report import project_report as _report
from recjudge_tui.store.database import Database
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    list_case,
    pair_case,
)

VOID = frozenset("meta br hr img input link".split())
LOADING = ("src", "srcset", "data", "action", "formaction", "poster", "background", "ping", "manifest")


class Page(HTMLParser):
    """What a browser would make of the page: its elements in order, their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def judged(project: Project, names: tuple[str, ...] = ("anna", "ben")) -> None:
    users = [f"u{n}" for n in range(6)]
    lists = {
        list_case(project, user, system): n % 3.0 for n, user in enumerate(users) for system in ("x", "y")
    }
    pairs = {pair_case(project, user): (1.0, 0.0, -1.0)[n % 3] for n, user in enumerate(users)}
    for name in names:
        give(project, name, lists)
        give(project, name, pairs, protocol_name="pairwise")
    judge_lists(project, "qwen", lists)


def project_report(
    db: Database, identity: int, sections: tuple[str, ...] = (), raters: tuple[str, ...] = ()
) -> TableText:
    return _report(Opened.numbered(db, identity), sections, raters=raters)


def test_it_holds_every_section_and_nothing_from_outside(project: Project) -> None:
    judged(project)
    page = Page(project_report(project.db, project.id).text)
    assert page.open == []
    ids = [str(attributes["id"]) for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert [a["id"] for a in page.all("section")] == list(SECTIONS)
    for tag, attributes in page.elements:
        assert tag not in ("script", "iframe", "object", "embed", "link", "form", "base", "image"), tag
        loads = [name for name in attributes if name in LOADING and tag != "img"]
        assert not loads
        assert not [name for name in attributes if name.startswith("on")]
        assert str(attributes.get("src", "data:")).startswith("data:")
        assert str(attributes.get("href", "#")).startswith("#")
    for wanted in ("qwen", "anna", "Python", "UTC", "Settings of the runs", "Leaderboard: pairwise",
                   "Agreement with people", "Shares of labels: pointwise", "No call failed", "Cost"):  # fmt: skip
        assert wanted in page.text, wanted


def test_it_can_be_read_aloud_and_printed(project: Project) -> None:
    judged(project)
    text = project_report(project.db, project.id).text
    page = Page(text)
    assert page.all("html") == [{"lang": "en"}]
    policies = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies
    assert str(policies[0]).startswith("default-src 'none';")
    tables = page.all("table")
    assert len(tables) == len(page.all("caption")) >= 8
    assert {a["scope"] for a in page.all("th")} == {"col", "row"}
    assert "color-scheme: light dark" in text
    assert "@media print" in text
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels))
    # each section but the first page is folded, and a case and a prompt are
    assert len(page.all("details")) == len(page.all("summary")) > len(SECTIONS) - 1
    assert len(Page(project_report(project.db, project.id, ("cost",)).text).all("details")) == 0
    assert "Good Match" in page.text


def test_a_section_that_fails_gives_the_reason_and_the_rest_is_unaffected(project: Project) -> None:
    judged(project)
    project.db.execute("UPDATE prompts SET content = '{}'")
    written = project_report(project.db, project.id)
    assert any("Prompts: the stored prompt" in note for note in written.notes)
    page = Page(written.text)
    assert len(page.all("section")) == len(SECTIONS)
    assert "Could not be created: Prompts" in page.text
    assert "Leaderboard: pairwise" in page.text


def test_of_named_raters_no_other_is_shown(project: Project) -> None:
    judged(project)
    sections = ("leaderboards", "agreement", "shares", "flags", "position", "pictures")
    shown = Page(project_report(project.db, project.id, sections).text).text
    assert "anna" in shown
    page = project_report(project.db, project.id, sections, ("qwen", "ben")).text
    assert "qwen" in page
    assert "ben" in page
    assert "anna" not in page
    with pytest.raises(NotFoundError, match="no rater “zoe”"):
        project_report(project.db, project.id, raters=("qwen", "zoe"))


@pytest.mark.parametrize(
    ("person", "judge", "missing"),
    [
        (0, 6, "nobody has checked the judge: no person judged its cases"),
        (6, 0, "there is no judge: all verdicts are of people"),
        (3, -3, "it has no case in common with anna"),
        (6, 6, "agreement with anna is undefined: "),
    ],
)
def test_the_first_page_says_why_a_judge_is_unchecked(
    project: Project, person: int, judge: int, missing: str
) -> None:
    """`person` of six lists by anna, `judge` of them, from the end if negative, by a judge that calls them all alike."""
    cases = [list_case(project, f"u{n}", "x") for n in range(6)]
    if person:
        give(project, "anna", dict.fromkeys(cases[:person], 2.0))
    if judge:
        judge_lists(project, "qwen", dict.fromkeys(cases[-abs(judge) :], 2.0))
    shown = Page(project_report(project.db, project.id, ("summary", "about")).text).text
    assert missing in shown
    assert f"6 users, 0 items, {person + abs(judge)} verdicts" in shown
