"""Lists in every form that people have them in: what is stored, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.lists import places_of
from recjudge_tui.importers.reader import Sample
from recjudge_tui.importers.registry import layouts
from recjudge_tui.importers.values import RowFault
from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

IN_CELLS = "each row holds a list, ranked in its order"
BY_SCORE = "ranked by score, highest first; ties by item id in descending order, as in trec_eval"
LISTS = {"u": ["3", "1", "2"], "v": ["9"]}


def _stored(db: Database) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in db.rows(
        """SELECT c.user_id, i.item_id FROM v_current_slates c
           JOIN slate_items i ON i.slate_id = c.slate_id ORDER BY c.slate_id, i.rank"""
    ):
        found.setdefault(row[0], []).append(row[1])
    return found


FORMS = {
    "json": 'user,recs\nu,"[3, 1, 2]"\nv,[9]\n',
    "python": "user;recs\nu;['3', '1', '2']\nv;['9']\n",
    "tuple": "user;recs\nu;(3, 1, 2)\nv;(9,)\n",
    "numpy": "user;recs\nu;[3 1 2]\nv;[9]\n",
    "numpy of text": "user;recs\nu;['3' '1'\\n '2']\nv;['9']\n".replace("\\n", ""),
    "numpy 2": "user;recs\nu;[np.int64(3), np.int64(1), np.int64(2)]\nv;[np.int64(9)]\n",
    "structs of Spark": 'user,recs\nu,"[{3, 0.9}, {1, 0.5}, {2, 0.1}]"\nv,"[{9,1}]"\n',
    "rows of Spark": "user;recs\nu;[Row(item=3, rating=0.9), Row(item=1, rating=0.5), Row(item='2', rating=0.1)]\nv;[9]\n",
    "bars": "user,recs\nu,3|1|2\nv,9\n",
    "spaces around quotation marks": '"user" , "recs"\n"u" , "3, 1,2"\n"v","9"\n',
    "spaces around some": 'user;recs\nu; "3|1|2" \n"v" ;9\n',
    "named by its length": 'user,top_3\nu,"[3, 1, 2]"\nv,[9]\n',
    "commas": 'user,recs\nu,"3, 1,2"\nv,9\n',
    "blanks": "user,recs\nu,3 1  2\nv,9\n",
    "bars in item_id": "user,item_id\nu,3|1|2\nv,9\n",
    "brackets in item_id": 'user,item_id\nu,"[3, 1, 2]"\nv,9\n',
    "wide": "user,rec1,rec2,rec3\nu,3,1,2\nv,9,,\n",
    "wide, any order": "item_2,user,item_0,item_1\n2,u,3,1\n,v,9,\n",
    "wide, only numbers": "user,1,2,3\nu,3,1,2\nv,9,,\n",
    "json lines": '{"user": "u", "items": [3, 1, 2]}\n{"user": "v", "items": [9]}\n',
    "json array": '[{"user": "u", "items": ["3", "1", "2"]}, {"user": "v", "items": ["9"]}]',
    "json array, long": json.dumps(
        [{"user": u, "item": i, "rank": n} for u, items in LISTS.items() for n, i in enumerate(items)], indent=1
    ),
    "json lines of ids": '{"user": "u", "ids": [3, 1, 2]}\n{"user": "v", "ids": [9]}\n',
    "json lines of ids of id": '{"id": "u", "ids": [3, 1, 2]}\n{"id": "v", "ids": [9]}\n',
    "falling ranks": "user,item,rank\nu,2,3\nv,9,1\nu,1,2\nu,3,1\n",
    "ranks in steps": "user,item,rank\nu,3,10\nu,2,30\nu,1,20\nv,9,10\n",
    "ranks in steps from 1": "user,item,rank\nu,3,1\nu,2,11\nu,1,6\nv,9,1\n",
    "ranks in steps from 0": "user,item,rank\nu,3,0\nu,2,4\nu,1,2\nv,9,0\n",
    "json lines of preds": '{"uid": "u", "preds": [3, 1, 2], "scores": [0.9, 0.5, 0.1]}\n{"uid": "v", "preds": [9]}\n',
    "objects with ranks": '[{"user": "u", "recs": [{"item": 2, "rank": 3}, {"item": 3, "rank": 1}, {"item": 1, "rank": 2}]},'
    ' {"user": "v", "recs": [{"id": 9, "rank": 1}]}]',
    "an object of scores": '{"user": "u", "recs": {"1": 0.4, "2": 0.1, "3": 2}}\n{"user": "v", "recs": {"9": 1}}\n',
    "an object of scores in Python": "user;recs\nu;{'1': 0.4, '2': 0.1, '3': 2}\nv;{9: 1}\n".replace("{9", "{'9'"),
    "objects": '[{"user": "u", "recs": [{"item": 3}, {"item": 1}, {"item": 2}]}, {"user": "v", "recs": [{"id": 9}]}]',
    "rows in order": "user,item\nu,3\nv,9\nu,1\nu,2\n",
    "by user": '{"u": ["3", "1", "2"], "v": [9]}',
    "by user, with scores": '{"u": [[3, 0.5], [1, 0.4], [2, 0.1]], "v": [{"item": 9, "score": 1}]}',
    "scores": "user,item,score\nu,2,0.1\nv,9,1e-3\nu,3,7\nu,1,0.11\n",
    "scores without a header": "u\t2\t0.1\nv\t9\t1e-3\nu\t3\t7\nu\t1\t0.11\n",
}  # fmt: skip


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_lists(load: Load, db: Database, content: str) -> None:
    summary = load("lists", content, system="s")
    assert (summary.stored, summary.skipped, set(summary.warning_kinds)) == (4, 0, {"no items yet"})
    assert _stored(db) == LISTS


def _said(summary: ImportSummary) -> tuple[str, tuple[str, ...]]:
    return summary.files[0].columns, summary.files[0].remarks


@pytest.mark.parametrize(
    ("content", "columns", "remarks"),
    [
        ("userID,itemID,prediction\n1,2,3\n", "userID as user_id, itemID as item_id, prediction as score", (BY_SCORE,)),
        ("uid,iid,r_ui,est\n1,2,3,4\n", "uid as user_id, iid as item_id, est as score; ignored: r_ui", (BY_SCORE,)),
        ("user_id,item_id,rank\n1,2,1\n", "user_id, item_id, rank", ()),
        ("user,item,rating\n1,2,3.5\n", "user as user_id, item as item_id, rating as score", (BY_SCORE,)),
        (
            "user,qid,item,score,time\n1,q,2,0.5,2024-05-01\n",
            "user as user_id, qid as context, item as item_id, score, time as served_at",
            (BY_SCORE,),
        ),
        ("user,item,rank,\x1b[31mred\n1,2,1,x\n", "user as user_id, item as item_id, rank; ignored: [31mred", ()),
        (
            "query_id,doc_id,position,relevance\nq,d,1,0\n",
            "query_id as user_id, doc_id as item_id, position as rank; ignored: relevance",
            (),
        ),
        ('{"user": 1, "recs": {"2": 0.5, "3": 0.7}}', "user as user_id, recs as items", (BY_SCORE,)),
        ('{"user": 1, "ids": [2, 3], "scores": [1, 0]}', "user as user_id, ids as items, scores", (IN_CELLS,)),
        (
            '{"user": 1, "ids": [2, 3, 4], "scores": [2, 1, 3]}',
            "user as user_id, ids as items, scores",
            (
                IN_CELLS,
                ("ranks and scores contradict each other in 1 of 1 lists (a higher score is below a lower one): the ranks"
                " are kept"),
            ),
        ),
        ('id,top_5\n1,"2,3"\n', "id as user_id, top_5 as items", (IN_CELLS,)),
        (
            "user,item,rank\n1,2,10\n1,3,20\n2,4,10\n2,3,30\n2,2,20\n",
            "user as user_id, item as item_id, rank",
            ("the ranks go in steps of 10 (10, 20, 30, …): the items keep this order",),
        ),
        ("user,rec1,rec2\n1,2,3\n", "user as user_id, rec1 to rec2 as the positions of the list", ()),
        (
            "user,item\n1,2\n",
            "user as user_id, item as item_id",
            ("no rank and no score: ranked in the order of the rows",),
        ),
        (
            "1,2,0.5\n",
            "user_id, item_id, score",
            ("no header: the columns are taken in the usual order", BY_SCORE),
        ),
    ],
)  # fmt: skip
def test_messages_of_the_import(load: Load, content: str, columns: str, remarks: tuple[str, ...]) -> None:
    assert _said(load("lists", content, system="s")) == (columns, remarks)


def test_a_rank_takes_precedence_over_a_score(load: Load, db: Database) -> None:
    load("lists", "user,item,rank,score\nu,a,2,0.9\nu,b,1,0.1\n", system="s")
    assert _stored(db) == {"u": ["b", "a"]}


def test_an_object_in_a_cell_that_is_no_list_is_left_out(load: Load) -> None:
    content = '{"user": 1, "recs": {"2": 0.5}}\n{"user": 2, "recs": {"2": [1]}}\n{"user": 3, "recs": {"2": "high"}}\n'
    summary = load("lists", content, system="s")
    assert (summary.stored, summary.skipped) == (1, 2)
    assert '2: “{"2": ["1"]}” is neither a list nor items with their scores' in "".join(summary.warnings)


def test_scores_that_do_not_fit_are_left_out(load: Load) -> None:
    summary = load("lists", 'user,items,scores\nu,"[2, 1]","[0.5, 0.25]"\nv,"[3, 4]",[0.5]\n', system="s")
    assert summary.warning_kinds == {"no items yet": 1, "items without a score": 1}
    summary = load("lists", "user,item,score\nu,1,0.5\nu,2,high\nu,,0.5\n", "2.csv", system="t")
    assert (summary.stored, summary.skipped) == (1, 2)
    assert summary.warning_kinds == {"no items yet": 1, "not a finite number": 1, "no item_id": 1}


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []), ("[]", []), ("[ ]", []), ("7", ["7"]), ("[0012, 7]", ["0012", "7"]),
        ("[4376251640447208384]", ["4376251640447208384"]), ("['it''s', \"b c\"]", ["it", "s", "b c"]),
        ("[null, 3]", ["3"]), ('[["3", null], [null, 0.5]]', ["3"]), ("a;b;;c", ["a", "b", "c"]),
        ("[1; 2]", ["1", "2"]), (r"['O\'Brien (1979)', 'x']", ["O'Brien (1979)", "x"]),
        ("['1_0' 'b (c)']", ["1_0", "b (c)"]), ("[1_0, 0x1F]", ["1_0", "0x1F"]), ("('a', 'b')", ["a", "b"]),
        ("[np.int64(7), np.str_('b')]", ["7", "b"]), ("[7. 12. 3.]", ["7", "12", "3"]), ("[1. 2.5]", ["1.", "2.5"]),
        ("[The Matrix, Heat (1995]", None), ("[The Matrix, Heat]", ["The Matrix", "Heat"]),
        ("['The Matrix, 2', Heat]", ["The Matrix, 2", "Heat"]), ("[Schindler's List, Ocean's 8]", None),
        ("[Schindler's List, Heat]", None), ("Heat\nThe Matrix\n", ["Heat", "The Matrix"]),
        ("1. Heat\n2. Jaws", None), ("1) Heat, Jaws", None), ("5 > 9 > 2", None), ("5 -> 9", None),
        ("array([5, 9])", None), ("{5, 9}", None), ("[5, 9, 1", None), ("[5, ..., 9]", None), ("[5 9 ... 1]", None),
    ],
)  # fmt: skip
def test_places_of(text: str, items: list[str] | None) -> None:
    if items is not None:
        assert places_of(text) == [(item, "") for item in items]
        return
    with pytest.raises(RowFault, match=r"list|shortened"):
        places_of(text)


def test_lists_by_user_leave_out_what_is_no_list(load: Load, db: Database) -> None:
    content = '{"u": ["3", "1", "2"], "v": ["9"], "u": ["7"], "w": [], "x": "9", " ": ["1"]}'
    summary = load("lists", content, "itemknn.json", layout="lists-by-user")
    assert _stored(db) == LISTS
    assert summary.skipped == 4
    assert "it gets the file's name, “itemknn”" in summary.files[0].remarks[1]


def test_items_by_user_are_asked_about_unless_a_kind_or_a_system_is_named(
    tmp_path: Path, db: Database
) -> None:
    path = tmp_path / "ease.json"
    path.write_text('{"u": ["3", "1", "2"], "v": [["9", 4]]}', encoding="utf-8")
    with pytest.raises(InputError, match="cannot tell what") as error:
        import_paths(db, "p", [path], None)
    assert "--as lists --system NAME" in str(error.value.next_step)
    assert "--as events --type TYPE" in str(error.value.next_step)
    import_paths(db, "p", [path], None, system="ease")
    assert _stored(db) == LISTS
    import_paths(db, "p", [path], "events", event_type="purchase")
    assert rows_of(db, "SELECT user_id, item_id, type, value FROM events ORDER BY id") == [
        *(("u", item, "purchase", None) for item in "312"), ("v", "9", "purchase", 4.0),
    ]  # fmt: skip


def test_a_table_of_another_shape_is_not_taken_for_lists_by_user(tmp_path: Path) -> None:
    text = '{"columns": ["user", "item"], "index": [0, 1], "data": [["u", 3], ["u", 1]]}'
    assert not next(layout for layout in layouts() if layout.name == "lists-by-user").fits(
        Sample(tmp_path / "lists.json", text), "lists"
    )


def test_a_gap_in_a_wide_table_is_named(load: Load) -> None:
    with pytest.raises(InputError, match="“rec3” is followed by “rec10”"):
        load("lists", "user,rec1,rec2,rec3,rec10\nu,3,1,2,4\n", system="s")


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        ("user,item,distance\nu,2,0.9\nu,3,0.1\nu,1,.4\nv,9,0\n", "ranked by distance, lowest first"),
        ("user,item,rank,distance\nu,3,1,.1\nu,1,2,.4\nu,2,3,.9\nv,9,1,0\n", ""),
        (
            "user,item,rank,score\nu,3,1,.1\nu,1,2,.4\nu,2,3,.9\nw,1,1,2\nw,4,2,3\nv,9,1,0\n",
            "the score rises with the rank in all 2 lists",
        ),
    ],
)
def test_lower_scores_that_are_better_are_stored_with_the_opposite_sign(
    load: Load, db: Database, content: str, remark: str
) -> None:
    [file] = load("lists", content, system="s").files
    assert {user: items for user, items in _stored(db).items() if user != "w"} == LISTS
    assert [said.startswith(remark) for said in file.remarks] == ([True] if remark else [])
    assert db.column(
        "SELECT i.score FROM slate_items i JOIN slates s ON s.id = slate_id WHERE user_id = 'u' ORDER BY rank"
    ) == [-0.1, -0.4, -0.9]


def test_scores_that_begin_with_the_lowest_are_pointed_out(load: Load) -> None:
    content = "user,item,score\nu,3,1\nu,1,2\nv,9,1\nv,3,2\n"
    for counted in (content, content.removeprefix("user,item,score\n")):
        with pytest.raises(InputError, match="They may be ranks"):
            load("lists", counted, system="s")
    [file] = load("lists", content.replace("v,3,2", "v,3,4"), system="s").files
    assert "a lower score is better" in file.remarks[-1]
    [file] = load("lists", content.replace("v,3,2", "v,3,0"), "2.csv", system="t").files
    assert file.remarks == (BY_SCORE,)


def test_times_of_items_do_not_cut_lists(load: Load) -> None:
    content = "user,item,score,timestamp\n" + "".join(f"u,{n},{n},{978300760 + n}\n" for n in (3, 2, 1))
    with pytest.raises(InputError, match="cuts nearly every list"):
        load("lists", content, system="s")
    assert load("lists", content.replace("timestamp", "served_at"), "2.csv", system="s").stored == 3


def test_one_list_whose_scores_rise_keeps_them(load: Load, db: Database) -> None:
    load("lists", "user,item,rank,score\nu,3,1,1\nu,1,2,2\n", system="s")
    assert db.column("SELECT score FROM slate_items ORDER BY rank") == [1, 2]


def test_ranks_that_contradict_the_scores_are_counted(load: Load, db: Database) -> None:
    content = "user,item,rank,score\nu,3,1,0.1\nu,1,2,0.9\nu,2,3,\nv,9,1,0.2\n"
    [file] = load("lists", content, system="s").files
    assert _stored(db) == LISTS
    [remark] = file.remarks
    assert remark.startswith("ranks and scores contradict each other in 1 of 2 lists")
