"""One case as tables, for every table format: the lists, the verdicts and the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recjudge_tui.domain.material import SlateView
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.verdicts.case_page import (
    MOST_VERDICTS,
    case_heading,
    case_material,
    label_of,
    user_lines,
    written_profile,
)
from recjudge_tui.store.cases.cases import case_row
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.case_detail import CaseDetail, CaseFlag, case_detail
from recjudge_tui.store.verdicts.listing import case_verdicts

_ITEMS = (
    Column("system", "System"),
    Column("side", "Side"),
    Column("rank", "Rank", "int"),
    Column("title", "Title"),
    Column("brand", "Brand"),
    Column("category", "Category"),
    Column("flags", "Flagged"),
)
_VERDICTS = (
    Column("verdict_id", "Verdict"),
    Column("rater", "Rater"),
    Column("rater_kind", "Kind"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("label", "Label"),
    Column("value", "Value", "float"),
    Column("confidence", "Confidence", "float", decimals=2),
    Column("flips", "Flips when swapped"),
    Column("failed", "Failed"),
    Column("run_id", "Run"),
    Column("prompt", "Prompt"),
    Column("why", "Reader"),
    Column("note", "Rater's note"),
)
_SAID = (
    Column("rater", "Rater"),
    Column("aspect", "Aspect"),
    Column("set_one", "Shown first"),
    Column("label", "Label"),
    Column("reasoning", "Reasoning"),
    Column("error", "Failure"),
)


def case_report(db: Database, case_id: int) -> Page:
    """The content of `case_page` as tables. Raises NotFoundError."""
    row = case_row(db, case_id)
    ids = case_verdicts(db, case_id)
    details = [case_detail(db, identity) for identity in ids[:MOST_VERDICTS]]
    user, slates, explanation = case_material(db, row, details)
    lead = [line.strip() for line in user_lines(user, row["served_at"]) if line.strip()]
    profile = user.profile or next((written_profile(d.profile) for d in details if d.profile), "")
    if profile:
        lead.append(f"Profile (written by the model): {safe_text(profile)}")
    if explanation is not None:
        lead.append(f"Explanation of {one_line(explanation.item.title)}: {safe_text(explanation.text)}")
    tables = [_lists(slates, details[0].flags if details else ())] if slates else []
    tables.append(_verdicts(details, len(ids)))
    answers = tuple(_answer_rows(details))
    if answers:
        tables.append(Table("Answers", _SAID, answers))
    return Page(case_heading(row).strip(), tuple(lead), tuple(tables), {"case_id": case_id})


def _lists(slates: Sequence[tuple[str, SlateView]], flags: Sequence[CaseFlag]) -> Table:
    rows: list[Row] = []
    for place, (system, slate) in enumerate(slates):
        for rank, item in enumerate(slate.items, 1):
            marks = dict.fromkeys(
                (flag.rater, flag.issue, flag.reason) for flag in flags if flag.item_id == item.item_id
            )
            rows.append(
                {
                    "system": system,
                    "side": "AB"[place] if len(slates) > 1 else "",
                    "rank": rank,
                    "title": item.title,
                    "brand": item.brand,
                    "category": item.category,
                    "flags": "; ".join(
                        f"{issue}, {rater}" + (f": {reason}" if reason else "")
                        for rater, issue, reason in marks
                    ),
                }
            )
    return Table("Lists" if len(slates) > 1 else "List", _ITEMS, tuple(rows))


def _verdicts(details: Sequence[CaseDetail], total: int) -> Table:
    rows: tuple[Row, ...] = tuple(
        {
            "verdict_id": str(detail.verdict_id),
            "rater": detail.rater,
            "rater_kind": detail.rater_kind,
            "protocol": detail.protocol,
            "aspect": detail.aspect,
            "label": "" if detail.failed else label_of(detail),
            "value": detail.value,
            "confidence": detail.confidence,
            "flips": "yes" if detail.flipped else "",
            "failed": "yes" if detail.failed else "",
            "run_id": "" if detail.run_id is None else str(detail.run_id),
            "prompt": detail.prompt,
            "why": "; ".join(_done(detail)),
            "note": detail.note,
        }
        for detail in details
    )
    notes = () if rows else ("There are no verdicts on this case yet.",)
    if total > len(rows):
        notes = (f"and {total - len(rows)} more verdicts: “recjudge export verdicts” has them all",)
    return Table("Verdicts", _VERDICTS, rows, notes)


def _done(detail: CaseDetail) -> Iterator[str]:
    """The readers' actions that have not been undone."""
    for entry in detail.triage:
        if entry.active:
            yield " ".join(part for part in (entry.reader, entry.action, entry.label, entry.text) if part)


def _answer_rows(details: Sequence[CaseDetail]) -> Iterator[Row]:
    """Each answer once; a call about several aspects has one answer for each."""
    printed: set[tuple[int, str, str]] = set()
    for detail in details:
        for answer in detail.answers:
            key = (answer.call, detail.aspect, answer.reasoning)
            if key in printed:
                continue
            printed.add(key)
            yield {
                "rater": detail.rater,
                "aspect": answer.aspect or detail.aspect,
                "set_one": answer.set_one,
                "label": "" if answer.failed else answer.label,
                "reasoning": answer.reasoning,
                "error": f"{answer.error_kind}: {answer.error}" if answer.failed else "",
            }
