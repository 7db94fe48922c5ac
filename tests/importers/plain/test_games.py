"""Judgements of pairs in a known order: a row for each game, or one row with both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import make
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.verdicts import EXPORTED, exported_rows
from tests.support.importing import Load, rows_of

# the judge prefers the first list on q2 and q3, fails on q4, is consistent on q1 and q5
GAMES = (
    "judge,question_id,system_a,system_b,shown_first,winner,state\n"
    "qwen,q1,new,old,new,new,ok\nqwen,q2,new,old,new,new,ok\nqwen,q3,new,old,old,old,ok\n"
    "qwen,q1,new,old,old,new,ok\nqwen,q2,new,old,old,old,ok\nqwen,q3,new,old,new,first,ok\n"
    "qwen,q4,new,old,new,tie,ok\nqwen,q4,new,old,old,,error\n"
    "qwen,q5,new,old,new,tie,ok\nqwen,q5,new,old,old,tie,ok\n"
)
SWAPS = [
    {"question_id": 81, "model_1": "b-bot", "model_2": "a-bot", "judge": ["gpt-4", "pair-v2"], "turn": 1, **winners}
    for winners in (
        {"g1_winner": "model_1", "g2_winner": "model_1"},
        {"g1_winner": "model_1", "g2_winner": "model_2"},
        {"g1_winner": "tie", "g2_winner": "model_2"},
        {"g1_winner": "error", "g2_winner": "model_2"},
    )
]  # fmt: skip


def _verdicts(db: Database) -> list[tuple[Any, ...]]:
    return rows_of(
        db, "SELECT user_id, label, state, order_consistent, rule FROM v_verdicts ORDER BY user_id, context"
    )


def report(db: Database, project: int, name: str, **options: object) -> Table:
    made = make(Project.numbered(db, project), name, **options)
    assert isinstance(made, Table)
    return made


def test_two_games_become_one_verdict(load: Load, db: Database) -> None:
    summary = load("labels", GAMES)
    assert _verdicts(db) == [
        ("q1", "A", "ok", 1, "both orders"),
        ("q2", "Tie", "ok", 0, "both orders"),
        ("q3", "Tie", "ok", 0, "both orders"),
        ("q4", "", "failed", None, "both orders"),
        ("q5", "Tie", "ok", 1, "both orders"),
    ]
    assert (summary.stored, summary.skipped) == (5, 0)


def test_leaderboard_and_position_are_those_of_a_judge(load: Load, db: Database) -> None:
    """Counted by hand: q2 and q3 flip, both times for the first list; q4 failed."""
    load("labels", GAMES)
    project = project_id(db, "p")
    new = report(db, project, "leaderboard", protocol="pairwise").rows[0]
    counts = {
        name: new[name] for name in ("system", "wins", "ties", "losses", "position_ties", "failed", "n")
    }
    assert counts == {
        "system": "new", "wins": 1, "ties": 3, "losses": 0, "position_ties": 2, "failed": 1, "n": 4,
    }  # fmt: skip
    (row,) = report(db, project, "robustness position").rows
    seen = {
        name: row[name]
        for name in ("rater", "pairs", "consistent", "true_ties", "position_ties", "set_1", "set_2")
    }
    assert seen == {
        "rater": "qwen", "pairs": 4, "consistent": 2, "true_ties": 1, "position_ties": 2, "set_1": 4, "set_2": 0,
    }  # fmt: skip
    assert row["favour"] == pytest.approx(4 / 8)
    _, raw = report(db, project, "robustness position", counts=True).rows
    assert [raw[name] for name in ("wins", "ties", "losses", "failed")] == [4, 3, 2, 1]


def test_pairs_files_with_both_winners(load: Load, db: Database) -> None:
    lines = [json.dumps({**swap, "question_id": 81 + n}) for n, swap in enumerate(SWAPS)]
    load("labels", "\n".join(lines) + "\n", "gpt-4_pair.jsonl")
    columns = "user_id, context, system_a, system_b, label, order_consistent, rater, rater_kind"
    assert rows_of(db, f"SELECT {columns} FROM v_verdicts ORDER BY 1") == [
        ("81", "1", "a-bot", "b-bot", "B", 1, "gpt-4|pair-v2", "judge"),
        ("82", "1", "a-bot", "b-bot", "Tie", 0, "gpt-4|pair-v2", "judge"),
        ("83", "1", "a-bot", "b-bot", "Tie", 0, "gpt-4|pair-v2", "judge"),
        ("84", "1", "a-bot", "b-bot", "", None, "gpt-4|pair-v2", "judge"),
    ]
    # in game 1 b-bot was first, so it is the order b, a of the case
    assert rows_of(db, "SELECT list_order, value FROM games ORDER BY verdict_id, list_order DESC") == [
        ("ba", -1), ("ab", -1), ("ba", -1), ("ab", 1), ("ba", 0), ("ab", 1), ("ba", None), ("ab", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sides", "labels"), [("systems", ["A", "Tie", "B"]), ("shown", ["Tie", "A", "Tie"])]
)
def test_ambiguous_letters_ask_for_their_meaning(
    load: Load, db: Database, tmp_path: Path, sides: str, labels: list[str]
) -> None:
    rows = "rater,user_id,system_a,system_b,verdict_1,verdict_2\nj,u1,a,b,[[A]],[[A]]\nj,u2,a,b,A,B\nj,u3,a,b,B,B\n"
    with pytest.raises(InputError) as caught:
        load("labels", rows)
    assert "in.csv:2: “[[A]]” may be the system a or list 1 of those shown" in caught.value.title
    assert "sides = " in str(caught.value.next_step)
    mapping = tmp_path / "m.toml"
    names = ("rater", "user_id", "system_a", "system_b", "verdict_1", "verdict_2")
    mapping.write_text(
        "[labels]\n" + "".join(f'{name} = "{name}"\n' for name in names) + f'sides = "{sides}"\n'
    )
    load("labels", rows, mapping=mapping)
    assert [label for _, label, *_ in _verdicts(db)] == labels


def test_one_order_alone_stands_and_the_boards_say_so(load: Load, db: Database) -> None:
    load("labels", "rater,user_id,first,second,winner\nj,u1,b,a,first\nj,u2,b,a,second\nj,u3,b,a,A\n")
    assert _verdicts(db) == [
        ("u1", "B", "ok", None, "one order"),
        ("u2", "A", "ok", None, "one order"),
        ("u3", "B", "ok", None, "one order"),
    ]
    notes = report(db, project_id(db, "p"), "leaderboard", protocol="pairwise").notes
    assert any(
        "j (pairwise) saw each pair in one order" in note and "b came first in 3 of 3" in note
        for note in notes
    )
    ids = db.column("SELECT id FROM verdicts")
    place = EXPORTED.index("shown_first")
    assert [row[place] for row in exported_rows(db, ids)] == ["b", "b", "b"]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("j,u,a,b,c,A", "The column “shown_first” has “c” (1 row)"),
        *((f"j,u,a,b,{n},A\nj,v,a,b,1,A", f"“{n}” (1 row)") for n in (0, 3)),
        ("j,u,a,b,a,", "in.csv:2: no answer in any order; left out"),
        ("j,u,a,,a,a", "in.csv:2: an order is given, but not two systems; left out"),
        ("j,u,a,a,a,a", "in.csv:2: system_a and system_b are both “a”; left out"),
    ],
)
def test_games_that_cannot_be_read(load: Load, row: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        load("labels", f"rater,user_id,system_a,system_b,shown_first,value\n{row}\n")
    assert says in caught.value.cause


def test_a_numbered_answer_may_be_a_system_or_a_place(load: Load) -> None:
    for noun in ("Response", "Option", "answer"):
        rows = "".join(f"j,u{n},a,b,b,{noun} {n}\n" for n in (1, 2))
        with pytest.raises(InputError, match="may be the system"):
            load("labels", f"rater,user_id,system_a,system_b,shown_first,value\n{rows}")


def test_systems_called_a_and_tie(load: Load, db: Database) -> None:
    load(
        "labels",
        "rater,user_id,system_a,system_b,shown_first,value\nj,u,Tie,B,Tie,model_a\nj,u,Tie,B,B,model_a\n",
    )
    columns = "system_a, system_b, label, order_consistent"
    assert rows_of(db, f"SELECT {columns} FROM v_verdicts") == [("B", "Tie", "B", 1)]


@pytest.mark.parametrize("step", [1, -1])
def test_opposite_answers_for_both_orders_of_a_pair_are_a_tie_by_position(
    load: Load, db: Database, step: int
) -> None:
    rows = "ann,u1,x,y,A bob,u1,y,x,y bob,u1,x,y,x ann,u1,y,x,A cid,u1,y,x,A dan,u1,x,y,A".split()
    head = "rater,user_id,system_a,system_b,value\n"
    load("labels", head + "\n".join(rows[::step]) + "\n")
    found = (
        "SELECT rater, label, order_consistent, rule FROM v_verdicts WHERE rater IN ('ann', 'bob') ORDER BY 1"
    )
    assert rows_of(db, found) == [(name, "Tie", 0, "both orders") for name in ("ann", "bob")]
    assert set(rows_of(db, "SELECT list_order, value FROM games")) == {("ab", 1.0), ("ba", -1.0)}
    summary = load("labels", head + "dan,u1,x,y,B\neve,u1,x,y,A\n", "c.csv")
    assert "“dan” answered “x” on overall of this case in import 1" in summary.warnings[0]
