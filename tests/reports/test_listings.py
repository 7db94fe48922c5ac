"""Listings, and the page of one case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.records import Event, Item, RankedItem, Slate, User
from recjudge_tui.errors import NotFoundError
from recjudge_tui.project import Project as Opened
from recjudge_tui.raters.combine import combine
from recjudge_tui.reports import listings
from recjudge_tui.reports.cases import case_page
from recjudge_tui.reports.common.table import Note, Table, render
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.judges import judges_table
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.imports import (
    add_events,
    add_items,
    add_slate,
    add_users,
    begin_import,
    finish_import,
)
from tests.builder import Built
from tests.support.hostile import HOSTILE
from tests.support.servers.process import ServerProcess
from tests.support.verdicts import (
    Project,
    give,
    import_target,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
)


@pytest.fixture
def project(project_db: Path) -> Project:
    return new_project(project_db)


def listed(project: Project, name: str, **options: Any) -> Table:
    return table_of(Opened.numbered(project.db, project.id), name, **options)


def step(table: Table) -> str:
    return next(note.step.action for note in table.notes if isinstance(note, Note) and note.step)


def test_what_is_empty_names_the_next_step(project: Project) -> None:
    assert [row["name"] for row in listings.projects(project.db).rows] == ["films"]
    assert step(listings.runs(project.db)) == "judge"
    assert [step(listed(project, f"{name} list")) for name in ("imports", "cases", "rater")] == [
        "import",
        "judge",
        "judge",
    ]
    assert listed(project, "runs failures").answer == "No call failed."
    project.db.execute("DELETE FROM projects")
    assert step(listings.projects(project.db)) == "import"


def test_runs_have_the_documented_keys(project: Project) -> None:
    cases = [pair_case(project, f"u{i}") for i in range(3)]
    judge_pairs(project, "llm", {cases[0]: (1.0, 1.0), cases[1]: (1.0, None), cases[2]: (0.0, 0.0)})
    table = listings.runs(project.db)
    (row,) = table.rows
    keys = "id protocol judge prompt state calls done failed cached tokens_in tokens_out cost_usd seconds".split()
    assert set(keys) <= row.keys()
    assert (row["calls"], row["done"], row["failed"], row["prompt"]) == (6, 5, 1, "pairwise-media@1")
    assert table.answer == "1 run: 5 of 6 calls answered, $0 spent, the cost of 1 run unknown."
    shown = listings.run(project.db, 1)
    assert any("1 call failed (timeout), for instance: no answer in 60 s" in note for note in shown.notes)
    assert listed(project, "runs failures").answer == "1 call failed: 1 timeout."
    assert listed(project, "runs settings").rows[0]["prompt"] == "pairwise-media@1"
    with pytest.raises(NotFoundError):
        listings.run(project.db, 99)


def test_raters_and_what_they_are_made_of(project: Project) -> None:
    case = list_case(project, "u")
    for name, value in (("anna", 2.0), ("ben", None), ("cleo", 1.0)):
        give(project, name, {case: value})
    combine(project.db, project.id, "gold", "strict", ["cleo", "anna"])
    judge_lists(project, "rules", {case: 2.0}, kind="rules")
    table = listed(project, "rater list")
    rows = {row["name"]: row for row in table.rows}
    assert rows["gold"]["recipe"] == "strict of anna, cleo"
    assert (rows["ben"]["verdicts"], rows["ben"]["failed"]) == (1, 1)
    assert str(rows["rules"]["settings"]).startswith("rules; pointwise-media@1")
    assert "rules is not a language model" in " ".join(table.notes)
    prompts = {row["name"]: row["runs"] for row in listings.prompts(project.db).rows}
    assert prompts["pointwise-media"] == 1


def test_cases_imports_and_the_project(project: Project) -> None:
    for number in range(5):
        list_case(project, f"u{number}")
        key = begin_import(project.db, project.id, "items", "plain", f"{number}.csv", str(number))
        finish_import(project.db, key, read=3, stored=2, skipped=1, warnings=["row 2"])
    table = listed(project, "cases list", limit=2)
    assert (len(table.rows), table.notes) == (2, ("2 of 5 cases",))
    first = listed(project, "imports list").rows[0]
    assert (first["path"], first["rows_skipped"], first["warnings"]) == ("4.csv", 1, 1)
    built = Built(project.db.path, "films")
    for line in ("project show films", "project show -p films", "project show"):
        counts = {row["what"]: row["count"] for row in built.table(line)["rows"]}
        assert (counts["cases"], counts["runs"], counts["imports"]) == (5, 0, 5)


def test_judges_without_and_with_an_ollama_server(project: Project, ollama_server: ServerProcess) -> None:
    alone = judges_table(project.db, "http://127.0.0.1:9")
    assert {"rules", "random"} <= {row["spec"] for row in alone.rows}
    assert any("No Ollama server" in note for note in alone.notes)
    judge_lists(project, "rules", {list_case(project, "u"): 2.0}, kind="rules")
    table = judges_table(project.db, ollama_server.url)
    assert any(row["spec"] == "ollama:hash-judge:latest" for row in table.rows)
    assert any(row["source"] == "used before" for row in table.rows)


@pytest.fixture
def filled(project: Project) -> int:
    """A pair of imported lists of one user; nobody has judged it."""
    with project.db.transaction():
        target = import_target(project)
        add_items(target, [Item(item_id=f"i{n}", title=f"漢字 film {n}", category="Drama") for n in range(4)])
        add_users(target, [User(user_id="u", attributes={"age": "31"})])
        event = Event(
            user_id="u", type="rating", item_id="i0", timestamp="2024-05-01T00:00:00+00:00", value=4
        )
        add_events(target, [event])
        slates = []
        for system, ids in (("a", ("i1", "i2", "i3")), ("b", ("i2",))):
            add_slate(
                target, Slate(user_id="u", system=system, items=tuple(RankedItem(item_id=key) for key in ids))
            )
            slates.append(project.db.value("SELECT id FROM slates WHERE system = ?", (system,)))
        key = CaseKey("pair", "u", "a", "b", slate_a=slates[0], slate_b=slates[1])
        return ensure_case(project.db, project.id, key)


def test_a_case_nobody_judged(project: Project, filled: int) -> None:
    page = case_page(project.db, filled, 90)
    for said in (
        "lists of a and b",
        "User: age 31",
        "2024-05-01  rating: 漢字 film 0 (4)",
        "no verdicts on this case yet",
    ):
        assert said in page
    line = next(line for line in page.splitlines() if line.strip().startswith("1 "))
    assert "film 1" in line
    assert "film 2" in line
    with pytest.raises(NotFoundError):
        case_page(project.db, 12)


def test_a_judged_case_shows_verdicts_reasoning_and_flags(project: Project, filled: int) -> None:
    judge_pairs(project, "llm", {filled: (1.0, -1.0)})
    give(project, "anna", {filled: 1.0}, protocol_name="pairwise")
    call = project.db.value("SELECT min(id) FROM calls")
    project.db.execute(
        "INSERT INTO flags (call_id, item_id, issue, reason) VALUES (?, 'i1', 'already owned', 'seen in May')",
        (call,),
    )
    built = Built(project.db.path, "films")
    page = built.done(f"cases show {filled} -p films")
    assert "llm [judge] · pairwise overall: Tie (▲ flips when swapped, run 1, pairwise-media@1)" in page
    assert "Set 1 = a: A. because of ab" in page
    assert "anna [annotator] · pairwise overall: A" in page
    lines = page.splitlines()
    flag = next(at for at, line in enumerate(lines) if "▲ already owned, llm: seen in May" in line)
    assert "Heat" in lines[flag - 1]
    tables = {table["title"]: table["rows"] for table in built.table(f"cases show {filled}")["tables"]}
    assert [(row["rater"], row["label"], row["flips"]) for row in tables["Verdicts"]] == [
        ("llm", "Tie", "yes"), ("anna", "A", ""),
    ]  # fmt: skip
    assert {row["flags"] for row in tables["Lists"]} == {"already owned, llm: seen in May"}


def test_hostile_texts_on_the_page_and_in_listings(project: Project) -> None:
    with project.db.transaction():
        target = import_target(project)
        names = [text.replace("\x00", "") for text in HOSTILE if text.strip()]
        add_items(target, [Item(item_id=f"i{n}", title=text, brand=text) for n, text in enumerate(names)])
        items = tuple(RankedItem(item_id=f"i{n}") for n in range(len(names)))
        add_slate(target, Slate(user_id=names[0], system=names[1], items=items))
        slate = project.db.value("SELECT id FROM slates")
        case = ensure_case(project.db, project.id, CaseKey("list", names[0], names[1], slate_a=slate))
    give(project, names[2], {case: 1.0})
    page = case_page(project.db, case, 80)
    shown = page + render(listed(project, "cases list"), "text").text
    assert [c for c in shown if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160] == []
    assert max(cell_len(line) for line in page.splitlines()) <= 80
    assert "[/path]" in page
