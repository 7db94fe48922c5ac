"""One case: the user, the lists side by side with their flags, every verdict and its reasoning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from recjudge_tui.domain import material
from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import profile_text
from recjudge_tui.reports.common.rows import readable, seen_first
from recjudge_tui.reports.common.table import Column, Note, Page, Row, Screen, Table, columns, render
from recjudge_tui.steps import Step
from recjudge_tui.store.case_detail import CaseDetail, case_detail, imported_case
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.verdicts import case_verdicts

_EVENTS = 12
MOST_VERDICTS = 100
_NOTHING = "There are no verdicts on this case yet."


class Case(NamedTuple):
    """What is known of a case. `total` counts its verdicts, of which `details` has the first MOST_VERDICTS; `profile`: what
    a model wrote of the user, empty if none did."""

    row: StoredRow
    total: int
    details: list[CaseDetail]
    user: material.UserView
    slates: tuple[tuple[str, material.SlateView], ...]
    explanation: material.ExplanationView | None
    profile: str

    def marks(self, item_id: str) -> list[str]:
        """What an item is flagged for, by whom and why."""
        flags = self.details[0].flags if self.details else ()
        found = dict.fromkeys((f.issue, f.rater, f.reason) for f in flags if f.item_id == item_id)
        return [f"{issue}, {rater}{f': {why}' if why else ''}" for issue, rater, why in found]

    @property
    def heading(self) -> str:
        row = self.row
        systems = [one_line(row[name]) for name in ("system_a", "system_b") if row[name]]
        what = {"list": "list of", "pair": "lists of", "explanation": "explanation by"}[row["kind"]]
        item = f" · item {one_line(row['item_id'])}" if row["item_id"] else ""
        occasion = occasion_text(Occasion(row["context"], row["served_at"]))
        return (
            f"Case {row['id']} · project {one_line(row['project'])} · user {one_line(row['user_id'])}{item}"
            f" · {what} {' and '.join(systems) or 'no system'}{f' · {occasion}' if occasion else ''}"
        )


def read_case(db: Database, case_id: int) -> Case:
    """The judged lists or text, as a judge saw them, or else as imported. Raises NotFoundError."""
    row = case_row(db, case_id)
    ids = case_verdicts(db, case_id)
    details = [case_detail(db, identity) for identity in ids[:MOST_VERDICTS]]
    shown = next((d for d in details if d.run_shown is not None), None) or next(iter(details), None)
    if shown is not None:
        user, slates, explanation = shown.user, shown.slates, shown.explanation
    else:
        user, slates, explanation = imported_case(db, row)
    profile = user.profile or next((written_profile(d.profile) for d in details if d.profile), "")
    return Case(row, len(ids), details, user, slates, explanation, profile)


def written_profile(reply: str) -> str:
    """The profile in the reply of the call that wrote it; the whole reply if it cannot be parsed."""
    try:
        return profile_text(reply)
    except ReplyFault:
        return reply


def user_lines(user: material.UserView, served_at: str) -> Iterator[str]:
    facts = [f"{one_line(key)} {one_line(value)}" for key, value in user.attributes.items()]
    yield "User" + (f": {', '.join(facts)}" if facts else "")
    if undated := material.undated_text(user, served_at):
        yield f"  {undated}"
    parts = {"history": user.history, "searches": user.searches, "clicks": user.clicks}
    for name, events in (parts | {"other events": user.others}).items():
        yield from (f"  {_event(event)}" for event in events[:_EVENTS])
        if len(events) > _EVENTS:
            yield f"  and {len(events) - _EVENTS} more in {name}"
    for preference in user.preferences:
        yield f"  {one_line(preference)}"
    yield ""


def _event(event: material.ShownEvent) -> str:
    what = one_line(event.item.title if event.item else event.text)
    value = f" ({event.value:g})" if event.value is not None else ""
    return f"{event.timestamp[:10] or '–':10}  {one_line(event.type)}: {what}{value}"


def _item(case: Case, item: material.ItemView) -> str:
    about = ", ".join(one_line(part) for part in (item.brand, item.category) if part)
    title = one_line(item.title) + (f" ({about})" if about else "")
    return " ".join([title, *(f"▲ {one_line(mark)}" for mark in case.marks(item.item_id))])


def label_of(detail: CaseDetail) -> str:
    """The label, or the number of a verdict without a label."""
    if detail.label or detail.value is None:
        return one_line(detail.label)
    return f"{detail.value:.4g}"


_ITEMS = columns(
    "system", "side|Side", "rank", "title|Title", "brand|Brand", "category|Category", "flags|Flagged"
)
_VERDICTS = columns(
    "verdict_id|Verdict", "rater", "rater_kind|Kind", "protocol aspect label value", "confidence|Confidence|float|2",
    "flips|Flips when swapped", "failed|Failed", "run_id|Run", "prompt", "why|Reader", "note|Rater's note",
)  # fmt: skip
_SAID = columns(
    "rater aspect", "set_one|Shown first", "label", "reasoning|Reasoning|prose", "error|Failure|prose"
)
_AS_STORED = ("rater", "rater_kind", "protocol", "aspect", "value", "confidence", "prompt", "note")


def case_page(db: Database, case_id: int) -> Page:
    """The user, the lists, the verdicts and their reasons. Raises NotFoundError."""
    case = read_case(db, case_id)
    lead = [line for line in user_lines(case.user, case.row["served_at"]) if line]
    if case.profile:
        lead.append(f"Profile (written by the model): {safe_text(case.profile)}")
    if case.explanation is not None:
        title = one_line(case.explanation.item.title)
        lead.append(f"Explanation of {title}: {safe_text(case.explanation.text)}")
    answers = tuple(_answer_rows(case.details))
    tables = [_lists(case)] if case.slates else []
    tables.append(_verdicts(case))
    tables += [Table("Answers", _SAID, answers)] if answers else []
    return Page(case.heading, tuple(lead), tuple(tables), {"case_id": case_id})


def case_text(db: Database, case_id: int, width: int) -> str:
    """The page as people read it. Raises NotFoundError."""
    page = case_page(db, case_id)
    tables = tuple(readable(table)[0] for table in page.tables)
    return render(replace(page, tables=tables), "text", Screen(width)).text


def _lists(case: Case) -> Table:
    """An item a row; people read the lists side by side."""
    several = len(case.slates) > 1
    rows: list[Row] = []
    beside: dict[int, Row] = {}
    for side, (system, slate) in zip("AB", case.slates, strict=False):
        for rank, item in enumerate(slate.items, 1):
            flags = "; ".join(case.marks(item.item_id))
            about = {"title": item.title, "brand": item.brand, "category": item.category, "flags": flags}
            rows.append({"system": system, "side": side if several else "", "rank": rank, **about})
            beside.setdefault(rank, {"rank": rank})[side] = _item(case, item)
    named = {side: one_line(system) for side, (system, _) in zip("AB", case.slates, strict=False)}
    titles = {side: f"{side} = {system}" if several else system for side, system in named.items()}
    heads = (Column(side, title, "prose") for side, title in titles.items())
    brief = Table("Lists", (Column("rank", "", "int"), *heads), tuple(beside.values()))
    return Table("Lists" if several else "List", _ITEMS, tuple(rows), brief=brief)


def _verdicts(case: Case) -> Table:
    rows: tuple[Row, ...] = tuple(
        {name: getattr(detail, name) for name in _AS_STORED}
        | {
            "verdict_id": str(detail.verdict_id), "label": "" if detail.failed else label_of(detail),
            "flips": "yes" if detail.flipped else "", "failed": "yes" if detail.failed else "",
            "run_id": "" if detail.run_id is None else str(detail.run_id), "why": _decided(detail),
        }
        for detail in case.details
    )  # fmt: skip
    notes = [] if rows else [Note(_NOTHING, step=Step("judge"))]
    if rest := case.total - len(rows):
        notes.append(Note(f"and {rest} more verdicts", step=Step("whole")))
    table = Table("Verdicts", _VERDICTS, rows, tuple(notes))
    return seen_first(table, "rater rater_kind protocol aspect label confidence flips run_id prompt why note")


def _decided(detail: CaseDetail) -> str:
    """What readers did and has not been undone."""
    standing = [entry for entry in detail.triage if entry.standing]
    said = ((entry.reader, entry.action, entry.label, entry.text) for entry in standing)
    return "; ".join(" ".join(filter(None, parts)) for parts in said)


def _answer_rows(details: Sequence[CaseDetail]) -> Iterator[Row]:
    """Each answer once; a call about several aspects has one answer for each."""
    printed: set[tuple[int, str, str]] = set()
    for detail in details:
        for answer in detail.answers:
            key = (answer.call, detail.aspect, answer.reasoning)
            if key not in printed:
                printed.add(key)
                yield {
                    "rater": detail.rater, "aspect": answer.aspect or detail.aspect, "set_one": answer.set_one,
                    "label": "" if answer.failed else answer.label, "reasoning": answer.reasoning,
                    "error": f"{answer.error_kind}: {answer.error}" if answer.failed else "",
                }  # fmt: skip
