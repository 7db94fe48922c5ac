"""Finds texts of a project that try to instruct a judge, and the cases in which a judge sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from recjudge_tui.domain.injection import FRAMES, KINDS, LONG_LINE, LONG_TEXT, Finding, findings, frames_in
from recjudge_tui.domain.text import one_line
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition
from recjudge_tui.steps import Step
from recjudge_tui.store.data import DataText, Owner, cases_with, data_texts
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out_copies, repeats_note
from recjudge_tui.store.prompts import prompt_contents

# long texts written by people; every other text is a line in a list
_LONG_FIELDS = ("text", "reference")
_FIRST_CASES = 5
_OWNERS: tuple[Owner, ...] = ("item", "user", "explanation")
_COLUMNS = columns(
    "where|Where", "id|Id", "field|Field", "kind|Kind", "text|Text", "cases|Cases|int", "case_ids|(Case ids)"
)
_HEURISTICS = (
    Note("heuristics: check each finding, and expect that some texts are missed"),
    definition(
        "judges see such texts as data, on one line and inside delimiters; none was changed or left out"
    ),
)


def hostile_texts_table(project: Project, limit: int) -> Table:
    """One row per finding, instructions first; at most `limit` rows, the rest is counted in a note. `cases` counts
    the planned or labelled cases whose lists, history or explanation contain the text."""
    db, name, frames = project.db, project.name, FRAMES.union(*map(frames_in, prompt_contents(project.db)))
    hits: list[tuple[DataText, Finding]] = []
    counts: Counter[str] = Counter()
    read = 0
    for text, found_in in _searched(db, project.id, frames):
        read += 1
        counts.update(finding.kind for finding in found_in)
        hits += [(text, finding) for finding in found_in]
    order = list(KINDS)
    hits.sort(key=lambda pair: (order.index(pair[1].kind), _OWNERS.index(pair[0].owner)))
    shown = hits[:limit]
    more = len(hits) - len(shown)
    left_out = [Note(f"{more:,} more findings are not shown", step=Step("whole"))] if more else []
    found = ", ".join(f"{label}: {counts[kind]:,}" for kind, label in KINDS.items() if counts[kind])
    # events that are copies of held-out ones, or look like them
    sentences = held_out_copies(db, project.id).sentences + repeats_note(db, project.id)
    copies = (Note(sentence, "warning") for sentence in sentences)
    places = _places(db, project.id, (text for text, _ in shown))
    title, notes = (
        f"Texts of {one_line(name, 60)} that may act as instructions",
        (*left_out, *copies, *_HEURISTICS),
    )
    rows = tuple(_row(text, finding, places) for text, finding in shown)
    settings: dict[str, object] = {"project": name, "texts": read, **{kind: counts[kind] for kind in KINDS}}
    answer = f"{read:,} texts read; {found or 'nothing found'}."
    return Table(title, _COLUMNS, rows, notes, settings, answer=answer)


def suspect_cases(db: Database, project_id: int) -> list[int]:
    """The cases in which a judge sees a text that instructs it."""
    searched = _searched(db, project_id, FRAMES)
    orders = (text for text, found in searched if any(finding.kind == "order" for finding in found))
    shown = _places(db, project_id, orders).values()
    return sorted({case for of_owner in shown for cases in of_owner.values() for case in cases})


def _searched(
    db: Database, project_id: int, frames: frozenset[str]
) -> Iterator[tuple[DataText, Sequence[Finding]]]:
    """Every text with what was found in it."""
    search = lru_cache(maxsize=20_000)(findings)  # brands, categories and attribute names occur many times
    for text in data_texts(db, project_id):
        is_long = text.field in _LONG_FIELDS or text.field.startswith("attribute ")
        yield text, search(text.text, frames, LONG_TEXT if is_long else LONG_LINE)


# owner -> its id -> the cases that show it
Places = Mapping[Owner, Mapping[str, list[int]]]


def _places(db: Database, project_id: int, texts: Iterable[DataText]) -> Places:
    ids: dict[Owner, dict[str, None]] = {}
    for text in texts:
        ids.setdefault(text.owner, {})[text.id] = None
    return {owner: cases_with(db, project_id, owner, wanted) for owner, wanted in ids.items()}


def _row(text: DataText, finding: Finding, places: Places) -> Row:
    cases = places[text.owner].get(text.id, [])
    more = ", …" if len(cases) > _FIRST_CASES else ""
    return {
        "where": text.owner, "id": text.id, "field": text.field, "kind": KINDS[finding.kind], "text": finding.excerpt,
        "cases": len(cases), "case_ids": ", ".join(map(str, cases[:_FIRST_CASES])) + more,
    }  # fmt: skip
