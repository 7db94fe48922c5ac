"""Labels that name a case, and the answers of a form with a column for each case."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

LISTS = "user_id,system,item_id,rank\nu,als,1,1\nu,pop,2,1\nv,als,1,1\nv,pop,2,1\n"


@pytest.fixture
def cases(load: Load, db: Database) -> dict[str, int]:
    """The cases of two pairs, one list and one explanation, by user and kind."""
    load("lists", LISTS, "lists.csv")
    load("explanations", "user_id,item_id,system,text\nu,1,gpt,Because\n", "texts.csv")
    load(
        "labels",
        "rater,user_id,item_id,system,system_a,system_b,value\nann,u,,,als,pop,A\nann,v,,,pop,als,A\n"
        "ann,u,,als,,,Good\nann,u,1,gpt,,,4\n",
        "first.csv",
    )
    return {f"{row['user_id']} {row['kind']}": row["id"] for row in db.rows("SELECT * FROM cases")}


def _verdicts(db: Database, rater: str) -> dict[int, tuple[str, float]]:
    sql = """SELECT v.case_id, v.aspect, v.value FROM verdicts v JOIN raters r ON r.id = v.rater_id
             WHERE r.name = ? ORDER BY v.id"""
    return {row[0]: (row[1], row[2]) for row in db.rows(sql, (rater,))}


def test_a_case_id_replaces_the_columns_that_describe_the_case(
    load: Load, db: Database, cases: dict[str, int]
) -> None:
    a, b, single, text = (cases[name] for name in ("u pair", "v pair", "u list", "u explanation"))
    summary = load(
        "labels", f"rater,case_id,value\nben,{a},B\nben,{b},Tie\nben,{single},Poor\nben,{text},5\n", "c.csv"
    )
    assert (summary.stored, summary.skipped, summary.warning_count) == (4, 0, 0)
    assert _verdicts(db, "ben") == {
        a: ("overall", -1.0), b: ("overall", 0.0), single: ("overall", 0.0), text: ("overall", 5.0),
    }  # fmt: skip
    assert db.value("SELECT count(*) FROM cases") == len(cases)


def test_columns_beside_the_case_must_agree(load: Load, db: Database, cases: dict[str, int]) -> None:
    a = cases["u pair"]
    rows = [
        f"{a},u,,", f"{a},u,pop,als", f"{a},v,,", f"{a},u,als,knn", "999,u,als,pop", "x,u,als,pop", ",u,als,pop",
    ]  # fmt: skip
    content = "case_id,user_id,system_a,system_b,rater,value\n" + "".join(
        f"{row},rater{n},A\n" for n, row in enumerate(rows)
    )
    summary = load("labels", content)
    assert (summary.stored, summary.skipped) == (3, 4)
    assert summary.warning_kinds == {"another case": 2, "unknown case": 2}
    assert "case 1 has user_id “u”, not “v”; left out" in summary.warnings[0]
    assert [_verdicts(db, f"rater{n}").get(a) for n in (0, 1, 6)] == [
        ("overall", 1.0),
        ("overall", -1.0),
        ("overall", 1.0),
    ]


FORM = (
    '"Timestamp","Email Address","Case {a}: Which list is better?","Case {b}: Which list is better?","Any comments?"\n'
    '"2026/05/04 9:12:01 AM GMT+2","ann@example.org","List 1","No difference","Fine"\n'
    '"2026/05/04 9:40:13 AM GMT+2","cid@example.org","List 2","",""\n'
)
ANSWERS = 'values = { "List 1" = "A", "List 2" = "B", "No difference" = "Tie" }\n'
RATER = '[labels]\nrater = "Email Address"\nnote = "Any comments?"\n'


@pytest.mark.parametrize(
    "mapping",
    [
        RATER + ANSWERS + "cases = 'Case (\\d+)'\n",
        RATER
        + ANSWERS
        + '[labels.cases]\n{a} = "Case {a}: Which list is better?"\n{b} = "Case {b}: Which list is better?"\n',
    ],
    ids=["pattern", "table"],
)
def test_a_google_form(load: Load, db: Database, tmp_path: Path, cases: dict[str, int], mapping: str) -> None:
    a, b = cases["u pair"], cases["v pair"]

    def numbered(text: str) -> str:
        return text.replace("{a}", str(a)).replace("{b}", str(b))

    path = numbered(mapping)
    summary = load("labels", numbered(FORM), mapping=path)
    assert (summary.read, summary.stored, summary.warning_kinds) == (4, 3, {"no value": 1})
    assert summary.files[0].columns == (
        f"Email Address as rater, Any comments? as note, Case {a}: Which list is better? as the answer on case {a}, "
        f"Case {b}: Which list is better? as the answer on case {b}"
    )
    assert _verdicts(db, "ann@example.org") == {a: ("overall", 1.0), b: ("overall", 0.0)}
    assert _verdicts(db, "cid@example.org") == {a: ("overall", -1.0)}
    assert db.value("SELECT count(*) FROM verdicts WHERE note = 'Fine'") == 2


@pytest.mark.parametrize(
    "cases_of",
    [
        "cases = '^(?P<case>\\d+) .*\\[(?P<aspect>\\w+)\\]'\n",
        '[labels.cases.{n}]\naccuracy = "{n} How good? [accuracy]"\nsatisfaction = "{n} How good? [satisfaction]"\n',
    ],
)
def test_a_grid_of_aspects(
    load: Load, db: Database, tmp_path: Path, cases: dict[str, int], cases_of: str
) -> None:
    case = cases["u explanation"]
    path = '[labels]\nrater = "Who"\n' + cases_of.replace("{n}", str(case))
    load(
        "labels", f"Who,{case} How good? [accuracy],{case} How good? [satisfaction]\nann,5,2\n", mapping=path
    )
    sql = "SELECT aspect, value FROM verdicts WHERE case_id = ? AND aspect <> 'overall' ORDER BY aspect"
    assert rows_of(db, sql, (case,)) == [("accuracy", 5.0), ("satisfaction", 2.0)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cases = 'Case \\d+'", "must have a group for the number of the case"),
        ("cases = 'Case (\\d+'", "is not a regular expression"),
        ("cases = 7", "must be a pattern, or a table"),
        ("cases = 'Case (\\d+)'\nvalues = 'A'", "should be a valid dictionary"),
        ("cases = 'Case (\\d+)'\nvalue = 'Who'", "so it cannot have “value” too"),
        ("cases = 'Question (\\d+)'", r"no column matches “cases” .*The columns are: Who, Case 1\."),
        ("[labels.cases]\n1 = 'Case 2'", "has no column Case 2"),
    ],
)  # fmt: skip
def test_mistakes(load: Load, tmp_path: Path, text: str, says: str) -> None:
    path = f"[labels]\nrater = 'Who'\n{text}\n"
    with pytest.raises(InputError, match=says):
        load("labels", "Who,Case 1\nann,A\n", mapping=path)
