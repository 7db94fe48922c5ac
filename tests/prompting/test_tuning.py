"""A prompt taught by one half of the users and tried on the other: better only where it is; no user teaches and tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.where import TEACH, TEST, part_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt
from tests.support.chat_server import chatting
from tests.support.runs import make_project, ran
from tests.support.verdicts import Project, give

USERS = 60
GOOD, POOR = "Good Match", "Poor Match"
TAUGHT = "A person who judged this case said"
RULES = ["Lists that repeat a film are poor.", "Prefer {{ new }} films."]
Says = Callable[[str, str], str]
Truth = dict[tuple[str | Any, ...], str]


@contextmanager
def judging(says: Says, truth: Truth) -> Iterator[str]:
    """The address of a server that answers what `says` makes of a prompt's text and the true label of its list."""

    def answer(system: str, user: str) -> object:
        if "<mistakes>" in user:
            return {"rules": RULES}
        # the first items of the list that is judged
        titles = re.search(r"\n1\. (Film number \d+).*\n2\. (Film number \d+)", user)
        assert titles
        return {
            "reasoning": "as asked",
            "category": says(system, truth[titles.groups()]),
            "flagged_items": [],
        }

    with chatting(answer) as url:
        yield url


@pytest.fixture(name="films")
def labelled_lists(db: Database) -> Database:
    """Lists that anna calls good, but those of every second user."""
    make_project(db, users=USERS, systems=("als",))
    assert ran("run", "pointwise", "-p", "films", "--judge", "rules", "--plan-only", "--db", db.path)[0] == 0
    cases = db.column("SELECT id FROM cases WHERE kind = 'list' ORDER BY id")
    give(Project(db, 1), "anna", {case: 0.0 if at % 2 == 0 else 2.0 for at, case in enumerate(cases)})
    return db


def truth_of(db: Database) -> Truth:
    """The titles of the first two items of each list, and anna's label of it."""
    rows = db.rows(
        """SELECT i.title, j.title, v.value FROM verdicts v JOIN cases c ON c.id = v.case_id
           JOIN slates l ON l.user_id = c.user_id
           JOIN slate_items s ON s.slate_id = l.id AND s.rank = 1 JOIN items i ON i.item_id = s.item_id
           JOIN slate_items t ON t.slate_id = l.id AND t.rank = 2 JOIN items j ON j.item_id = t.item_id"""
    )
    return {(first, second): GOOD if value else POOR for first, second, value in rows}


def tune(db: Database, says: Says, *more: object) -> tuple[int, str, str]:
    with judging(says, truth_of(db)) as url:
        return ran(
            "prompt", "tune", "pointwise-media", "-p", "films", "--judge", "openai:m", "--base-url", url, "--db", db.path,
            "--format", "json", *more, env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip


def after_teaching(good: Says) -> Says:
    """Always good before it is taught, then as `good` says."""
    return lambda system, label: good(system, label) if TAUGHT in system else GOOD


def other(label: str) -> str:
    return POOR if label == GOOD else GOOD


@pytest.mark.parametrize(
    ("says", "word"),
    [
        (lambda _, label: label, "better"),
        (lambda _, label: other(label), "worse"),
        (lambda _, label: GOOD, "not shown to be better"),
    ],
)
def test_it_says_what_the_users_who_test_show(films: Database, says: Says, word: str) -> None:
    code, out, err = tune(films, after_teaching(says))
    assert code == 0, err
    table = json.loads(out)
    before, *candidates = table["rows"]
    assert [row["word"] for row in candidates] == [word] * 2
    assert [row["added"] for row in candidates] == ["2 examples", "4 examples"]
    assert before["word"] == ""
    if word == "better":
        assert candidates[0]["value"] == 1.0
        assert candidates[0]["p_holm"] < 0.05
    _, version, kept = get_prompt(films, "my-pointwise-media")
    assert (version, table["settings"]["stored"]) == (1, "my-pointwise-media@1")
    assert f": {word} on " in kept.description
    assert "who taught nothing" in kept.description


def test_no_user_teaches_and_tests_and_no_answer_is_asked_for_twice(films: Database) -> None:
    assert tune(films, after_teaching(lambda _, label: label))[0] == 0
    users = films.rows(
        """SELECT pr.name, c.user_id FROM calls k JOIN runs ru ON ru.id = k.run_id AND ru.rater_id <> 1
           JOIN prompts pr ON pr.id = ru.prompt_id JOIN cases c ON c.id = k.case_id
           WHERE json_extract(ru.judge, '$.spec') = 'openai:m'"""
    )
    tested = {user for name, user in users if name.endswith("-candidate")}
    assert {part_of(user) for user in tested} == {TEST}
    _, _, candidate = get_prompt(films, "my-pointwise-media-candidate@2")
    taught = [int(made.title.removeprefix("case ")) for made in candidate.examples if "case" in made.title]
    owners = films.pairs("SELECT id, user_id FROM cases")
    assert len(taught) == 4
    assert {part_of(owners[case]) for case in taught} == {TEACH}
    # what the judge got wrong: it called them all good
    said = films.pairs("SELECT case_id, value FROM verdicts WHERE rater_id <> 1 ORDER BY id DESC")
    assert not any(said[case] for case in taught)
    calls = films.value("SELECT count(*) FROM calls")
    code, _, err = tune(films, after_teaching(lambda _, label: label))
    assert (code, films.value("SELECT count(*) FROM calls")) == (0, calls)
    assert "exists (done)" in err
    judges = films.column("SELECT name FROM raters WHERE kind = 'judge' ORDER BY id")
    for rater, parts in ((judges[0], (TEACH, TEST)), (judges[-1], (TEST,))):
        _, out, _ = ran("passport", rater, "-p", "films", "--db", films.path, "--format", "json")
        asked = [row["text"] for row in json.loads(out)["rows"] if row["figure"] == "asked with"]
        assert len(asked) == len(parts)
        assert all(f"users where part = '{part}'" in text for part, text in zip(parts, asked, strict=True))


def test_a_judge_revises_its_guidelines_from_its_mistakes(films: Database) -> None:
    says: Says = lambda system, label: label if RULES[0] in system else GOOD  # noqa: E731
    code, out, err = tune(films, says, "--rewrite", "--candidates", "1")
    assert code == 0, err
    _, examples, rules = json.loads(out)["rows"]
    assert (examples["added"], rules["added"]) == ("2 examples", "2 rules")
    assert (examples["word"], rules["word"], rules["value"]) == ("not shown to be better", "better", 1.0)
    _, _, kept = get_prompt(films, "my-pointwise-media")
    assert kept.parts["learned"].splitlines()[1:] == [f"- {RULES[0]}", "- Prefer (( new )) films."]
    # taught again, new rules stand in place of the old ones
    read = films.value("SELECT content FROM snapshots WHERE content LIKE '%The judge said Good%'")
    assert "A person said Poor" in read
    assert TAUGHT not in read


def test_what_cannot_teach_is_said(films: Database) -> None:
    code, _, err = tune(films, lambda _, label: label)
    assert code == 2
    assert "agrees with anna on all cases that teach" in err
    for words, said in (
        (("--from", "overrides"), "no reader has overridden"),
        (("--truth", "nobody"), "nobody"),
        (("--truth", "few"), "Each half of the users needs 10"),
    ):
        give(Project(films, 1), "few", {1: 2.0}) if "few" in words else None
        code, _, err = tune(films, lambda _, label: GOOD, *words)
        assert code in (1, 2)
        assert said in err


# ---- several questions -----------------------------------------------------------------------------------------------

ASPECTS = ("accuracy", "satisfaction", "inspiration", "content_quality", "transparency", "impact", "overall")
WINS = {1.0: "A wins", -1.0: "B wins"}


@contextmanager
def role_player(db: Database, wrong: int, rules: list[str]) -> Iterator[str]:
    """A server that plays users by anna's labels once it is taught, and before that answers this many aspects wrongly."""
    sides = {}
    for user, at in db.pairs("SELECT user_id, value FROM verdicts JOIN cases ON cases.id = case_id").items():
        titles = db.column(
            """SELECT title FROM slates l JOIN slate_items s ON s.slate_id = l.id JOIN items i ON i.item_id = s.item_id
               WHERE l.user_id = ? AND s.rank = 1 ORDER BY l.id""", (user,)
        )  # fmt: skip
        sides[tuple(titles)] = at

    def answer(system: str, user: str) -> object:
        if "<mistakes>" in user:
            return {"rules": rules}
        first, second = re.findall(r"\n1\. (Film number \d+)", user)[-2:]
        winner = WINS[sides[first, second] if (first, second) in sides else -sides[second, first]]
        other = WINS[1.0] if winner == WINS[-1.0] else WINS[-1.0]
        untaught = TAUGHT not in system and not any(rule in system for rule in rules)
        return {"reasoning": "as asked"} | {
            aspect: other if untaught and at < wrong else winner for at, aspect in enumerate(ASPECTS)
        }

    with chatting(answer) as url:
        yield url


@pytest.mark.parametrize(
    ("labelled", "more", "added"),
    [
        (ASPECTS, (), ["2 examples", "4 examples"]),
        (ASPECTS[:2], ("--rewrite",), ["1 rule"]),
    ],
)
def test_a_prompt_with_several_questions_is_taught_all_that_have_labels(
    db: Database, tmp_path: Path, labelled: tuple[str, ...], more: tuple[str, ...], added: list[str]
) -> None:
    """Counted by hand: on `labelled` questions, of which the judge answers two wrongly, with two labels in equal parts."""
    make_project(db, users=USERS, systems=("als", "pop"))
    here = ("-p", "films", "--db", db.path)
    assert ran("run", "arena", *here, "--judge", "rules", "--plan-only")[0] == 0
    cases = db.column("SELECT id FROM cases WHERE project_id = 1 ORDER BY user_id")
    for aspect in labelled:
        values = {case: 1.0 if at % 2 else -1.0 for at, case in enumerate(cases)}
        give(Project(db, 1), "anna", values, protocol_name="arena", aspect=aspect)
    own = tmp_path / "mine.toml"
    assert ran("prompt", "copy", "arena-media", str(own), "--db", db.path)[0] == 0
    loop = "{% for example in examples %}\n{{ example.input }} {{ example.reply | json }}\n{% endfor %}"
    text = own.read_text(encoding="utf-8").replace("\n# Output form", f"\n{loop}\n# Output form", 1)
    own.write_text(re.sub("^name = .*", 'name = "mine"', text, count=1, flags=re.M), encoding="utf-8")
    assert ran("prompt", "add", str(own), "--db", db.path)[0] == 0
    with role_player(db, 2, ["Look at the history."]) as url:
        code, out, err = ran(
            "prompt", "tune", "mine", *here, "--judge", "openai:m", "--base-url", url, "--format", "json", *more,
            env={"OPENAI_API_KEY": "k"},
        )  # fmt: skip
    assert code == 0, err
    before, *candidates = json.loads(out)["rows"]
    # kappa of labels that are right on all questions but two, both labels equally frequent: share right less share wrong
    assert before["value"] == pytest.approx(1 - 2 * 2 / len(labelled))
    assert [(row["added"], row["value"], row["word"]) for row in candidates] == [
        (of, 1.0, "better") for of in added
    ]
    assert ("no example can be made" in err) == (len(labelled) < len(ASPECTS))
    if len(labelled) < len(ASPECTS):
        read = db.value("SELECT content FROM snapshots WHERE content LIKE '%On accuracy the judge said%'")
        assert "On satisfaction the judge said" in read
        assert "On inspiration" not in read
