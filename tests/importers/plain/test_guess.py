"""What a table is taken for by its columns, and the question where they do not decide."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.reader import sample_of
from recjudge_tui.importers.registry import FilesByKind, guess
from recjudge_tui.store.database import Database

CERTAIN: list[tuple[str, str, ImportKind]] = [
    ("lists named by their length", 'user_id,top_5\n1,"2, 3"\n2,"3, 4"\n', "lists"),
    ("lists of users called id", '{"id": "u1", "ids": ["i1", "i2"]}\n', "lists"),
    ("numbers named like a length", "user_id,top_5\n1,2\n2,3\n", "users"),
    ("Microsoft", "userID,itemID,prediction\n1,10,4.5\n", "lists"),
    ("Microsoft's ratings", "userID,itemID,rating,timestamp\n1,10,4,881250949\n", "events"),
    ("Surprise", "uid,iid,r_ui,est,details\n1,10,4.0,3.9,{}\n", "lists"),
    ("LensKit", "user,item,rank,score\n1,10,1,0.9\n", "lists"),
    ("LensKit, one table of all", "item,score,user,rank,Algorithm\n10,0.9,1,1,ALS\n", "lists"),
    ("RecPack", "uid,iid,score\n1,10,0.93\n1,11,0.91\n", "lists"),
    ("Cornac, implicit", "user_id\titem_id\tscore\n1\t10\t0.93\n", "lists"),
    ("marks beside a system", "user,item,system,score\n1,10,als,5\n", "lists"),
    ("scores of a query at a time", "user,qid,item,score,system,time\n1,q,10,5,als,881250949\n", "lists"),
    ("Elliot", "1\t10\t0.93\n1\t11\t0.91\n", "lists"),
    ("ratings without a header", "1,10,4.5,881250949\n1,11,3,881250950\n", "events"),
    ("ratings without times", "user,movie_id,stars\n1,10,4\n", "events"),
    ("a rating beside a text", "user_id,item_id,rating,text\n1,10,4,Good\n", "events"),
    ("clicks", "visitorid,itemid,event,timestamp\n1,10,view,1433221332117\n", "events"),
    ("searches", "user_id,query,type\n1,red lamp,search\n", "events"),
    ("cells", "user_id,recommendations\n1,\"[10, 11]\"\n", "lists"),
    ("wide", "user,rec1,rec2\n1,10,11\n", "lists"),
    ("explanations", "user,item,model,explanation\n1,10,gpt,Because\n", "explanations"),
    ("labels", "annotator,user,model_a,model_b,winner\nann,1,a,b,A\n", "labels"),
    ("battles", "question_id,model_a,model_b,winner,judge\n1,a,b,A,ann\n", "labels"),
    ("Book-Crossing", "User-ID;ISBN;Book-Rating\n276725;034545104X;0\n", "events"),
    ("users", "user,age,country\n1,33,NZ\n2,40,DK\n", "users"),
    ("users with words in cells", "user,likes\n1,drama|comedy\n2,drama\n", "users"),
    ("items with a second number", "id,title,isbn\n1,Lamp,978\n", "items"),
    ("items", "asin,title,price\n1,Lamp,3\n", "items"),
    ("items by another name", "id,title\n1,Lamp\n", "items"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), [c[1:] for c in CERTAIN], ids=[c[0] for c in CERTAIN])
def test_certain(tmp_path: Path, text: str, kind: ImportKind) -> None:
    path = tmp_path / "in.csv"
    path.write_text(text)
    assert guess(sample_of(path)) == (kind, ())
    found = FilesByKind()
    found.add([path], None)
    assert found.files == {kind: [path]}


UNCERTAIN = [
    ("pairs", "user,item\n1,10\n1,11\n", ["lists", "events"]),
    ("pairs with a time", "user,item,time\n1,10,881250949\n", ["lists", "events"]),
    ("marks called scores", "user,item,score\n1,10,5\n1,11,3\n", ["lists", "events"]),
    ("marks without a header", "1\t10\t5\n1\t11\t3\n", ["lists", "events"]),
    ("scores with a time", "user,item,score,time\n1,10,0.53,881250949\n", ["lists", "events"]),
    ("a rating by a system", "user,item,system,rating\n1,10,als,4\n", ["lists", "events"]),
    ("a position and a click", "user,item,position,action\n1,10,1,click\n", ["lists", "events"]),
    ("a text", "user,item,text\n1,10,Because\n", ["explanations", "events"]),
    ("queries", "user,query\n1,lamp\n", ["users", "events"]),
    ("users twice", "user,colour\n1,red\n2,red\n1,blue\n", ["users"]),
    ("users with ratings", "user,rating\n1,4\n", ["users"]),
    ("users with times", "user,date\n1,2024-05-01\n", ["users"]),
    ("users with marks", "user,film_score\n1,4\n", ["users"]),
    ("lists under another name", "customer_id,prediction\n1,0568 0569\n2,0570 0571\n", ["users", "lists"]),
    ("a column for each system", "user,als,pop\n1,\"i1,i2\",\"i3,i4\"\n", ["users", "lists", "lists"]),
    ("lists of objects", '{"userId": 1, "itemScores": [{"item": 2, "score": 0.5}]}\n', ["users", "lists"]),
    ("ids and names", "id,name\n1,Ann\n", ["users", "items"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kinds"), [c[1:] for c in UNCERTAIN], ids=[c[0] for c in UNCERTAIN])
def test_uncertain_files_are_asked_about(db: Database, tmp_path: Path, text: str, kinds: list[str]) -> None:
    path = tmp_path / "my file.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"cannot tell what .*my file\.csv contains") as raised:
        import_paths(db, "my films", [path], None)
    steps = raised.value.next_step.splitlines()[1:]
    start = f"recjudge import '{path}' -p 'my films' --as "
    assert [step.strip().removeprefix(start).split()[0] for step in steps] == kinds
    assert db.value("SELECT count(*) FROM projects") == 0


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        ("lists", {"system": "s"}, "user,item\n1,10\n1,11\n"),
        ("events", {"event_type": "click"}, "user,item\n1,10\n1,11\n"),
        ("events", {}, "1\t10\t5\n1\t11\t3\n"),
        ("lists", {"system": "s"}, "1\t10\t5\n1\t11\t3\n"),
        ("users", {}, "user,colour\n1,red\n2,red\n"),
    ],
)
def test_the_answer_to_the_question_imports(
    db: Database, tmp_path: Path, kind: ImportKind, options: dict[str, str], text: str
) -> None:
    path = tmp_path / "in.csv"
    path.write_text(text)
    [summary] = import_paths(db, "p", [path], kind, **options)  # type: ignore[arg-type]
    assert (summary.stored, summary.skipped) == (2, 0)


def test_the_mapping_that_the_question_proposes_imports(db: Database, tmp_path: Path) -> None:
    path, mapping = tmp_path / "in.csv", tmp_path / "map.toml"
    path.write_text("Customer ID,prédiction\n1,0568 0569\n2,0570 0571\n")
    with pytest.raises(InputError) as raised:
        import_paths(db, "p", [path], None)
    assert "--system prédiction --mapping FILE.toml" in raised.value.next_step.replace("'", "")
    mapping.write_text(raised.value.next_step.split("that says: ")[1])
    [summary] = import_paths(db, "p", [path], "lists", system="als", mapping=mapping)
    assert summary.stored == 4


def test_a_system_on_the_command_line_makes_pairs_lists(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("user,item\n1,10\n1,11\n")
    [summary] = import_paths(db, "p", [path], None, system="pop")
    assert (summary.kind, summary.stored) == ("lists", 2)


def test_an_id_that_repeats_far_below_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    rows = "".join(f"user{n},something that makes the row long enough\n" for n in range(3000))
    path.write_text("user,words\n" + rows)
    assert guess(sample_of(path))[0] == "users"
    path.write_text("user,words\n" + rows + "user7,again\n")
    assert guess(sample_of(path))[0] is None


def test_no_table_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for text in ("colour,weight\nred,3\n", "one\n", "item,price\n1,2\n"):
        path.write_text(text)
        assert guess(sample_of(path)) == (None, ())


NAMES = st.sampled_from(
    (
        "user uid item iid score rating rank time type system text title id name recs rec1 rec2 value rater case_id"
        ' 1 2 0.5 [1,2] " { \ufeff é .'
    ).split()
).map(lambda name: name.strip("."))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(NAMES, min_size=1, max_size=5), min_size=1, max_size=4), st.sampled_from(",\t;|"))
def test_any_table_is_imported_asked_about_or_refused(
    db: Database, tmp_path: Path, rows: list[list[str]], delimiter: str
) -> None:
    """Nothing but an InputError that says something, and no import that stores nothing."""
    path = tmp_path / "in.csv"
    path.write_text("\n".join(delimiter.join(row) for row in rows) + "\n")
    stored, title = 0, ""
    try:
        stored = sum(summary.stored for summary in import_paths(db, "p", [path], None, dry_run=True))
    except InputError as error:
        title = error.title
    assert bool(stored) != bool(title)
    assert db.value("SELECT count(*) FROM projects") == 0
