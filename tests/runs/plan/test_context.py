"""What a judge is told of a user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.domain.domains import DATASETS, SHIPPED, WORDS
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.registry import layouts
from recjudge_tui.reports.runs import estimate_lines
from recjudge_tui.runs.context import (
    MAX_BROWSED,
    MAX_CLICKS,
    MAX_SEARCHES,
    shown_user,
)
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.prompts import domain_named, domain_names
from tests.support.requests import sent_request, sent_texts
from tests.support.runs import calls, load, make_project, plan, plan_run, planned

HEADER = ("user_id", "item_id", "text", "type", "timestamp", "value")
SETTINGS = RunSettings(protocol="pointwise")
Row = tuple[object, ...]


def project(db: Database, *events: Row) -> int:
    load(db, "items", [("item_id", "title", "category", "brand"), ("i1", "One", "tea|black", "Leaf"),
                       ("i2", "Two", "tea > green", "Leaf"), ("i3", "Three", "pots", "Clay")])  # fmt: skip
    load(db, "events", [HEADER, *events])
    return project_id(db, "films")


def test_thousands_of_clicks_do_not_hide_what_was_bought(db: Database) -> None:
    clicks = [
        ("u", "", f"q{n}", "search", f"2024-03-01T{n % 24:02d}:{n // 24:02d}:00Z", "") for n in range(600)
    ]
    views = [("u", "i3", "", "click", f"2024-03-02T{n % 24:02d}:{n // 24:02d}:00Z", "") for n in range(600)]
    browsed = [("u", "", f"aisle {n}", "browse", f"2024-03-03T{n:02d}:00:00Z", "") for n in range(20)]
    p = project(db, ("u", "i1", "", "purchase", "2024-02-01T00:00:00Z", ""), *clicks, *views, *browsed)
    user = shown_user(read_history(db, p, "u"), SETTINGS)
    assert [e.item.title for e in user.history if e.item] == ["One"]
    assert (len(user.searches), len(user.clicks), len(user.browsed)) == (
        MAX_SEARCHES,
        MAX_CLICKS,
        MAX_BROWSED,
    )
    assert user.browsed[0] == "aisle 19"


# ---- shown ---------------------------------------------------------------------------------------------------


ITEMS = [("item_id", "title"), *((f"i{n}", f"Film {n}") for n in range(20))]


def with_events(db: Database, *events: tuple[object, ...]) -> None:
    load(db, "items", ITEMS)
    load(db, "events", [("user_id", "item_id", "type", "value"), *(("u", *event) for event in events)])
    lists = [
        ("u", s, f"i{10 + rank + n}", rank) for n, s in enumerate(("als", "pop")) for rank in range(1, 5)
    ]
    load(db, "lists", [("user_id", "system", "item_id", "rank"), *lists])


@pytest.mark.parametrize("protocol", ["pairwise", "arena"])
def test_wishes_impressions_and_unknown_types_are_no_history(db: Database, protocol: str) -> None:
    with_events(
        db,
        ("i1", "purchase", ""),
        ("i2", "impression", ""),
        ("i3", "add_to_cart", ""),
        ("i4", "teleport", ""),
    )
    for text in sent_texts(db, planned(db, protocol=protocol)):
        history, others = text[text.index(" newest first:") :].split("Other events, newest first:\n")
        assert "- purchase: Film 1\n" in history
        assert not any(f"Film {n}\n" in history for n in (2, 3, 4))
        assert others.startswith("- teleport: Film 4\n- add_to_cart: Film 3\n- impression: Film 2\n")


# ---- domain --------------------------------------------------------------------------------------------------


LISTS = ("pointwise", "pairwise", "arena", "absolute")


def made_of(db: Database, layout: str) -> None:
    """A project whose events came with this layout."""
    make_project(db, users=2)
    with db.transaction():
        db.execute("UPDATE imports SET layout = ? WHERE kind = 'events'", (layout,))


def test_every_domain_has_the_same_words_and_every_layout_a_domain_of_the_table() -> None:
    assert domain_names() == SHIPPED
    assert all(tuple(domain_named(name).words) == tuple(WORDS) for name in SHIPPED)
    assert {dataset.domain for dataset in DATASETS.values()} <= set(SHIPPED)
    assert set(DATASETS) <= {layout.name for layout in layouts()}


@pytest.mark.parametrize(
    ("layout", "platform", "items", "did"),
    [
        ("mind", "a news site", "recommended news articles", "read"),
        (
            "yelp",
            "a guide to restaurants and other places",
            "recommended restaurants and other places",
            "visited and rated",
        ),
        ("movielens-1m", "a film platform", "recommended films and series", "watched and rated"),
        ("amazon-reviews, type review", "an online shop", "product recommendations", "bought and rated"),
    ],
)
def test_the_layout_imported_chooses_the_words(
    db: Database, layout: str, platform: str, items: str, did: str
) -> None:
    made_of(db, layout)
    for protocol in LISTS:
        made = plan(db, protocol=protocol, rater=protocol)
        assert made.estimate.domain_note == ""
        assert made.run_id is not None
        for text in sent_texts(db, made.run_id):
            if protocol in ("arena", "absolute"):
                assert f"You are this user of {platform}." in text
                assert f"What you {did}, newest first:" in text
            else:
                assert items in text
            assert ("film platform" in text) is (
                platform == "a film platform" and protocol in ("arena", "absolute")
            )


def own_domain(folder: Path, name: str, *lines: str) -> Path:
    """A file of words in the user's settings folder; each of `lines` replaces that of the same word, or is added."""
    given = {line.split(" = ")[0]: line for line in lines}
    words = {word: f'{word} = "podcast {word}"' for word in WORDS}
    path = folder / "domains" / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    content = ['data = "media"', "[words]", *filter(None, (words | given).values())]
    path.write_text("\n".join(content) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def settings_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    return tmp_path


def test_a_users_own_domain_has_no_examples(db: Database, settings_folder: Path) -> None:
    make_project(db, users=2)
    own_domain(settings_folder, "podcasts")
    made = plan(db, protocol="pointwise", domain="podcasts")
    assert made.estimate.domain_note.startswith("the examples of prompt pointwise-media are about films, ")
    assert made.estimate.domain_note in estimate_lines(made.estimate, rater=made.rater, prompt=made.prompt)
    assert made.run_id is not None
    for text in sent_texts(db, made.run_id):
        assert "lists of recommended podcast things." in text
        assert "# Examples" not in text
        assert "Answer: {" not in text
    assert domain_names() == (*SHIPPED, "podcasts")


# ---- held out ------------------------------------------------------------------------------------------------


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


def project_held_out(db: Database) -> None:
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
    project_held_out(db)
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
    project_held_out(db)
    import_text(db, kind, f"{kind}.csv", f"{header}\n{row}\n", "plain")
    assert_unseen(db)


@pytest.mark.parametrize("shots", ["one", "personal"])
def test_an_example_is_never_the_case_itself(db: Database, shots: str) -> None:
    """Each explanation's scores are its own, so that those of the case would show."""
    project_held_out(db)
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
