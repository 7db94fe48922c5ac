"""A database in which everything that data, models and people may write holds hostile text."""

from __future__ import annotations

import json
from pathlib import Path

from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import Outcome, add_outcome
from recjudge_tui.store.prompts import load_shipped
from recjudge_tui.store.schema import connect
from recjudge_tui.store.triage import record
from tests.support.annotators import assigned, films, judges
from tests.support.app.projects import make_absolute, make_arena, make_explanations, make_project

# project 1 is judged by models, project 2 by people
JUDGED, LABELLED = 1, 2
ANNOTATION = ("pairwise", "pointwise", "explanation")


def poisoned(path: Path, text: str) -> Path:
    """Names, titles, reasoning, errors, models, prompts, notes, tags, filters, readers and annotators hold `text`."""
    project = make_project(path, text=text)
    make_arena(path, project, text)
    make_explanations(path, project, text, {"user": {"accuracy": 2.0}, "rouge": {"overall": 0.2}})
    make_absolute(path, project)
    with connect(path) as db:
        load_shipped(db)
        films(db, 3)
        for protocol in ANNOTATION:
            assigned(db, protocol)
        judges(db, "ana", count=1)
        judges(db, "ben", count=3, choose=lambda options: options[-1], note="as I see it" + text)
        record(db, 1, "ana" + text, "note", text="seen" + text)
        record(db, 1, "ana" + text, "tag", text="odd" + text)
        record(db, 2, "ana" + text, "accept")
        add_outcome(db, project, Outcome("online" + text, "als" + text, "cooc" + text, 90, 90, 9, 30))
        with db.transaction():
            _spoil(db, text)
    return path


def _spoil(db: Database, text: str) -> None:
    for table, columns in (
        ("raters", ("name",)),
        ("prompts", ("name",)),
        ("items", ("title", "category")),
        ("explanations", ("text",)),
        ("calls", ("model", "stop_reason", "reply", "thinking")),
        ("runs", ("error",)),
        ("imports", ("layout",)),
    ):
        for column in columns:
            db.execute(
                f"UPDATE {table} SET {column} = coalesce({column}, '') || ?1 WHERE ifnull(instr({column}, ?1), 0) = 0",
                (text,),
            )
    db.execute("UPDATE runs SET settings = json_object('protocol', protocol)")
    db.execute("UPDATE projects SET name = name || ? WHERE id = ?", (text, LABELLED))
    db.execute(
        "INSERT INTO saved_filters (project_id, name, filter, created_at) VALUES (?, ?, 'why:swap', '')",
        (JUDGED, "mine" + text),
    )
    for row in db.rows("SELECT id, content FROM prompts"):
        content = json.loads(row["content"])
        content |= {"description": text, "source": text, "system": "Judge. " + _no_template(text)}
        db.execute("UPDATE prompts SET content = ? WHERE id = ?", (json.dumps(content), row["id"]))


def _no_template(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")
