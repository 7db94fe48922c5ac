"""Lists and held-out relevance in the files of retrieval tools: TREC's runs and qrels, and ranx's JSON.

A TREC run has `query Q0 document rank score name`, qrels `query 0 document relevance`; trec_eval orders a run by score
alone. ranx reads `{query: {document: score}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

import numpy as np

from recjudge_tui.domain.occasions import EVERY_OCCASION, Occasion, OccasionFilter
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.reports.common.stream import ExportCounts, text_file
from recjudge_tui.reports.common.writers.json_text import harmless
from recjudge_tui.stats.retrieval import truth_key, truths_of
from recjudge_tui.store.data.catalogue import current_slates
from recjudge_tui.store.data.heldout import held_out
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.exports import list_rows

RankingFormat = Literal["trec", "ranx"]


class _Query(NamedTuple):
    """One user on one occasion: the documents with their scores or relevance, best first where they are ranked."""

    name: str
    documents: tuple[tuple[str, float | int], ...]


def write_run(
    db: Database,
    project_id: int,
    system: str,
    fmt: RankingFormat,
    target: Path | TextIO,
    occasions: OccasionFilter = EVERY_OCCASION,
) -> ExportCounts:
    """Write the current lists of one system as a run; rows are documents.

    Scores that are missing or do not strictly decrease with the rank are replaced by n, n-1, ..., 1, so that a tool
    that sorts by score gets the list's own order. Raises RecjudgeError for ids that a TREC file cannot hold.
    """
    replaced = on_occasions = 0

    def queries() -> Iterator[_Query]:
        nonlocal replaced, on_occasions
        rows = list_rows(db, project_id, [system], occasions)
        for (user, *occasion), group in groupby(rows, key=lambda row: (row[0], *row[5:])):
            items, list_scores = zip(*((row[2], row[4]) for row in group), strict=True)
            scores = _falling(list_scores)
            replaced += scores is None
            on_occasions += any(occasion)
            yield _Query(
                query_name(user, Occasion(*occasion)),
                tuple(zip(items, scores or [float(n) for n in range(len(items), 0, -1)], strict=True)),
            )

    name = "_".join(system.split()) or "run"
    rows = _write(queries(), fmt, target, lambda query: _run_lines(query, name))
    notes = []
    if on_occasions:
        notes.append(
            f"{quantity(on_occasions, 'query is', 'queries are')} named user|context|served_at;"
            " an import takes the whole name for the user."
        )
    if replaced:
        notes.append(
            f"{replaced:,} lists have no scores that decrease with the rank: their scores were replaced by n, n-1, ..., 1."
        )
    if fmt == "trec" and name != system:
        notes.append(f"the run is named {name}, because a name in a TREC file has no spaces.")
    return ExportCounts(rows, notes=tuple(notes))


def write_qrels(
    db: Database,
    project_id: int,
    fmt: RankingFormat,
    target: Path | TextIO,
    occasions: OccasionFilter = EVERY_OCCASION,
) -> ExportCounts:
    """Write the held-out items of every user as qrels, for each of these occasions on which the user has a list.

    The events that count on an occasion, and the value of an item with several values, are as in the offline metrics
    (`truths_of`). A user without lists has the occasions that the events name. Raises RecjudgeError for a value that
    is not a whole number, and for ids that a TREC file cannot hold.
    """
    known = {
        user: dict.fromkeys(slate.occasion for slate in slates)
        for user, slates in current_slates(db, project_id).items()
    }

    def queries() -> Iterator[_Query]:
        for user, events in held_out(db, project_id).items():
            truths = truths_of({user: events})
            named = dict.fromkeys(Occasion(event.context, event.served_at) for event in events)
            for occasion in filter(occasions.has, known.get(user, named)):
                key = truth_key(truths, user, *occasion)
                gains = truths[key].gains if key else {}
                documents = tuple((item, _relevance(user, item, gain)) for item, gain in gains.items())
                yield _Query(query_name(user, occasion), documents)

    return ExportCounts(_write(queries(), fmt, target, _qrel_lines))


def query_name(user_id: str, occasion: Occasion) -> str:
    """The user, with the context and time of the occasion if it has them: `u1|home|2024-05-01T12:00:00+00:00`."""
    return "|".join((user_id, *filter(None, occasion)))


def _write(
    queries: Iterable[_Query],
    fmt: RankingFormat,
    target: Path | TextIO,
    lines: Callable[[_Query], Iterator[str]],
) -> int:
    written = 0
    with text_file(target) as file:
        if fmt == "trec":
            for query in queries:
                file.writelines(lines(query))
                written += len(query.documents)
            return written
        before = "{"
        for query in filter(lambda query: query.documents, queries):
            entry = f"{json.dumps(query.name, ensure_ascii=False)}: {json.dumps(dict(query.documents), ensure_ascii=False)}"
            file.write(f"{before}\n{harmless(entry)}")
            before, written = ",", written + len(query.documents)
        file.write("\n}\n" if before == "," else "{}\n")
    return written


def _run_lines(query: _Query, name: str) -> Iterator[str]:
    for rank, (document, score) in enumerate(query.documents, start=1):
        yield f"{_trec_id(query.name)} Q0 {_trec_id(document)} {rank} {score!r} {name}\n"


def _qrel_lines(query: _Query) -> Iterator[str]:
    for document, relevance in query.documents:
        yield f"{_trec_id(query.name)} 0 {_trec_id(document)} {relevance}\n"


def _trec_id(name: str) -> str:
    if name.split() == [name]:
        return name
    raise RecjudgeError(
        f"“{one_line(name, 60)}” cannot be written to a TREC file",
        "It contains white space, which would separate fields.",
        "Use --format ranx or a table (--format csv), which hold any id. Nothing was written.",
    )


def _falling(scores: Sequence[float | None]) -> list[float] | None:
    """The scores, if each is lower than the one before in the single precision that trec_eval uses; else None."""
    known = [score for score in scores if score is not None]
    falls = (np.diff(np.asarray(known, dtype=np.float32)) < 0).all()
    return known if falls and len(known) == len(scores) else None


def _relevance(user_id: str, item_id: str, value: float) -> int:
    if value != int(value):
        raise RecjudgeError(
            f"the value {value:g} of item “{one_line(item_id, 60)}” for “{one_line(user_id, 60)}” is not whole",
            "Qrels hold whole numbers.",
            "Use a table (--format csv), which holds any value. Nothing was written.",
        )
    return int(value)
