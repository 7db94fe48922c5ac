"""Themes that a judge finds in reasons: named, merged, and counted for the system that each reason speaks for."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.occasions import EVERY_OCCASION
from recjudge_tui.store.verdicts import filtered_ids
from recjudge_tui.tui.reports import ReportChoice, load, row_filter
from tests.support.chat_server import chatting
from tests.support.runs import ran
from tests.support.verdicts import Project, judge_pairs, judge_with_reasons, new_project, pair_case

USERS = 60
NAMED = {
    "themes": ["Variety: different kinds of films", "Repeats: the same film twice", "Prices: what it costs"]
}
WORDS = {"Variety": "variety", "Repeats": "repeats", "Prices": "prices"}


class Reader:
    """Answers by the words of a reason. `asked` counts the requests by what they ask."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, system: str, user: str) -> object:
        if "<reasons>" in user:
            self.asked["naming"] += 1
            return NAMED
        self.asked["labelling"] += 1
        names = dict(re.findall(r'"(theme_\d+)" is ([^:]+):', system))
        return {field: self._side(user, WORDS[name]) for field, name in names.items()}

    @staticmethod
    def _side(user: str, word: str) -> str:
        for clause in re.split(r"[;.]", user):
            if word in clause:
                good = word == "variety"
                first = "Set 1" in clause
                return "first" if first == good else "second"
        return "neither"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """For odd users a wins and has variety, for even ones b wins since a repeats films. Reasons name lists by place."""
    made = new_project(tmp_path / "r.db")
    said = ("{a} repeats films; {b} is fine.", "{a} has variety; {b} is dull.")
    judge_with_reasons(made, "llm", [f"{said[user % 2]} User {user}." for user in range(USERS)])
    return made


def asked_why(project: Project, url: str, *words: str) -> tuple[int, str, str]:
    return ran(
        "why", "-p", "films", "--judge", "openai:m", "--base-url", url, *words, "--db", project.db.path
    )


def theme_rows(out: str) -> dict[str, dict[str, Any]]:
    return {row["what"]: row for row in json.loads(out)["rows"] if row["kind"] == "theme"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECJUDGE_TRUST_HOSTS", "127.0.0.1")


def test_themes_go_with_the_system_that_the_reasons_speak_for(project: Project) -> None:
    reader = Reader()
    with chatting(reader) as url:
        code, out, err = asked_why(project, url, "--format", "json")
        assert code == 0, err
        rows = theme_rows(out)
        # 120 reasons: 6 calls name themes, one merges them, 120 and again 100 label
        assert reader.asked == {"naming": 7, "labelling": 220}
        assert {
            name: (row["goes_with"], row["users"], row["users_against"]) for name, row in rows.items()
        } == {
            "Variety": ("a", 30, 0),
            "Repeats": ("b", 30, 0),
        }
        assert rows["Variety"]["share"] == pytest.approx(0.5)
        assert rows["Variety"]["share_low"] < 0.5 < rows["Variety"]["share_high"]
        notes = " ".join(json.loads(out)["notes"])
        assert "0 of 120 reasons use none of them" in notes
        assert "asked again about 100 reasons with the themes in the other order: κ 1.00" in notes
        # a second time nothing is asked, and the themes stand in the report without a judge
        code, again, err = asked_why(project, url, "--format", "json")
        assert (code, theme_rows(again), reader.asked["labelling"]) == (0, rows, 220)
    code, out, err = ran("why", "-p", "films", "--format", "json", "--db", project.db.path)
    assert (code, theme_rows(out)) == (0, rows)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"themes": []}, "has no line"),
        ("I see no themes here.", "has no line"),
        ({"themes": ["each the name, a colon, and the sentence"]}, "stands in the instructions"),
        ({"themes": [{"name": "x"}]}, "must be a list of texts"),
    ],
)
def test_a_judge_that_names_nothing_of_its_own_fails(project: Project, said: object, fault: str) -> None:
    with chatting(lambda system, user: said) as url:
        code, _, err = asked_why(project, url)
    assert code == 1
    assert fault in err
    assert not project.db.value("SELECT count(*) FROM runs WHERE protocol = 'themes'")


def test_reasons_of_one_side_and_of_single_lists_are_refused(tmp_path: Path) -> None:
    project = new_project(tmp_path / "one.db")
    cases = [pair_case(project, f"u{user}") for user in range(12)]
    judge_pairs(project, "llm", dict.fromkeys(cases, (1.0, 1.0)))
    project.db.execute("UPDATE answers SET reasoning = 'good'")
    project.db.connection.commit()
    code, _, err = asked_why(project, "http://127.0.0.1:9/v1")
    assert code == 2
    assert "favour one side only" in err


def test_enter_on_a_theme_opens_its_cases(project: Project) -> None:
    with chatting(Reader()) as url:
        assert asked_why(project, url)[0] == 0
    made = load(project.db, project.id, ReportChoice("why", values={"why": {"rater": "llm"}}), EVERY_OCCASION)
    row = next(row for row in made.content.rows if row["what"] == "Variety")
    assert "theme:Variety" in (asked := row_filter(made, row, EVERY_OCCASION))
    assert len(filtered_ids(project.db, project.id, parse_filter(asked))) == 30
