"""One case: the user, the lists side by side with their flags, every verdict and its reasoning; as text and as tables."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.domain.material import (
    ExplanationView,
    ItemView,
    ShownEvent,
    SlateView,
    UserView,
    undated_text,
)
from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import profile_text
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.table import Note, Row, Screen, Table, columns
from recjudge_tui.steps import Step
from recjudge_tui.store.case_detail import CaseDetail, case_detail, imported_case
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.verdicts import case_verdicts

if TYPE_CHECKING:
    from rich.table import Table as Grid

_EVENTS = 12
MOST_VERDICTS = 100
_NOTHING = "There are no verdicts on this case yet."


class Case(NamedTuple):
    """What is known of a case. `total` counts its verdicts, of which `details` has the first MOST_VERDICTS; `profile`: what
    a model wrote of the user, empty if none did."""

    row: StoredRow
    total: int
    details: list[CaseDetail]
    user: UserView
    slates: tuple[tuple[str, SlateView], ...]
    explanation: ExplanationView | None
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


# ---- the page --------------------------------------------------------------------------------------------------------


def case_page(db: Database, case_id: int, width: int | None = None) -> str:
    """The page as plain text, `width` cells wide (the terminal's by default). Raises NotFoundError."""
    from rich.text import Text

    from recjudge_tui.reports.common.writers.plain import plain_console

    case, out = read_case(db, case_id), io.StringIO()
    console = plain_console(out, Screen(width or max(60, shutil.get_terminal_size((100, 24)).columns)))
    lines = [f"{case.heading}\n", *user_lines(case.user, case.row["served_at"])]
    if case.profile:
        lines.append(f"Profile (written by the model)\n{safe_text(case.profile)}\n")
    console.print(Text("\n".join(lines)))
    if case.slates:
        console.print(_side_by_side(case))
    if case.explanation is not None:
        title = one_line(case.explanation.item.title)
        console.print(Text(f"Explanation of {title}\n{safe_text(case.explanation.text)}\n"))
    console.print(Text("\n".join(_verdict_lines(case.details)) or _NOTHING))
    if rest := case.total - len(case.details):
        console.print(Text(f"and {rest} more verdicts, which an export of verdicts has"))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().split("\n"))


def user_lines(user: UserView, served_at: str) -> Iterator[str]:
    facts = [f"{one_line(key)} {one_line(value)}" for key, value in user.attributes.items()]
    yield "User" + (f": {', '.join(facts)}" if facts else "")
    if undated := undated_text(user, served_at):
        yield f"  {undated}"
    parts = {
        "history": user.history,
        "searches": user.searches,
        "clicks": user.clicks,
        "other events": user.others,
    }
    for name, events in parts.items():
        yield from (f"  {_event(event)}" for event in events[:_EVENTS])
        if len(events) > _EVENTS:
            yield f"  and {len(events) - _EVENTS} more in {name}"
    for preference in user.preferences:
        yield f"  {one_line(preference)}"
    yield ""


def _event(event: ShownEvent) -> str:
    what = one_line(event.item.title if event.item else event.text)
    value = f" ({event.value:g})" if event.value is not None else ""
    return f"{event.timestamp[:10] or '–':10}  {one_line(event.type)}: {what}{value}"


def _side_by_side(case: Case) -> Grid:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("", justify="right", no_wrap=True)
    for place, (system, _) in enumerate(case.slates):
        side = f"{'AB'[place]} = " if len(case.slates) > 1 else ""
        grid.add_column(Text(f"{side}{one_line(system)}"), overflow="fold", ratio=1)
    for rank in range(max(len(slate.items) for _, slate in case.slates)):
        cells = [
            _item(case, slate.items[rank]) if rank < len(slate.items) else "" for _, slate in case.slates
        ]
        grid.add_row(str(rank + 1), *map(Text, cells))
    return grid


def _item(case: Case, item: ItemView) -> str:
    about = ", ".join(one_line(part) for part in (item.brand, item.category) if part)
    title = one_line(item.title) + (f" ({about})" if about else "")
    return "\n".join([title, *(f"▲ {one_line(mark)}" for mark in case.marks(item.item_id))])


def label_of(detail: CaseDetail) -> str:
    """The label, or the number of a verdict without a label."""
    if detail.label or detail.value is None:
        return one_line(detail.label)
    return f"{detail.value:.4g}"


def _verdict_lines(details: Sequence[CaseDetail]) -> Iterator[str]:
    printed: set[tuple[int, str]] = set()
    for detail in details:
        yield ""
        marks = ["failed"] if detail.failed else []
        marks += ["▲ flips when swapped"] if detail.flipped else []
        marks += [f"confidence {detail.confidence:.2f}"] if detail.confidence is not None else []
        marks += [f"run {detail.run_id}, {detail.prompt}"] if detail.run_id is not None else []
        label = "failed" if detail.failed else label_of(detail)
        rest = f" ({', '.join(map(one_line, marks))})" if marks else ""
        yield f"{one_line(detail.rater)} [{detail.rater_kind}] · {detail.protocol} {one_line(detail.aspect)}: {label}{rest}"
        for answer in detail.answers:
            order = f"Set 1 = {one_line(answer.set_one)}: " if answer.set_one else ""
            if answer.failed:
                yield f"  {order}failed, {answer.error_kind}: {one_line(answer.error, 300)}"
            elif (answer.call, answer.reasoning) in printed:
                yield f"  {order}{one_line(answer.label)}, for the reason above"
            else:
                printed.add((answer.call, answer.reasoning))
                yield f"  {order}{one_line(answer.label)}. {one_line(answer.reasoning)}"
        if detail.note and not detail.answers:
            yield f"  {one_line(detail.note)}"


# ---- the tables ------------------------------------------------------------------------------------------------------


_ITEMS = columns(
    "system", "side|Side", "rank", "title|Title", "brand|Brand", "category|Category", "flags|Flagged"
)
_VERDICTS = columns(
    "verdict_id|Verdict", "rater", "rater_kind|Kind", "protocol aspect label value", "confidence|Confidence|float|2",
    "flips|Flips when swapped", "failed|Failed", "run_id|Run", "prompt", "why|Reader", "note|Rater's note",
)  # fmt: skip
_SAID = columns("rater aspect", "set_one|Shown first", "label", "reasoning|Reasoning", "error|Failure")


_AS_STORED = ("rater", "rater_kind", "protocol", "aspect", "value", "confidence", "prompt", "note")


def case_report(db: Database, case_id: int) -> Page:
    """The content of `case_page` as tables. Raises NotFoundError."""
    case = read_case(db, case_id)
    lead = [line.strip() for line in user_lines(case.user, case.row["served_at"]) if line.strip()]
    if case.profile:
        lead.append(f"Profile (written by the model): {safe_text(case.profile)}")
    if case.explanation is not None:
        title = one_line(case.explanation.item.title)
        lead.append(f"Explanation of {title}: {safe_text(case.explanation.text)}")
    several = len(case.slates) > 1
    items: tuple[Row, ...] = tuple(
        {
            "system": system, "side": "AB"[place] if several else "", "rank": rank, "title": item.title,
            "brand": item.brand, "category": item.category, "flags": "; ".join(case.marks(item.item_id)),
        }
        for place, (system, slate) in enumerate(case.slates)
        for rank, item in enumerate(slate.items, 1)
    )  # fmt: skip
    answers = tuple(_answer_rows(case.details))
    tables = [Table("Lists" if several else "List", _ITEMS, items)] if case.slates else []
    tables.append(_verdicts(case))
    tables += [Table("Answers", _SAID, answers)] if answers else []
    return Page(case.heading, tuple(lead), tuple(tables), {"case_id": case_id})


def _verdicts(case: Case) -> Table:
    rows: tuple[Row, ...] = tuple(
        {name: getattr(detail, name) for name in _AS_STORED}
        | {
            "verdict_id": str(detail.verdict_id),
            "label": "" if detail.failed else label_of(detail),
            "flips": "yes" if detail.flipped else "",
            "failed": "yes" if detail.failed else "",
            "run_id": "" if detail.run_id is None else str(detail.run_id),
            # what readers did and has not been undone
            "why": "; ".join(
                " ".join(filter(None, (entry.reader, entry.action, entry.label, entry.text)))
                for entry in detail.triage
                if entry.standing
            ),
        }
        for detail in case.details
    )
    notes = [] if rows else [Note(_NOTHING, step=Step("judge"))]
    if rest := case.total - len(rows):
        notes.append(Note(f"and {rest} more verdicts", step=Step("whole")))
    return Table("Verdicts", _VERDICTS, rows, tuple(notes))


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
