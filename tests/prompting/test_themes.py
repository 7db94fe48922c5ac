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


def test_a_theme_finds_its_cases_and_makes_no_verdicts(project: Project) -> None:
    before = project.db.value("SELECT count(*) FROM verdicts")
    with chatting(Reader()) as url:
        assert asked_why(project, url)[0] == 0
    assert project.db.value("SELECT count(*) FROM verdicts") == before
    for words, count in (("theme:variety", 30), ("theme=Repeats", 30), ("theme:prices", 0)):
        code, out, _ = ran(
            *("verdicts", "list", "-p", "films", "--filter", words, "--format", "json", "--all"),
            *("--db", project.db.path),
        )
        assert (code, len(json.loads(out)["rows"])) == (0, count)
    code, out, _ = ran("leaderboard", "-p", "films", "--slices", "--format", "json", "--db", project.db.path)
    assert code == 0
    assert {row["of"] for row in json.loads(out)["rows"] if row["slice"] == "theme"} == {"Variety", "Repeats"}


def test_beside_another_rater_a_theme_counts_where_they_agree_and_part(project: Project) -> None:
    cases = project.db.column("SELECT id FROM cases ORDER BY id")
    # anna always prefers a: she agrees with the judge on odd users
    judge_pairs(project, "anna", dict.fromkeys(cases, (1.0, 1.0)))
    with chatting(Reader()) as url:
        code, out, err = asked_why(project, url, "--rater", "llm", "--against", "anna", "--format", "json")
    assert code == 0, err
    rows = theme_rows(out)
    assert rows["Variety"]["goes_with"] == "agreeing with anna"
    assert rows["Repeats"]["goes_with"] == "parting from anna"


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


def test_names_of_systems_and_empty_names_are_no_themes(project: Project) -> None:
    odd = {
        "themes": ["a: the first system", ": nothing", "Variety: kinds", "variety: again", "{{ user }}: x{y}"]
    }
    with chatting(lambda system, user: odd if "<reasons>" in user else "neither") as url:
        asked_why(project, url)
    (names,) = project.db.column(
        """SELECT group_concat(json_extract(a.value, '$.name'), '|') FROM prompts p, json_each(p.content, '$.aspects') a
           WHERE p.name = 'my-theme-labels' AND p.version = 1"""
    )
    assert names == "Variety|{{ user }}"


def test_reasons_of_one_side_and_of_single_lists_are_refused(tmp_path: Path) -> None:
    project = new_project(tmp_path / "one.db")
    cases = [pair_case(project, f"u{user}") for user in range(12)]
    judge_pairs(project, "llm", dict.fromkeys(cases, (1.0, 1.0)))
    project.db.execute("UPDATE answers SET reasoning = 'good'")
    project.db.connection.commit()
    code, _, err = asked_why(project, "http://127.0.0.1:9/v1")
    assert code == 2
    assert "favour one side only" in err


def test_dry_run_and_budget(project: Project) -> None:
    code, _, err = asked_why(project, "http://127.0.0.1:9/v1", "--dry-run")
    assert code == 0
    assert "6 calls" in err
    assert "120 reasons" in err
    code, _, err = ran("why", "-p", "films", "--dry-run", "--db", project.db.path)
    assert code == 2
    assert "needs --judge" in err


def test_enter_on_a_theme_opens_its_cases(project: Project) -> None:
    with chatting(Reader()) as url:
        assert asked_why(project, url)[0] == 0
    made = load(project.db, project.id, ReportChoice("why", values={"why": {"rater": "llm"}}), EVERY_OCCASION)
    row = next(row for row in made.content.rows if row["what"] == "Variety")
    assert "theme:Variety" in (asked := row_filter(made, row, EVERY_OCCASION))
    assert len(filtered_ids(project.db, project.id, parse_filter(asked))) == 30


@pytest.mark.parametrize("name", ["themes", "theme-labels", "rules-from-mistakes"])
def test_a_prompt_that_reads_texts_is_shown_no_case(project: Project, name: str) -> None:
    code, _, err = ran("prompt", "show", name, "--case", 1, "--db", project.db.path)
    assert code == 2
    assert f"prompt “{name}” reads texts about cases" in err
