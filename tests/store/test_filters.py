"""Filters of verdicts."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recjudge_tui.domain import protocols
from recjudge_tui.domain.event_types import HELD_OUT
from recjudge_tui.domain.filters import KEYS, Term, VerdictFilter, parse_filter
from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.store import facts
from recjudge_tui.store.database import Database
from recjudge_tui.store.filters import MOST, filter_values
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import SORTS, filtered_ids, first_ids
from tests.support.app.projects import make_project
from tests.support.example_protocol import registered

# ---- test filter values ------------------------------------------------------------------------------------------


def test_every_value_offered_finds_something(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        values = filter_values(db, project)
        for key in ("judge", "label", "aspect", "system", "protocol", "flag", "run"):
            assert values[key], key
            for value in values[key]:
                if key == "judge" and not db.value(
                    "SELECT count(*) FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = ?",
                    (value,),
                ):
                    continue
                assert filtered_ids(db, project, parse_filter(f'{key}:"{value}"')), (key, value)
    assert values["flag"][0] == "any"
    assert values["disagree"][0] == "human"
    assert set(values) - {"rater"} <= set(KEYS)


def test_values_that_cannot_be_typed_and_too_many_are_left_out(project_db: Path) -> None:
    with connect(project_db) as db:
        project = create_project(db, "movies")
        other = create_project(db, "books")
        names = ['with "quotes"', "two\nlines", "\x1b[31mred", "n" * 61, "two words", "plain"]
        names += [f"z{number:04d}" for number in range(MOST + 50)]
        for name in names:
            db.execute(
                "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, ?, 'judge', '')",
                (project, name),
            )
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'theirs', 'judge', '')",
            (other,),
        )
        judges = filter_values(db, project)["judge"]
    assert {"two words", "plain"} <= set(judges)
    assert len(judges) <= MOST
    assert all(name.isprintable() and '"' not in name and len(name) <= 60 for name in judges)
    assert "theirs" not in judges


# ---- test search words -------------------------------------------------------------------------------------------


# none of these letters stands in the titles, names and ids of the project
WORDS = ("qz", "QZ", "qzx", "xéz", "XEZ", "q", "zü", "قلب", "AND", "NEAR", "NOT", "OR")
SIGNS = (" ", " ", " ", ".", "-", "*", '"', "'", "(", ")", ":", "^", "+", "!", "\n", "…", "☃", "%", "_", "\\")
TEXTS = st.lists(st.sampled_from(WORDS + SIGNS), max_size=12).map("".join)


@pytest.fixture
def db(project_db: Path) -> Iterator[Database]:
    make_project(project_db, cases=6)
    with connect(project_db) as opened:
        # the search reads notes too; only the reasonings are compared here
        opened.execute("UPDATE verdicts SET note = ''")
        yield opened


def tokens(text: str) -> list[str]:
    """Runs of letters and digits without case and accents."""
    bare = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)).lower()
    return "".join(c if c.isalnum() else " " for c in bare).split()


def says(reasoning: str, wanted: str) -> bool:
    """The words one after the other, the last one as far as it goes; signs alone as they stand."""
    words, said = tokens(wanted), tokens(reasoning)
    if not words:
        return wanted in reasoning
    ends = len(words) - 1
    return any(
        said[at : at + ends] == words[:-1] and said[at + ends].startswith(words[-1])
        for at in range(len(said) - ends)
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(reasonings=st.lists(TEXTS, min_size=12, max_size=12), wanted=st.lists(TEXTS, min_size=1, max_size=2))
@example(reasonings=['say "qz AND xez"'] * 12, wanted=['"qz AND']).via("quotes and operators")
@example(reasonings=["qz* NEAR(q)"] * 12, wanted=["NEAR(q", "*"]).via("signs of the search itself")
def test_words_find_what_a_slow_reading_finds(db: Database, reasonings: list[str], wanted: list[str]) -> None:
    answers = db.rows(
        """SELECT a.id, v.id AS verdict FROM answers a JOIN calls k ON k.id = a.call_id
           JOIN verdicts v ON v.run_id = k.run_id AND v.case_id = k.case_id AND v.aspect = a.aspect ORDER BY a.id"""
    )
    assert len(answers) >= 8
    said: dict[int, list[str]] = defaultdict(list)
    for answer, reasoning in zip(answers, reasonings, strict=False):
        db.execute("UPDATE answers SET reasoning = ? WHERE id = ?", (reasoning, answer["id"]))
        said[answer["verdict"]].append(reasoning)
    asked = [text.strip() for text in wanted if text.strip()]
    chosen = VerdictFilter(tuple(Term("text", ":", text) for text in asked))
    expected = [v for v in sorted(said) if all(any(says(r, text) for r in said[v]) for text in asked)]
    if asked:
        judged = set(said)
        for sort in SORTS:
            found = filtered_ids(db, 1, chosen, sort)
            assert sorted(key for key in found if key in judged) == expected, sort
            assert set(first_ids(db, 1, chosen, sort, 500)) <= set(found)
        assert parse_filter(chosen.text()).terms == tuple(dict.fromkeys(chosen.terms))


# ---- test facts --------------------------------------------------------------------------------------------------


def value(db: Database, expression: str, protocol: str) -> object:
    """The SQL expression over a verdict `v` of this protocol."""
    return db.value(f"SELECT {expression} FROM (SELECT ? AS protocol) v", (protocol,))


def test_sql_says_of_every_protocol_what_its_facts_say(db: Database) -> None:
    with registered():
        for name, known in PROTOCOLS.items():
            assert value(db, facts.question_in("v.protocol"), name) == protocols.question_of(name)
            assert value(db, facts.disagreement_in(), name) == known.disagreement
            assert value(db, facts.width(), name) == known.high - known.low
            assert value(db, facts.about_systems("v.protocol"), name) == (not known.tests_judges)
            of_pairs = known.of_pairs and not known.tests_judges
            assert value(db, facts.with_unit_in("v.protocol", "pair"), name) == of_pairs


def test_verdicts_are_apart_from_the_smallest_disagreement_on(db: Database) -> None:
    verdicts = "(SELECT ? AS value) o, (SELECT ? AS value, ? AS protocol) v"
    for name, known in PROTOCOLS.items():
        for difference, disagrees in ((known.disagreement, 1), (known.disagreement - 0.25, 0)):
            sql = f"SELECT {facts.apart()} FROM {verdicts}"
            assert db.value(sql, (known.low, known.low + difference, name)) == disagrees


@pytest.mark.parametrize(
    ("event_type", "held_out"),
    [(f"{HELD_OUT}click", True), ("heldoutclick", False), ("click", False), ("my_heldout_click", False)],
)
def test_held_out_types_are_found_by_their_beginning(db: Database, event_type: str, held_out: bool) -> None:
    """A copy of what is held out is no more shown than what is held out."""
    shown = facts.shown_event("e")
    row = db.row(
        f"SELECT {facts.held_out_type()}, {shown} FROM (SELECT ? AS type, 0 AS is_copy) e", (event_type,)
    )
    assert row is not None
    assert tuple(row) == (held_out, not held_out)
    assert not db.value(f"SELECT {shown} FROM (SELECT ? AS type, 1 AS is_copy) e", (event_type,))
