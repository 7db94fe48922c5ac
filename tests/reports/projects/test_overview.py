"""Listings, and the page of one case."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.records import Event, Item, RankedItem, Slate, User
from recjudge_tui.errors import NotFoundError
from recjudge_tui.raters.combine import combine
from recjudge_tui.reports.common.table import render
from recjudge_tui.reports.projects.judges import judges_table
from recjudge_tui.reports.projects.overview import (
    case_page,
    cases_table,
    imports_table,
    project_table,
    projects_table,
    prompts_table,
    raters_table,
    run_table,
    runs_table,
)
from recjudge_tui.store.cases.cases import CaseKey, ensure_case
from recjudge_tui.store.imports.imports import begin_import, finish_import
from recjudge_tui.store.imports.loading import add_events, add_items, add_slate, add_users
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


def test_a_new_project_teaches_the_next_step(project_db: Path) -> None:
    project = new_project(project_db)
    assert [row["name"] for row in projects_table(project.db).rows] == ["films"]
    assert "recjudge run" in runs_table(project.db).notes[0]
    project.db.execute("DELETE FROM projects")
    assert "recjudge import" in projects_table(project.db).notes[0]


def test_runs_have_the_documented_keys(project: Project) -> None:
    cases = [pair_case(project, f"u{i}") for i in range(3)]
    judge_pairs(project, "llm", {cases[0]: (1.0, 1.0), cases[1]: (1.0, None), cases[2]: (0.0, 0.0)})
    (row,) = runs_table(project.db, project.id).rows
    for name in (
        "id", "protocol", "judge", "prompt", "state", "calls", "done", "failed", "cached", "tokens_in", "tokens_out",
        "cost_usd", "seconds",
    ):  # fmt: skip
        assert name in row
    assert (row["calls"], row["done"], row["failed"], row["prompt"]) == (6, 5, 1, "pairwise-media@1")
    shown = run_table(project.db, 1)
    assert any("1 call failed (timeout), for instance: no answer in 60 s" in note for note in shown.notes)
    with pytest.raises(NotFoundError):
        run_table(project.db, 99)


def test_raters_and_what_they_are_made_of(project: Project) -> None:
    case = list_case(project, "u")
    give(project, "anna", {case: 2.0})
    give(project, "ben", {case: None})
    give(project, "cleo", {case: 1.0})
    combine(project.db, project.id, "gold", "strict", ["cleo", "anna"])
    judge_lists(project, "rules", {case: 2.0}, kind="rules")
    table = raters_table(project.db, project.id)
    rows = {row["name"]: row for row in table.rows}
    assert rows["gold"]["recipe"] == "strict of anna, cleo"
    assert (rows["ben"]["verdicts"], rows["ben"]["failed"]) == (1, 1)
    about_gold, about_rules = table.notes
    assert about_gold.startswith("gold is made from other raters: it counts as right")
    assert about_rules.startswith("rules is not a language model")


def test_cases_and_project(project: Project) -> None:
    for number in range(5):
        list_case(project, f"u{number}")
    table = cases_table(project.db, project.id, 2)
    assert len(table.rows) == 2
    assert table.notes == ("2 of 5 cases",)
    counts = {row["what"]: row["count"] for row in project_table(project.db, project.id).rows}
    assert counts["cases"] == 5
    assert counts["runs"] == 0


def test_imports_newest_first(project: Project) -> None:
    for number in range(2):
        key = begin_import(project.db, project.id, "items", "plain", f"{number}.csv", str(number))
        finish_import(project.db, key, read=3, stored=2, skipped=1, warnings=["row 2"])
    rows = imports_table(project.db, project.id).rows
    assert [(row["path"], row["rows_skipped"], row["warnings"]) for row in rows] == [
        ("1.csv", 1, 1),
        ("0.csv", 1, 1),
    ]


def test_judges_without_and_with_an_ollama_server(project: Project, ollama_server: ServerProcess) -> None:
    alone = judges_table(project.db, "http://127.0.0.1:9")
    assert {"rules", "random"} <= {row["spec"] for row in alone.rows}
    assert any("No Ollama server" in note for note in alone.notes)
    judge_lists(project, "rules", {list_case(project, "u"): 2.0}, kind="rules")
    table = judges_table(project.db, ollama_server.url)
    assert any(row["spec"] == "ollama:hash-judge:latest" for row in table.rows)
    assert any(row["source"] == "used before" for row in table.rows)


def test_prompts(project: Project) -> None:
    judge_lists(project, "rules", {list_case(project, "u"): 2.0}, kind="rules")
    rows = {row["name"]: row for row in prompts_table(project.db).rows}
    assert rows["pointwise-media"]["runs"] == 1


def filled(project: Project) -> int:
    """A pair of imported lists of one user; nobody has judged it."""
    with project.db.transaction():
        target = import_target(project)
        add_items(target, [Item(item_id=f"i{n}", title=f"漢字 film {n}", category="Drama") for n in range(4)])
        add_users(target, [User(user_id="u", attributes={"age": "31"})])
        add_events(
            target,
            [Event(user_id="u", type="rating", item_id="i0", timestamp="2024-05-01T00:00:00+00:00", value=4)],
        )
        slates = []
        for system, ids in (("a", ("i1", "i2", "i3")), ("b", ("i2",))):
            add_slate(
                target, Slate(user_id="u", system=system, items=tuple(RankedItem(item_id=key) for key in ids))
            )
            slates.append(project.db.value("SELECT id FROM slates WHERE system = ?", (system,)))
        return ensure_case(
            project.db, project.id, CaseKey("pair", "u", "a", "b", slate_a=slates[0], slate_b=slates[1])
        )


def test_a_case_nobody_judged(project: Project) -> None:
    page = case_page(project.db, filled(project), 90)
    assert "lists of a and b" in page
    assert "User: age 31" in page
    assert "2024-05-01  rating: 漢字 film 0 (4)" in page
    line = next(line for line in page.splitlines() if line.strip().startswith("1 "))
    assert "film 1" in line
    assert "film 2" in line
    assert "There are no verdicts on this case yet." in page


def test_a_judged_case_shows_verdicts_reasoning_and_flags(project: Project) -> None:
    case = filled(project)
    judge_pairs(project, "llm", {case: (1.0, -1.0)})
    give(project, "anna", {case: 1.0}, protocol_name="pairwise")
    call = project.db.value("SELECT min(id) FROM calls")
    project.db.execute(
        "INSERT INTO flags (call_id, item_id, issue, reason) VALUES (?, 'i1', 'already owned', 'seen in May')",
        (call,),
    )
    page = case_page(project.db, case, 90)
    assert "llm [judge] · pairwise overall: Tie (▲ flips when swapped, run 1, pairwise-media@1)" in page
    assert "Set 1 = a: A. because of ab" in page
    assert "anna [annotator] · pairwise overall: A" in page
    flag = next(
        number for number, line in enumerate(page.splitlines()) if "▲ already owned, llm: seen in May" in line
    )
    assert "Heat" in page.splitlines()[flag - 1]


def test_an_unknown_case(project: Project) -> None:
    with pytest.raises(NotFoundError):
        case_page(project.db, 12)


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
    shown = page + render(cases_table(project.db, project.id), "text").text
    assert [c for c in shown if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160] == []
    assert max(cell_len(line) for line in page.splitlines()) <= 80
    assert "[/path]" in page
