"""What a file is taken for, whatever it is called: by its columns or its beginning, else the question to its owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.reader import Sample, sample_of
from recjudge_tui.importers.registry import PLAIN, FilesByKind, choose_layout, guess, layouts
from recjudge_tui.store.database import Database
from tests.support import samples
from tests.support.samples import ARENA_TABLE, INTER, ITEM

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
    ("a pair without a rater", "user_id,left_system,right_system,choice\n1,a,b,left\n", "labels"),
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


def test_the_mapping_that_the_question_proposes_imports(db: Database, tmp_path: Path) -> None:
    path, mapping = tmp_path / "in.csv", tmp_path / "map.toml"
    path.write_text("Customer ID,prédiction\n1,0568 0569\n2,0570 0571\n")
    with pytest.raises(InputError) as raised:
        import_paths(db, "p", [path], None)
    assert "--system prédiction --mapping FILE.toml" in raised.value.next_step.replace("'", "")
    mapping.write_text(raised.value.next_step.split("that says: ")[1])
    [summary] = import_paths(db, "p", [path], "lists", system="als", mapping=mapping)
    assert summary.stored == 4


def test_an_id_that_repeats_far_below_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    rows = "".join(f"user{n},something that makes the row long enough\n" for n in range(3000))
    path.write_text("user,words\n" + rows)
    assert guess(sample_of(path))[0] == "users"
    path.write_text("user,words\n" + rows + "user7,again\n")
    assert guess(sample_of(path))[0] is None


NAMES = st.sampled_from(
    (
        "user uid item iid score rating rank time type system text title id name recs rec1 rec2 value rater case_id"
        ' 1 2 0.5 [1,2] " { \ufeff é .'
    ).split()
).map(lambda name: name.strip("."))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


# a file's beginning, its layout, and the kinds that it is known to hold
BEGINNINGS = [
    ('{"business_id": "b", "name": "n", "categories": "a, b"}\n', "yelp", "items"),
    ('{"type": "business", "business_id": "b", "name": "n", "categories": ["a"]}\n', "yelp", "items"),
    ('{"user_id": "u", "name": "n", "yelping_since": "2010-01"}\n', "yelp", "users"),
    ('{"review_id": "r", "user_id": "u", "business_id": "b", "stars": 4, "text": "t"}\n', "yelp", "events"),
    ('{"user_id": "u", "business_id": "b", "text": "t", "date": "2010-01-01"}\n', "yelp", "events"),
    ('{"business_id": "b", "date": "2016-04-26 19:49:16"}\n', "plain", ""),
    (ARENA_TABLE, "recsys-arena", "users lists"),
    ("\ufeff" + ARENA_TABLE, "recsys-arena", "users lists"),
    ("user_id,item_id,label,predict,title\n1,2,0,0.5,x\n", "recsys-arena", "items users lists"),
    ("user_id,system,item_id,rank,label,predict\n1,s,2,1,0,0.5\n", "plain", ""),
    (INTER + "1\t2\t3\t4\n", "recbole", "events"),
    (ITEM + "1\tx\t2\ty\t1 2\n", "recbole", "items"),
    ("user_id:token\tage:float\n1\t2\n", "recbole", "users"),
    ("user_id:token,item_id:token\n1,2\n", "plain", ""),
    ("301 Q0 d1 1 2.5 bm25\n" * 3, "trec-run", "lists"),
    ("\n301\t0\td1\t-1\t1e-3\trun name\n301\t0\td1\t-1\t1e-3\trun\n", "plain", ""),
    ("301 0 d1 1\n301 0 d2 0\n", "trec-qrels", "events"),
    ("301\tQ0\td1\t1\r\n", "trec-qrels", "events"),
    ("196\t242\t3\t881250949\n186\t302\t3\t891717742\n", "movielens-100k", "events"),
    ("1::1193::5::978300760\n", "movielens-1m", "events"),
    ("userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n", "movielens-latest", "events"),
    ('[{"id": 1, "annotations": [{"result": []}], "data": {"user_id": "u"}}]', "label-studio", "labels"),
    ('{"id": 1, "data": {}, "completions": []}\n', "label-studio", "labels"),
    ('[{"id": "1", "fields": {}, "metadata": {}, "suggestions": {}, "responses": {}}]', "argilla", "labels"),
    ('{"fields": {}, "responses": [], "external_id": null}\n', "argilla", "labels"),
    ('{"id": "1", "text": "t", "q.responses": ["a"], "q.responses.users": ["u"]}\n', "argilla", "labels"),
    ('{"text": "t", "_input_hash": 1, "_task_hash": 2, "accept": [], "answer": "accept"}\n', "prodigy", "labels"),
    ('{"id": 1, "text": "t", "label": ["a"]}\n', "doccano", "labels"),
    ('{"id": 1, "data": "t", "label": [], "Comments": []}\n', "doccano", "labels"),
    ('[{"id": 1, "text": "t", "annotations": [{"label": 1, "user": 1}], "meta": {}}]', "doccano", "labels"),
    ('{"rater": "a", "user_id": "u", "system": "s", "value": "Good", "label": ["x"], "text": "t", "id": 1}\n', "plain", ""),
    ('{"rater": "a", "user_id": "u", "value": "1", "answer": "accept"}\n', "plain", ""),
    ('{"user_id": "u", "item_id": "i", "type": "review", "business_id": "b", "stars": 3}\n', "plain", ""),
    ('{"item_id": "1", "title": "t", "business_id": "b", "name": "n"}\n', "plain", ""),
    ("rater,user_id,system,value\na,u,s,Good\n", "plain", ""),
    ("item_id,title\n1,a\n", "plain", ""),
    ("user_id,age\n1,2\n", "plain", ""),
    ("user_id,item_id,type\nu,1,click\n", "plain", ""),
    ("user_id\tsystem\titem_id\trank\nu\ts\t1\t1\n", "plain", ""),
    ("user_id,item_id,system,text\nu,1,s,Because\n", "plain", ""),
    ("1 0 2 3 4 5\n" + "not like the first\n" * 9, "plain", ""),
    ("[1, 2, 3]", "plain", ""),
    ("{", "plain", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "kinds"), BEGINNINGS)
def test_each_file_is_one_layouts(text: str, name: str, kinds: str) -> None:
    sample = Sample(Path("in"), text)
    fit = {
        (layout.name, kind)
        for layout in layouts()
        for kind in IMPORT_KINDS
        if layout is not PLAIN and kind in layout.kinds and layout.fits(sample, kind)
    }
    assert fit == {(name, kind) for kind in kinds.split()}


FILES: list[tuple[str, str | bytes, ImportKind, str]] = [
    ("u.data", samples.U_DATA, "events", "movielens-100k"),
    ("u.item", samples.U_ITEM, "items", "movielens-100k"),
    ("u.user", samples.U_USER, "users", "movielens-100k"),
    ("ratings.dat", samples.RATINGS_DAT, "events", "movielens-1m"),
    ("half stars", samples.RATINGS_DAT.replace("::3::", "::3.5::"), "events", "movielens-1m"),
    ("tags.dat", samples.TAGS_DAT, "events", "movielens-1m"),
    ("movies.dat", samples.MOVIES_DAT, "items", "movielens-1m"),
    ("users.dat", samples.USERS_DAT, "users", "movielens-1m"),
    ("ratings.csv", samples.RATINGS_CSV, "events", "movielens-latest"),
    ("tags.csv", samples.TAGS_CSV, "events", "movielens-latest"),
    ("movies.csv", samples.MOVIES_CSV, "items", "movielens-latest"),
    ("news.tsv", samples.NEWS, "items", "mind-news"),
    ("behaviors.tsv", samples.BEHAVIORS, "events", "mind"),
    ("unlabelled", samples.BEHAVIORS.replace("-0", "").replace("-1", ""), "events", "mind"),
    ("prediction.txt", samples.PREDICTION, "lists", "mind"),
    ("plain items", samples.ITEMS, "items", "plain"),
    ("plain events", samples.EVENTS, "events", "plain"),
    ("plain lists", samples.LISTS, "lists", "plain"),
    ("plain battles", samples.BATTLES, "labels", "plain"),
    ("plain, tabs", samples.EVENTS.replace(",", "\t"), "events", "plain"),
    ("plain, bars", samples.ITEMS.replace(",", "|"), "items", "plain"),
    ("plain, JSON", '{"item_id": 7, "title": "Glass"}\n', "items", "plain"),
]


@pytest.mark.parametrize(("what", "content", "kind", "layout"), FILES, ids=[g[0] for g in FILES])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_file_is_known_by_its_content(
    tmp_path: Path, ends: str, what: str, content: str | bytes, kind: ImportKind, layout: str
) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / "file.bin"
    path.write_bytes(raw.replace(b"\n", ends.encode()))
    assert choose_layout(sample_of(path), kind, None).name == layout
    found = FilesByKind()
    found.add([path], None)
    assert found.files == {kind: [path]}
    others: tuple[ImportKind, ...] = ("items", "users", "events", "lists", "explanations")
    if layout == "plain":
        return
    for other in others:
        if other != kind:
            with pytest.raises(
                InputError, match=f"contains {kind}, not {other} .*layout {layout}.*--as {kind}"
            ):
                choose_layout(sample_of(path), other, None)


def test_a_file_that_no_layout_knows(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text(samples.LINKS_CSV)
    with pytest.raises(InputError, match=r"no column title Found: movieId, imdbId, tmdbId"):
        import_files(db, "p", [path], "items")
    with pytest.raises(InputError, match=r"cannot tell what .*links.csv contains .*--as"):
        FilesByKind().add([path], None)
    with pytest.raises(InputError, match=r"links.csv does not have title"):
        import_files(db, "p", [path], "items", layout="movielens-latest")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "# made today\nuser,item,rank\n1,2,1\n",
            "Its first line is: # made today Delete the comment above the header",
        ),
        ("user item rank\n1 2 1\n", r"If spaces separate the columns, write “delimiter = \" \"”"),
        (
            '{"columns": ["user", "item"], "index": [0], "data": [["u", 3]]}',
            r"Write an object for each row \(pandas: orient='records'\)",
        ),
        (
            '{"model": "a", "rows": [{"user": 1, "items": [2]}]}',
            r"the array “rows”, write “within = .rows.” in a mapping",
        ),
        ("name,colour\na,red\n", "name,colour Name the kind with --as"),
    ],
)
def test_errors_about_unknown_files_say_what_to_do(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"cannot tell what .*{says}"):
        FilesByKind().add([path], None)


@pytest.mark.parametrize(
    ("layout", "kind", "says"),
    [
        ("movielens-100k", "events", r"file:1: not events of movielens-100k .*begins: “N1 sports"),
        ("movielens-1m", "items", r"file:1: not items of movielens-1m .*movies.dat"),
        ("mind", "events", r"file:1: 8 fields instead of 5"),
        ("mind", "lists", r"needs its behaviors.tsv Predictions are ranks"),
    ],
)  # fmt: skip
def test_a_named_layout_that_the_file_has_not(
    db: Database, tmp_path: Path, layout: str, kind: ImportKind, says: str
) -> None:
    path = tmp_path / "file"
    path.write_text(samples.NEWS)
    with pytest.raises(InputError, match=says):
        import_files(db, "p", [path], kind, layout=layout)
    assert db.value("SELECT count(*) FROM imports") == 0
