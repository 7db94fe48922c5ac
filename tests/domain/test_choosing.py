"""What is chosen: filters, expressions over users, occasions and times."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recjudge_tui.domain.filters import parse_filter
from recjudge_tui.domain.occasions import occasion_filter
from recjudge_tui.domain.where import Where
from recjudge_tui.errors import UsageError
from tests.support.hostile import HOSTILE


@pytest.mark.parametrize(
    "text",
    [
        "flag:any why:swap",
        'label:"Good Match" conf>=.25',
        '"a: b" judge:llama3.1:8b',
        "conf=1 plain",
        "disagree:ndcg@10 spread>=2 spread<3.5 distance=0",
        'disagree:"GPT 4o"',
        '"a<b" "x=1" "conf<.6"',
        'system:"my ""best"" one" "say ""no"" twice" 5"x',
        'tag:"a\tb" "c\u00a0d"',
    ],
)
def test_chips_read_back_as_the_same_filter(text: str) -> None:
    chosen = parse_filter(text)
    assert parse_filter(chosen.text()) == chosen
    assert chosen.chips() == tuple(chosen.text().split(" ")) or '"' in chosen.text()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        chosen = parse_filter(text)
    except UsageError:
        return
    assert bool(chosen) == bool(text.strip())


# ---- expressions over users -----------------------------------------------------------------------------------------


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


# ---- occasions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ("2024-06-01", "2024-05-31", "2024-06-01 is after 2024-05-31"),
        ("yesterday", "", "“yesterday” is not a time Write it as 2024-05-01"),
        ("", "2024-13-01", "“2024-13-01” is not a time"),
    ],
)
def test_an_invalid_time_is_refused(start: str, end: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        occasion_filter((), start, end)
    assert says in str(error.value)
