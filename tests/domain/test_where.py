"""Expressions over the attributes of users."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.where import Where
from recjudge_tui.errors import UsageError

ANNA = {"plan": "pro", "age": "34", "city of birth": "Łódź", "since": "2024-03-01", "events": 21}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("plan = 'pro' and events > 20", True), ("plan = pro", True), ("plan != 'pro'", False),
        ("events >= 1e9", False), ("age < 100", True), ("age = 34.0", True), ("not age < 100", False),
        ("plan in ('free', 'pro')", True), ("plan not in ('free', 'pro')", False), ("events in (20, 21)", True),
        ("since >= '2024-01-01'", True), ("since >= 2024-04-01", False), ("\"city of birth\" = 'Łódź'", True),
        ("plan = 'it''s'", False), ("plan > 3", False), ("not plan > 3", False), ("plan <> 3", True),
        # what is missing meets neither a comparison nor its negation
        ("height > 3", False), ("not height > 3", False), ("height > 3 or plan = 'pro'", True),
        ("(plan = 'free' or age > 30) and not (events < 3)", True), ("PLAN = 'pro'", False),
        ("plan = 'pro' AND NOT events < 20 Or age = 1", True),
    ],
)  # fmt: skip
def test_a_user_meets_it_or_not(text: str, met: bool) -> None:
    assert Where(text).holds(ANNA) is met


@pytest.mark.parametrize(
    "text",
    ["", "plan", "plan =", "= 3", "plan = 'a' 'b'", "(plan = 3", "plan = 3)", "plan in 3", "plan in (3", "plan ~ 3",
     "a = 1 and", "not", "plan = 'open", "a = 1; DROP TABLE users", "(" * 1000 + "a = 1" + ")" * 1000,
     "not " * 1000 + "a = 1"],
)  # fmt: skip
def test_what_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(UsageError) as wrong:
        Where(text)
    assert "plan = 'pro'" in str(wrong.value.cause)


def test_a_count_is_not_compared_with_a_text() -> None:
    with pytest.raises(UsageError, match="21 is a number"):
        Where("events > 'many'").holds(ANNA)


_NAMES = st.sampled_from("abc")
_ATOMS = st.builds(
    lambda name, sign, value: f"{name} {sign} {value}", _NAMES, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    st.integers(-2, 2),
)  # fmt: skip
_EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.builds(lambda x: f"not ({x})", inner),
        st.builds(lambda x, word, y: f"({x}) {word} ({y})", inner, st.sampled_from(["and", "or"]), inner),
        st.builds(lambda x, word, y: f"{x} {word} {y}", inner, st.sampled_from(["and", "or"]), inner),
    ),
    max_leaves=8,
)


@given(_EXPRESSIONS, st.dictionaries(_NAMES, st.integers(-2, 2)))
def test_it_is_read_as_sqlite_reads_it(text: str, values: dict[str, int]) -> None:
    columns = ", ".join(f"{values.get(name, 'NULL')} AS {name}" for name in "abc")
    db = sqlite3.connect(":memory:")
    met = db.execute(f"SELECT 1 FROM (SELECT {columns}) WHERE {text}").fetchone() is not None
    db.close()
    assert Where(text).holds({name: str(value) for name, value in values.items()}) is met
