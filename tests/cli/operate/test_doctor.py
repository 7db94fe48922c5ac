"""`recjudge doctor`, and what hostile texts really do to the requests of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recjudge_tui.domain.injection import KINDS
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from recjudge_tui.store.schema import connect
from tests.support.injections import ORDERS
from tests.support.runs import planned, ran


def asked(project_db: Path, *words: object, **environment: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, the rows, and all that was written."""
    code, out, err = ran("doctor", *words, "--format", "json", "--db", project_db, env=environment)
    rows: list[dict[str, Any]] = json.loads(out)["rows"] if out else []
    return code, rows, out + err


def load(db: Database, kind: ImportKind, rows: list[dict[str, object]]) -> None:
    path = db.path.with_name(f"{kind}.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    import_files(db, "films", [path], kind)


def hostile_project(db: Database) -> None:
    """User u0, u1, ... each with one hostile text: as the title, brand and category of an item in both lists, as an
    attribute of theirs, a search, an explanation and its reference."""
    texts = [text for _, text in ORDERS]
    plain: list[dict[str, object]] = [{"item_id": f"p{n}", "title": f"Plain soap {n}"} for n in range(3)]
    load(
        db,
        "items",
        plain + [{"item_id": f"h{n}", "title": t, "brand": t, "category": t} for n, t in enumerate(texts)],
    )
    load(db, "users", [{"user_id": f"u{n}", "about": t} for n, t in enumerate(texts)])
    searches: list[dict[str, object]] = [
        {"user_id": f"u{n}", "type": "search", "text": t} for n, t in enumerate(texts)
    ]
    load(
        db,
        "events",
        searches + [{"user_id": f"u{n}", "type": "purchase", "item_id": f"h{n}"} for n in range(len(texts))],
    )
    load(
        db,
        "lists",
        [
            {"user_id": f"u{n}", "system": system, "item_id": item, "rank": rank}
            for n in range(len(texts))
            for system, items in (("x", (f"h{n}", "p0")), ("y", ("p1", f"h{n}", "p2")))
            for rank, item in enumerate(items, start=1)
        ],
    )
    load(
        db,
        "explanations",
        [
            {"user_id": f"u{n}", "item_id": "p0", "system": "e", "text": f"Because: {t}", "reference": t}
            for n, t in enumerate(texts)
        ],
    )


def test_the_doctor_names_every_text_and_its_cases(project_db: Path) -> None:
    assert len(ORDERS) >= 30
    with connect(project_db) as db:
        hostile_project(db)
        planned(db, top_k=3)
        cases = {(row["user_id"], row["system_a"]): row["id"] for row in db.rows("SELECT * FROM cases")}
    code, rows, _ = asked(project_db, "-p", "films")
    assert code == 0, "texts are data, whatever they say"
    found = {(row["where"], row["id"], row["field"], row["kind"]): row for row in rows}
    for n, (kind, text) in enumerate(ORDERS):
        label = KINDS[kind]
        title, own = (
            found["item", f"h{n}", "title", label],
            sorted((cases[f"u{n}", "x"], cases[f"u{n}", "y"])),
        )
        assert (title["cases"], title["case_ids"]) == (2, ", ".join(map(str, own))), text
        assert found["user", f"u{n}", "search", label]["case_ids"] == title["case_ids"]
        assert ("item", f"h{n}", "brand", label) in found
        if kind != "long":  # what people write at length may be longer
            assert ("user", f"u{n}", "attribute about", label) in found
            assert ("explanation", str(n + 1), "reference", label) in found
            # a few orders are ones at the beginning of a text only
            assert kind == "order" or ("explanation", str(n + 1), "text", label) in found
    assert not {row["id"] for row in rows} & {"p0", "p1", "p2"}
    assert max(len(row["text"]) for row in rows) <= 80


def test_a_problem_ends_with_1_and_says_what_to_do(project_db: Path) -> None:
    project_db.write_text("no database " * 200, encoding="utf-8")
    code, rows, _ = asked(project_db)
    assert code == 1
    (problem,) = [row for row in rows if row["state"] == "problem"]
    assert problem["what"] == "database"
    assert problem["next_step"]
