"""Writes the content of a project to files: verdicts, calls, flags, cases, labels, images, lists, qrels; the last
two also as files of retrieval tools.

A TREC run has `query Q0 document rank score name`, qrels `query 0 document relevance`; trec_eval orders a run by score
alone. ranx reads `{query: {document: score}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np

from recjudge_tui.domain.occasions import EVERY_OCCASION, Occasion, OccasionFilter
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.writers import data as files
from recjudge_tui.reports.verdict_list import listed_verdicts, project_filter
from recjudge_tui.reports.words import combined_notes
from recjudge_tui.stats.retrieval import truth_key, truths_of
from recjudge_tui.store import exports as stored
from recjudge_tui.store.cases import Countable, check_contexts, untimed_count, untimed_note
from recjudge_tui.store.data import check_judgeable, current_slates
from recjudge_tui.store.data import systems as systems_with_lists
from recjudge_tui.store.histories import held_out
from recjudge_tui.store.ratings import project_raters
from recjudge_tui.store.verdicts import EXPORTED, exported_rows

RankingFormat = Literal["trec", "ranx"]
LISTS = "lists"
# what can be written as files of retrieval tools
RANKINGS = (LISTS, "qrels")
# what belongs to no occasion
WITHOUT_OCCASION = ("images",)
_TABLES: dict[str, tuple[Sequence[str], Callable[..., Iterable[Sequence[Any]]]]] = {
    "calls": (stored.CALL_COLUMNS, stored.call_rows),
    "flags": (stored.FLAG_COLUMNS, stored.flag_rows),
    "cases": (stored.CASE_COLUMNS, stored.case_rows),
    "labels": (stored.LABEL_COLUMNS, stored.label_rows),
    "qrels": (stored.QREL_COLUMNS, stored.qrel_rows),
    LISTS: (stored.LIST_COLUMNS, stored.list_rows),
    "images": (stored.IMAGE_COLUMNS, stored.image_rows),
}


def export(
    project: Project, what: str, fmt: files.ExportFormat | RankingFormat, target: Path | TextIO, filter_text: str = "",
    systems: Sequence[str] = (), occasions: OccasionFilter = EVERY_OCCASION,
) -> files.ExportCounts:  # fmt: skip
    """Write one kind of data. Only verdicts can be filtered, as on the screen; `systems` is for lists only, `occasions`
    for everything but images. `replay:FILE` reads calls as JSON lines, and `import` reads labels, images (as items),
    lists and qrels. Raises UsageError for options that cannot be combined, NotFoundError for an unknown context,
    RecjudgeError when the file cannot be written."""
    db, key = project.db, project.id
    if filter_text and what != "verdicts":
        raise UsageError("only verdicts can be filtered")
    if systems and what != LISTS:
        raise UsageError("systems can only be chosen for lists")
    check_contexts(db, key, occasions)
    if what in WITHOUT_OCCASION and occasions != EVERY_OCCASION:
        raise UsageError(f"{what} have no context and no time")
    chosen: Sequence[str] = ()
    if what == LISTS:
        known = systems_with_lists(db, key)
        check_judgeable(db, key, systems, known)
        chosen = systems or known
    if fmt == "trec" or fmt == "ranx":
        if what not in RANKINGS:
            others = ", ".join((*files.EXPORT_FORMATS, files.PARQUET))
            reason = f"the format {fmt} is only for {' and '.join(RANKINGS)}"
            raise UsageError(reason, next_step=f"Use one of {others}.")
        if what != LISTS:
            return _write_qrels(project, fmt, target, occasions)
        if len(chosen) != 1:
            there = f"Available: {', '.join(chosen) or 'none'}."
            raise UsageError(f"the format {fmt} holds the lists of one system", there, "Name one of them.")
        return _write_run(project, chosen[0], fmt, target, occasions)
    if what == "verdicts":
        return write_verdicts(project, filter_text, fmt, target, occasions)
    columns, rows_of = _TABLES[what]
    asked = (chosen, occasions) if what == LISTS else () if what in WITHOUT_OCCASION else (occasions,)
    return files.write_rows(columns, rows_of(db, key, *asked), fmt, target)


def left_out(
    project: Project, what: str, fmt: files.ExportFormat | RankingFormat, occasions: OccasionFilter
) -> str:
    """A sentence on the cases that an export leaves out because a time was chosen; empty if there are none."""
    counted: Countable = "cases"
    if what in RANKINGS:
        # a file of a retrieval tool has one query per list
        counted = "lists" if what == LISTS or fmt in ("trec", "ranx") else "held-out events"
    return untimed_note(untimed_count(project.db, project.id, counted, CaseSelection(occasions)), counted)


def write_verdicts(
    project: Project, filter_text: str, fmt: files.ExportFormat, target: Path | TextIO,
    occasions: OccasionFilter = EVERY_OCCASION, *, ids: Sequence[int] | None = None,
) -> files.ExportCounts:  # fmt: skip
    """Write the verdicts that match `filter_text`, by id, or those of `ids`; notes say which raters are made from
    others. Raises what `project_filter` raises, and RecjudgeError when the file cannot be written."""
    if ids is None:
        chosen = project_filter(project.db, project.id, filter_text).at(occasions)
        ids = listed_verdicts(project.db, project.id, chosen).ids
    seen, at = set[str](), EXPORTED.index("rater")

    def rows() -> Iterator[tuple[Any, ...]]:
        for row in exported_rows(project.db, ids):
            seen.add(row[at])
            yield row

    written, raters = files.write_rows(EXPORTED, rows(), fmt, target), project_raters(project.db, project.id)
    return written._replace(notes=tuple(combined_notes(raters[name] for name in seen)))


# ---- files of retrieval tools ----------------------------------------------------------------------------------------

# one user on one occasion: its name, and the documents with their scores or relevance, best first where they are ranked
_Query = tuple[str, Sequence[tuple[str, float | int]]]


def _write_run(
    project: Project, system: str, fmt: RankingFormat, target: Path | TextIO, occasions: OccasionFilter
) -> files.ExportCounts:
    """Write the current lists of one system as a run; rows are documents. Scores that are missing or do not strictly
    decrease with the rank are replaced by n, n-1, ..., 1, so that a tool that sorts by score gets the list's own order.
    Raises RecjudgeError for ids that a TREC file cannot hold."""
    replaced = on_occasions = 0

    def queries() -> Iterator[_Query]:
        nonlocal replaced, on_occasions
        rows = stored.list_rows(project.db, project.id, [system], occasions)
        for (user, *occasion), group in groupby(rows, key=lambda row: (row[0], *row[5:])):
            items, list_scores = zip(*((row[2], row[4]) for row in group), strict=True)
            # in the single precision that trec_eval uses
            falls = None not in list_scores and (np.diff(np.asarray(list_scores, dtype=np.float32)) < 0).all()
            scores = list_scores if falls else [float(n) for n in range(len(items), 0, -1)]
            replaced += not falls
            on_occasions += any(occasion)
            yield query_name(user, Occasion(*occasion)), [*zip(items, scores, strict=True)]

    name = "_".join(system.split()) or "run"
    rows = _write(queries(), fmt, target, "{query} Q0 {document} {rank} {value!r} {name}", name)
    named = quantity(on_occasions, "query is", "queries are")
    notes = {
        f"{named} named user|context|served_at; an import takes the whole name for the user.": on_occasions,
        f"{replaced:,} lists have no scores that decrease with the rank: their scores were replaced by n, n-1, ..., 1.":
        replaced,
        f"the run is named {name}, because a name in a TREC file has no spaces.": fmt == "trec" and name != system,
    }  # fmt: skip
    return files.ExportCounts(rows, notes=tuple(note for note, holds in notes.items() if holds))


def _write_qrels(
    project: Project, fmt: RankingFormat, target: Path | TextIO, occasions: OccasionFilter
) -> files.ExportCounts:
    """Write the held-out items of every user as qrels, for each of these occasions on which the user has a list. The
    events that count on an occasion, and the value of an item with several values, are as in the offline metrics
    (`truths_of`). A user without lists has the occasions that the events name. Raises RecjudgeError for a value that is
    not a whole number, and for ids that a TREC file cannot hold."""
    slates = current_slates(project.db, project.id)

    def queries() -> Iterator[_Query]:
        for user, events in held_out(project.db, project.id).items():
            truths = truths_of({user: events})
            known = [slate.occasion for slate in slates.get(user, ())]
            named = known or [Occasion(event.context, event.served_at) for event in events]
            for occasion in filter(occasions.has, dict.fromkeys(named)):
                key = truth_key(truths, user, *occasion)
                gains = truths[key].gains if key else {}
                documents = [(item, _relevance(user, item, gain)) for item, gain in gains.items()]
                yield query_name(user, occasion), documents

    return files.ExportCounts(_write(queries(), fmt, target, "{query} 0 {document} {value}"))


def query_name(user_id: str, occasion: Occasion) -> str:
    """The user, with the context and time of the occasion if it has them: `u1|home|2024-05-01T12:00:00+00:00`."""
    return "|".join((user_id, *filter(None, occasion)))


def _write(
    queries: Iterable[_Query], fmt: RankingFormat, target: Path | TextIO, line: str, name: str = ""
) -> int:
    """Write the queries, in a TREC file each document as a `line` with the run's name; returns the number of documents."""
    written = 0
    with files.text_file(target) as file:
        before = "{"
        for query, documents in queries:
            written += len(documents)
            if fmt == "trec":
                query = _trec_id(query) if documents else ""
                for rank, (document, value) in enumerate(documents, start=1):
                    of_query = {"query": query, "rank": rank, "value": value, "name": name}
                    file.write(line.format(document=_trec_id(document), **of_query) + "\n")
            elif documents:
                entry = (json.dumps(part, ensure_ascii=False) for part in (query, dict(documents)))
                file.write(f"{before}\n{files.harmless(': '.join(entry))}")
                before = ","
        if fmt == "ranx":
            file.write("\n}\n" if before == "," else "{}\n")
    return written


def _trec_id(name: str) -> str:
    if name.split() == [name]:
        return name
    raise RecjudgeError(
        f"“{one_line(name, 60)}” cannot be written to a TREC file",
        "It contains white space, which would separate fields.",
        "The formats ranx and csv hold any id. Nothing was written.",
    )


def _relevance(user_id: str, item_id: str, value: float) -> int:
    if value != int(value):
        raise RecjudgeError(
            f"the value {value:g} of item “{one_line(item_id, 60)}” for “{one_line(user_id, 60)}” is not whole",
            "Qrels hold whole numbers.",
            "The format csv holds any value. Nothing was written.",
        )
    return int(value)
