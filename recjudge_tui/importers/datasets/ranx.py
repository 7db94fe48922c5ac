"""Runs and relevance judgements (qrels) in the JSON files of ranx: `{query: {document: score}}`.

As `Run.save` and `Qrels.save` of ranx write them (AmenRa/ranx, ranx/data_structures/run.py and qrels.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from recjudge_tui.domain.event_types import JUDGEMENT
from recjudge_tui.domain.records import Event, ImportKind
from recjudge_tui.importers.files.json_object import json_entries
from recjudge_tui.importers.files.json_records import first_keys, storable
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.values import number, shown
from recjudge_tui.importers.plain.list_rows import BY_SCORE
from recjudge_tui.importers.plain.lists import ScoredRow, ranked_rows, slates_of, system_of

_TEXT, _NUMBER = r'"(?:[^"\\]|\\.)*"', r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_FIRST_SCORE = re.compile(rf"\{{\s*{_TEXT}\s*:\s*\{{\s*{_TEXT}\s*:\s*{_NUMBER}\s*[,}}]")
_SCORES = re.compile(rf'"\s*:\s*({_NUMBER})\s*[,}}]')
_WHOLE = re.compile(r"-?\d+", re.ASCII)


class _Judgement(NamedTuple):
    """One document of one query; `place` is its number in the file."""

    place: int
    query: str
    document: str
    value: float


def read_run(request: Request) -> Iterator[LocatedRecord]:
    """A list for each query, sorted by descending score, then descending document id.

    The file does not name the run: the system is `--system`, else the file's name without its ending.
    """
    system = system_of(request)
    request.notes.remark(BY_SCORE)
    scored = (ScoredRow(j.place, j.query, system, j.document, j.value) for j in _judgements(request))
    yield from slates_of(ranked_rows(scored, "item descending"), request.notes)


def read_qrels(request: Request) -> Iterator[LocatedRecord]:
    """A held-out event for each judged document, with the relevance as its value."""
    seen: set[str] = set()
    query = 0
    for judgement in _judgements(request):
        if judgement.place != query:
            seen, query = set(), judgement.place
        if judgement.document in seen:
            text = (
                f"{shown(judgement.document)} is judged twice for {shown(judgement.query)}; the first is kept"
            )
            request.notes.skip(judgement.place, "judged twice", text)
            continue
        seen.add(judgement.document)
        event = Event(
            user_id=judgement.query, item_id=judgement.document, type=JUDGEMENT, value=judgement.value
        )
        yield LocatedRecord(judgement.place, event)


def _judgements(request: Request) -> Iterator[_Judgement]:
    notes = request.notes
    notes.unit = "query "
    for place, entry in enumerate(json_entries(request.path), start=1):
        if not isinstance(entry.value, tuple):
            notes.skip(place, "not a query", f"{shown(entry.key)} has no documents with scores; left out")
            continue
        if not entry.value:
            notes.warn(place, "empty query", f"{shown(entry.key)} has no documents; left out")
        for document, value in entry.value:
            try:
                yield _judgement(place, entry.key, document, value)
            except RowFault as fault:
                notes.skip(place, fault.kind, f"{shown(entry.key)}: {fault.text}; left out")


def _judgement(place: int, query: str, document: str, value: Any) -> _Judgement:
    if not query.strip() or not document.strip():
        raise RowFault("no id", "the query or the document has no id")
    if not (storable(query) and storable(document)):
        raise RowFault("broken text", "a lone surrogate or a NUL character in an id")
    score = number(value if isinstance(value, str) else str(value), f"the score of {shown(document)}")
    return _Judgement(place, query.strip(), document.strip(), score)


def _scores(sample: Sample) -> list[str]:
    """The scores in the file's beginning; empty unless it is an object of objects of numbers."""
    text = sample.text.lstrip("\ufeff \t\r\n")
    objects = set(first_keys(sample).values()) == {"{"}
    return _SCORES.findall(text) if objects and _FIRST_SCORE.match(text) else []


def _fits_run(sample: Sample, kind: ImportKind) -> bool:
    return kind == "lists" and not all(map(_WHOLE.fullmatch, _scores(sample) or ["0"]))


def _fits_qrels(sample: Sample, kind: ImportKind) -> bool:
    scores = _scores(sample)
    return kind == "events" and bool(scores) and all(map(_WHOLE.fullmatch, scores))


# ranx writes the scores of runs as decimals and relevance as whole numbers
RANX_RUN = Layout(
    name="ranx-run",
    kinds=("lists",),
    about="a run of ranx as JSON ({query: {document: score}})",
    fits=_fits_run,
    read=read_run,
    names=("*.json",),
)
RANX_QRELS = Layout(
    name="ranx-qrels",
    kinds=("events",),
    about="qrels of ranx as JSON ({query: {document: whole number}}); for a run of whole scores use --layout ranx-run",
    fits=_fits_qrels,
    read=read_qrels,
    names=("*.json",),
    split_by_name=False,
)
