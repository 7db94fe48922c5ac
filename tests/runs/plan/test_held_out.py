"""What is held out stays out of every text that a judge is sent: planted under every kind and layout, and looked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.registry import layouts
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.requests import sent_request
from tests.support.runs import calls, load, plan_run

USER, ITEM = "1001", "770077"
TITLE, VALUE, WORD = "Sealed Envelope", "4.375", "planted"
# 2031, so that the date shows too
SECONDS = 1_930_000_000
ABSENT = (TITLE, ITEM, VALUE, WORD, "2031")
NOWHERE = JudgeSpec(spec="openai:m", base_urls=("http://127.0.0.1:9/v1",))

# layout -> file name and content of a file that holds something out
EVENT_FILES: dict[str, tuple[tuple[str, str], ...]] = {
    "plain": (
        (
            "events.csv",
            (
                f"user_id,item_id,type,timestamp,value,note\n{USER},{ITEM},heldout_rating,2031-02-28,{VALUE},{WORD}\n"
                f"{USER},{ITEM},heldout_teleport,2031-02-28,{VALUE},{WORD}\n"
            ),
        ),
        (
            "events.jsonl",
            json.dumps(
                {
                    "user_id": USER,
                    "item_id": ITEM,
                    "type": "heldout_search",
                    "text": WORD,
                    "timestamp": "2031-02-28",
                }
            ),
        ),
    ),
    "recbole": tuple(
        (
            f"x.{split}.inter",
            (
                "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
                f"{USER}\t{ITEM}\t{VALUE}\t{SECONDS}\n"
            ),
        )
        for split in ("test", "valid")
    ),
    "movielens-100k": (("u1.test", f"{USER}\t{ITEM}\t4\t{SECONDS}\n"),),
    "amazon-reviews": tuple(
        (
            f"All_Beauty.{split}.csv",
            f"user_id,parent_asin,rating,timestamp\n{USER},{ITEM},{VALUE},{SECONDS}000\n",
        )
        for split in ("test", "valid")
    ),
    "esci": (
        (
            "examples.csv",
            f"example_id,query,query_id,product_id,product_locale,esci_label\n1,soap,{USER},{ITEM},us,E\n",
        ),
    ),
    "mind": (("behaviors.tsv", f"1\t{USER}\t2/28/2031 12:05:00 PM\ti1 i2\t{ITEM}-1 i3-0\n"),),
    "trec-qrels": (("x.qrels", f"{USER} 0 {ITEM} 4\n"),),
    "ranx-qrels": (("qrels.json", json.dumps({USER: {ITEM: 4}})),),
}
# their files are of what happened, without a part that is held out
WHOLE = {"yelp", "movielens-1m", "movielens-latest", "mind-train", "lists-by-user", "letor"}


def test_every_layout_of_events_is_looked_at() -> None:
    assert {layout.name for layout in layouts() if "events" in layout.kinds} == {*EVENT_FILES, *WHOLE}


def project(db: Database) -> None:
    """Two users with a history, lists of two systems and an explanation; one item is known and shown to nobody."""
    items = [("item_id", "title", "category"), *((f"i{n}", f"Thing {n}", "Care") for n in range(20))]
    load(db, "items", [*items, (ITEM, TITLE, "Care")])
    shown = [("user_id", "item_id", "type", "timestamp", "value")]
    shown += [
        (user, f"i{n}", "rating", f"2024-05-0{n}", str(n)) for user in (USER, "1002") for n in (1, 2, 3)
    ]
    load(db, "events", shown)
    lists = [
        (user, system, f"i{10 + rank + at}", rank)
        for user in (USER, "1002")
        for at, system in enumerate(("als", "pop"))
        for rank in (1, 2, 3)
    ]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), *lists])
    texts = [(user, item, "knn", f"Because of {item}.") for user in (USER, "1002") for item in ("i5", "i6")]
    load(db, "explanations", [("user_id", "item_id", "system", "text"), *texts])


def sent(db: Database, protocol: str, **options: object) -> list[str]:
    """Both texts and the schema of every call that a run would make, those that write profiles among them."""
    settings = settings_for(protocol, **options)
    made = plan_run(db, RunRequest(project_id(db, "films"), NOWHERE, settings, f"r{len(options)} {protocol}"))
    assert made.run_id is not None
    return [
        "\n".join(m.content for m in request.messages) + json.dumps(request.reply_schema)
        for call in calls(db, made.run_id)
        for request in [sent_request(db, call["id"])]
    ]


def assert_unseen(db: Database) -> None:
    texts = [
        *sent(db, "pointwise"),
        *sent(db, "pairwise", as_published=True),
        *sent(db, "arena"),
        *sent(db, "absolute"),
        *sent(db, "explanation", profile="attributes", history=10),
    ]
    assert len(texts) == 4 + 4 + 4 + 4 + 4
    made = plan_run(
        db,
        RunRequest(project_id(db, "films"), NOWHERE, settings_for("arena", profile="llm"), "with profiles"),
    )
    assert made.run_id is not None
    profiles = [call for call in calls(db, made.run_id) if call["aspect"] == PROFILE]
    assert len(profiles) == 2
    texts += ["\n".join(m.content for m in sent_request(db, call["id"]).messages) for call in profiles]
    for text in texts:
        assert "Thing " in text
        assert [word for word in ABSENT if word in text] == []


def import_text(db: Database, kind: ImportKind, name: str, content: str, layout: str) -> None:
    path = Path(db.path).with_name("planted") / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    assert import_files(db, "films", [path], kind, layout=layout).stored


@pytest.mark.parametrize(
    ("layout", "name", "content"),
    [(layout, *file) for layout, files in EVENT_FILES.items() for file in files],
    ids=[f"{layout}-{file[0]}" for layout, files in EVENT_FILES.items() for file in files],
)
def test_held_out_events_are_in_no_text(db: Database, layout: str, name: str, content: str) -> None:
    project(db)
    import_text(db, "events", name, content, layout)
    held = db.rows("SELECT type, item_id FROM events WHERE type LIKE 'heldout_%'")
    assert held
    assert all(row["item_id"] in (ITEM, None) for row in held)
    assert_unseen(db)


@pytest.mark.parametrize(
    ("kind", "header", "row"),
    [
        ("items", "item_id,title,category,heldout_rating,note", f"i1,Thing 1,Care,{VALUE},{WORD}"),
        ("users", "user_id,plan,heldout_rating,Heldout_item", f"{USER},free,{VALUE},{ITEM}"),
        (
            "lists",
            "user_id,system,item_id,rank,label,rating",
            f"{USER},als,i11,1,{WORD},{VALUE}\n{USER},als,i12,2,{WORD},{VALUE}",
        ),
        ("explanations", "user_id,item_id,system,text,reference", f"{USER},i5,knn,Because.,{WORD} {TITLE}"),
        (
            "labels",
            "rater,user_id,item_id,system,aspect,value,protocol,rater_kind,note",
            f"them,{USER},i5,knn,accuracy,4.375,explanation,ground_truth,{WORD}",
        ),
        (
            "labels",
            "rater,user_id,system_a,system_b,aspect,value,protocol,note",
            f"ana,{USER},als,pop,overall,A,pairwise,{WORD}",
        ),
    ],
    ids=["items", "users", "lists", "explanations", "scores", "battles"],
)  # fmt: skip
def test_other_columns_of_plain_tables_are_not_shown_either(
    db: Database, kind: ImportKind, header: str, row: str
) -> None:
    project(db)
    import_text(db, kind, f"{kind}.csv", f"{header}\n{row}\n", "plain")
    assert_unseen(db)


def test_the_labels_of_recsys_arenas_predictions(db: Database) -> None:
    project(db)
    table = (
        f"user_id,item_id,label,predict,gender,age\n{USER},i11,{VALUE},0.9,0,1\n{USER},i12,{VALUE},0.8,0,1\n"
    )
    import_text(db, "lists", "als-ml-1m.csv", table, "recsys-arena")
    import_text(db, "users", "als-ml-1m.csv", table, "recsys-arena")
    assert_unseen(db)


@pytest.mark.parametrize("shots", ["one", "personal"])
def test_an_example_is_never_the_case_itself(db: Database, shots: str) -> None:
    """Each explanation's scores are its own, so that those of the case would show."""
    project(db)
    pairs = [(user, item) for user in (USER, "1002") for item in ("i5", "i6")]
    aspects = ("persuasiveness", "transparency", "accuracy", "satisfaction")
    header = ("rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind", "note")
    rows = [
        ("them", *pair, "knn", aspect, 1 + (n + at) % 5, "explanation", "ground_truth", WORD)
        for n, pair in enumerate(pairs)
        for at, aspect in enumerate(aspects)
    ]
    load(db, "labels", [header, *rows])
    settings = settings_for("explanation", shots=shots, profile="attributes", history=10)
    made = plan_run(db, RunRequest(project_id(db, "films"), NOWHERE, settings, shots))
    assert made.run_id is not None
    judged = calls(db, made.run_id)
    assert len(judged) == (3 if shots == "one" else 2)
    for call in judged:
        case = db.rows("SELECT user_id, item_id FROM cases WHERE id = ?", (call["case_id"],))[0]
        own = pairs.index((case["user_id"], case["item_id"]))
        text = sent_request(db, call["id"]).messages[1].content
        scores = "\n".join(f"{aspect}: {1 + (own + at) % 5}" for at, aspect in enumerate(aspects))
        example = text[text.index("<example>") : text.index("</example>")]
        assert scores not in example
        assert text.count(f"Because of {case['item_id']}.") == 1 or shots == "one"
        assert WORD not in text
