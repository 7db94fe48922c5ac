"""TREC's runs and relevance judgements (qrels), as trec_eval reads them: fields separated by any white space."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recjudge_tui.domain.event_types import JUDGEMENT
from recjudge_tui.domain.records import Event, ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.reading import most_lines_match, text_lines
from recjudge_tui.importers.files.values import number, shown
from recjudge_tui.importers.plain.lists import ScoredRow, ranked_rows, slates_of

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
# the second field, which trec_eval ignores, distinguishes these files from other tables of numbers
_RUN = re.compile(rf"\s*\S+\s+(?:[Qq]0|0)\s+\S+\s+[+-]?\d+\s+{_NUMBER}\s+\S+\s*", re.ASCII)
_QREL = re.compile(r"\s*\S+\s+(?:[Qq]0|0)\s+\S+\s+[+-]?\d+\s*", re.ASCII)


def read_run(request: Request) -> Iterator[LocatedRecord]:
    """A list for each query and run, sorted by descending score, then descending document id; the rank is ignored.

    `--system` replaces the run's name, which may then be missing.
    """
    yield from slates_of(ranked_rows(_scored(request), "item descending"), request.notes)


def _scored(request: Request) -> Iterator[ScoredRow]:
    notes = request.notes
    for line, fields in _fields(request):
        if len(fields) == 5 and not request.system:
            raise InputError(
                f"{request.path}:{line}: the name of the run is missing",
                "A run has: query, Q0, document, rank, score, run.",
                "Name the system with --system NAME.",
            )
        if len(fields) not in (5, 6):
            notes.skip(line, "wrong number of fields", f"{len(fields)} fields instead of 6; line left out")
            continue
        try:
            score = number(fields[4], "score")
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; line left out")
            continue
        yield ScoredRow(line, fields[0], request.system or fields[5], fields[2], score)


def read_qrels(request: Request) -> Iterator[LocatedRecord]:
    """A held-out event for each judged document, with the relevance as its value."""
    seen: dict[tuple[str, str], int] = {}
    for line, fields in _fields(request):
        if len(fields) != 4:
            text = f"{len(fields)} fields instead of 4; line left out"
            request.notes.skip(line, "wrong number of fields", text)
            continue
        user, _, item, relevance = fields
        first = seen.setdefault((user, item), line)
        if first != line:
            text = f"{shown(item)} is judged twice for {shown(user)}; line {first} is kept"
            request.notes.skip(line, "judged twice", text)
            continue
        try:
            event = Event(user_id=user, item_id=item, type=JUDGEMENT, value=number(relevance, "relevance"))
        except RowFault as fault:
            request.notes.skip(line, fault.kind, f"{fault.text}; line left out")
            continue
        yield LocatedRecord(line, event)


def _fields(request: Request) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(text_lines(request.path), start=1):
        if fields := text.split():
            yield line, fields


def _fits_run(sample: Sample, kind: ImportKind) -> bool:
    return kind == "lists" and most_lines_match(sample, _RUN)


def _fits_qrels(sample: Sample, kind: ImportKind) -> bool:
    return kind == "events" and most_lines_match(sample, _QREL)


TREC_RUN = Layout(
    name="trec-run",
    kinds=("lists",),
    about="a TREC run (query, Q0, document, rank, score, run)",
    fits=_fits_run,
    read=read_run,
    names=("*.run", "*.txt", "*.trec"),
    has_header=False,
)
TREC_QRELS = Layout(
    name="trec-qrels",
    kinds=("events",),
    about="TREC relevance judgements (query, 0, document, relevance)",
    fits=_fits_qrels,
    read=read_qrels,
    names=("*qrel*",),
    split_by_name=False,
    has_header=False,
)
