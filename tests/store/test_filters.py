"""Filters of verdicts."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recjudge_tui.domain.filters import Term, VerdictFilter, parse_filter
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import SORTS, filtered_ids, first_ids
from tests.support.app.projects import make_project

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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
