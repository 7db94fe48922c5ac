"""Labels: which case, which scale, which way round."""

from __future__ import annotations

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of, verdicts_of

LISTS = "user_id,system,item_id,rank\nu,a,1,1\nu,b,2,1\n"


@pytest.mark.parametrize(
    ("given", "a", "b", "value", "label"),
    [
        ("A", "old", "new", -1.0, "B"), ("a wins", "new", "old", 1.0, "A"), ("B", "old", "new", 1.0, "A"),
        ("Tie", "old", "new", 0.0, "Tie"), ("tie", "new", "old", 0.0, "Tie"), ("old", "old", "new", -1.0, "B"),
        ("new", "old", "new", 1.0, "A"), ("-1.0", "new", "old", -1.0, "B"), ("Set 2", "new", "old", -1.0, "B"),
        ("model_a", "old", "new", -1.0, "B"), ("model_b", "new", "old", -1.0, "B"),
        ("Tie (bothbad)", "new", "old", 0.0, "Tie"),
    ],
)  # fmt: skip
def test_pairs_are_turned_to_the_order_of_names(
    load: Load, db: Database, given: str, a: str, b: str, value: float, label: str
) -> None:
    load("labels", f"rater,user_id,system_a,system_b,aspect,value\nann,u,{a},{b},overall,{given}\n")
    columns = "system_a, system_b, value, label, protocol, aspect, rule, state"
    assert verdicts_of(db, columns) == [("new", "old", value, label, "pairwise", "overall", "as given", "ok")]
    assert str(verdicts_of(db, "value")[0][0]) != "-0.0"


@pytest.mark.parametrize(
    ("given", "value", "label"),
    [("Good", 2, "Good"), ("partial match", 1, "Partial"), ("POOR MATCH", 0, "Poor")],
)  # fmt: skip
def test_match_labels(load: Load, db: Database, given: str, value: float, label: str) -> None:
    load("labels", f"rater,user_id,system,value\nann,u,s,{given}\n")
    assert verdicts_of(db, "value, label, protocol, system_a, system_b") == [
        (value, label, "pointwise", "s", "")
    ]


def test_scores(load: Load, db: Database) -> None:
    load(
        "labels",
        "rater,user_id,item_id,system,aspect,value,protocol\n"
        "user,u,1,s,accuracy,4,\n"
        "ann,u,,s,overall,0.25,absolute\n"
        "ann,u,,,quality,87.5,\n",
    )
    assert verdicts_of(db, "rater, rater_kind, protocol, item_id, system_a, aspect, value, label") == [
        ("user", "ground_truth", "explanation", "1", "s", "accuracy", 4.0, "4"),
        ("ann", "annotator", "absolute", "", "s", "overall", 0.25, "0.25"),
        ("ann", "annotator", "explanation", "", "", "quality", 87.5, "87.5"),
    ]
    kinds = [row["kind"] for row in db.rows("SELECT kind FROM cases ORDER BY id")]
    assert kinds == ["explanation", "list", "explanation"]


@pytest.mark.parametrize(
    ("header", "row", "says"),
    [
        ("item_id,system", "1,s,", "no value for overall by ann; left out"),
        ("item_id,system", "1,s,NaN", "no value for overall by ann; left out"),
        ("system,protocol", "s,nonsense,1", "protocol “nonsense” is not one of"),
        ("system,protocol", "s,pairwise,1", "protocol pairwise does not fit"),
        ("system_a,system_b", "x,,A", "only one of system_a and system_b"),
        ("system_a,system_b", "x,x,A", "system_a and system_b are both “x”"),
        ("system,rater_kind", "s,robot,Good", "rater_kind “robot” is not one of"),
    ],
)
def test_values_that_do_not_fit(load: Load, db: Database, header: str, row: str, says: str) -> None:
    good = (
        ",".join({"rater": "ann", "user_id": "good", **dict.fromkeys(header.split(","), "")}.values())
        + ",1\n"
    )
    summary = load("labels", f"rater,user_id,{header},value\n{good}ann,u,{row}\n")
    assert (summary.stored, summary.skipped) == (1, 1)
    assert f"in.csv:3: {says}" in summary.warnings[0]


@pytest.mark.parametrize(
    "flags",
    [
        '"[{""item_id"": 12, ""issue"": ""off-category"", ""reason"": """"}, {""item_id"": ""x:1"", ""issue"": ""other""}]"',
        "12:off-category; x:1:other",
        '"[""12:off-category"", ""x:1:other""]"',
    ],
)
def test_flags(load: Load, db: Database, flags: str) -> None:
    summary = load("labels", f"rater,user_id,system,value,flags,note\nann,u,s,Poor,{flags},see there\n")
    assert summary.warning_count == 0
    found = rows_of(db, "SELECT item_id, issue FROM v_flags WHERE rater = 'ann'")
    assert found == [("12", "off-category"), ("x:1", "other")]
    assert verdicts_of(db, "flag_count, note") == [(2, "see there")]


@pytest.mark.parametrize("flags", ["nonsense", '"[{]"', '"[1]"', '"[{""issue"": ""other""}]"', ":other"])
def test_bad_flags_leave_the_label(load: Load, db: Database, flags: str) -> None:
    summary = load("labels", f"rater,user_id,system,value,flags\nann,u,s,Poor,{flags}\n")
    assert (summary.stored, summary.warning_kinds) == (1, {"bad flags": 1})
    assert verdicts_of(db, "flag_count") == [(0,)]


def test_flags_in_json_lines(load: Load, db: Database) -> None:
    load(
        "labels",
        '{"rater": "ann", "user_id": "u", "system": "s", "value": "Poor", "flags": [{"item_id": 7, "issue": "other"}]}',
        "in.jsonl",
    )
    assert db.value("SELECT item_id FROM flags") == "7"


def test_labels_are_tied_to_lists_that_are_known(load: Load, db: Database) -> None:
    load("lists", LISTS, "lists.csv")
    load("explanations", "user_id,item_id,system,text\nu,1,x,because\n", "e.csv")
    load(
        "labels",
        "rater,user_id,item_id,system,system_a,system_b,value\n"
        "ann,u,,a,,,Good\nann,u,,,b,a,A\nann,u,1,x,,,3\nann,u,,,a,elsewhere,A\nann,v,,a,,,Good\n",
    )
    cases = rows_of(db, "SELECT kind, slate_a, slate_b, explanation_id FROM cases ORDER BY id")
    assert cases == [
        ("list", 1, None, None), ("pair", 1, 2, None), ("explanation", None, None, 1), ("pair", None, None, None),
        ("list", None, None, None),
    ]  # fmt: skip


def test_labels_before_their_lists_meet_the_judges_all_the_same(load: Load, db: Database) -> None:
    load("labels", "rater,user_id,system,value\nann,u,a,Good\n")
    load("lists", LISTS, "lists.csv")
    case = ensure_case(db, 1, CaseKey("list", "u", "a", slate_a=1))
    assert case == db.value("SELECT case_id FROM verdicts")


def test_rows_that_do_not_tell_the_cases_apart_are_an_error(load: Load, db: Database) -> None:
    votes = "".join(f"ann,u{n % 10},x,y,{'A' if n % 10 < 6 else 'B'},s{n // 10}\n" for n in range(30))
    with pytest.raises(InputError) as refused:
        load("labels", "rater,user_id,system_a,system_b,value,visit\n" + votes)
    assert "20 of 30 cannot be used (20 × repeated vote)" in refused.value.cause
    assert "name the session, query or battle of each row in a column context" in refused.value.next_step
    assert db.value("SELECT count(*) FROM verdicts") == 0
    kept = load("labels", "rater,user_id,system_a,system_b,value,session\n" + votes)
    assert (kept.stored, kept.skipped) == (30, 0)


def test_a_rater_is_of_one_kind(load: Load, db: Database) -> None:
    with pytest.raises(InputError, match=r"in.csv:3: rater “ann” is of kind annotator, not metric"):
        load("labels", "rater,user_id,system,value,rater_kind\nann,u,s,Good,\nann,v,s,Good,metric\n")
    assert db.value("SELECT count(*) FROM projects") == 0


def test_answers_that_failed_are_failed_verdicts(load: Load, db: Database) -> None:
    summary = load(
        "labels",
        "rater,rater_kind,user_id,system_a,system_b,value,state,note\n"
        "gpt,judge,u1,x,y,A,ok,\ngpt,judge,u2,y,x,,failed,no JSON\ngpt,judge,u3,x,y,both!,Unparsable,\n"
        "gpt,judge,u4,x,y,,,\ngpt,judge,u5,x,y,B,CA,\n",
    )
    assert (summary.stored, summary.skipped) == (4, 1)
    assert summary.warning_kinds == {"no value": 1, "unknown state": 1}
    assert verdicts_of(db, "user_id, state, value, label, note") == [
        ("u1", "ok", 1.0, "A", ""),
        ("u2", "failed", None, "", "no JSON"),
        ("u3", "failed", None, "", ""),
        ("u5", "ok", -1.0, "B", ""),
    ]
    assert "gpt has no readable answer" in summary.files[0].examples[1]


def test_a_failed_answer_is_a_vote_on_its_case(load: Load) -> None:
    header = "rater,user_id,system,value,state\n"
    load("labels", header + "gpt,u,s,,failed\ngpt,v,s,Good,\n", "1.csv")
    again = load("labels", header + "gpt,u,s,,failed\ngpt,v,s,Poor,\ngpt,u,s,Good,\ngpt,w,s,Good,\n", "2.csv")
    assert (again.stored, again.unchanged, again.skipped) == (1, 1, 2)
    assert "“gpt” failed on overall of this case in import 1" in again.warnings[1]


def test_battles_of_other_tools(load: Load, db: Database) -> None:
    load(
        "labels",
        "rater,user_id,system_a,system_b,aspect,value,protocol\n"
        "ann,battle-1,x,y,overall,A,arena\nann,battle-1,x,y,accuracy,Tie,arena\nann,battle-2,y,x,overall,A,arena\n",
    )
    assert rows_of(
        db, "SELECT system, opponent, wins, ties, losses FROM v_leaderboard WHERE aspect = 'overall'"
    ) == [("x", "y", 1, 0, 1), ("y", "x", 1, 0, 1)]
    assert db.value("SELECT count(*) FROM cases") == 2


def _kinds(db: Database) -> dict[str, str]:
    return {row["name"]: row["kind"] for row in db.rows("SELECT name, kind FROM raters")}


@pytest.mark.parametrize("kind", ["annotator", "judge"])
def test_the_column_decides_and_later_files_follow(load: Load, db: Database, kind: str) -> None:
    for name in ("gpt-4o", "anna"):
        rows = f"rater,user_id,system,value,rater_kind\n{name},u,s,Good,{kind}\n"
        assert load("labels", rows).files[0].remarks == ()
        assert load("labels", f"rater,user_id,system,value\n{name},v,s,Good\n").files[0].remarks == ()
    assert _kinds(db) == {"gpt-4o": kind, "anna": kind}
