"""The data released with Zhang et al., "Large Language Models as Evaluators for Recommendation Explanations" (2024).

The tables in the folder `data` of Xiaoyu-SZ/LLMasEvaluator, a table that joins them, and what the scripts of the release
write for a judge (`output/*_correlation_results.csv`, annot.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from recjudge_tui.domain.protocols import ZHANG_ASPECTS
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.html_text import html_text
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.mapping import KindMapping, load_mapping, mapped_rows
from recjudge_tui.importers.files.notes import Notes, Row
from recjudge_tui.importers.files.reading import bare_name, sample_of, stem
from recjudge_tui.importers.files.tables import Dialect, header_of, read_table
from recjudge_tui.importers.plain.columns import KNOWN
from recjudge_tui.importers.plain.tables import records_of

JOINED = "explanations.csv"
SHOWN = "df_explanation_selected.csv"
SCORES = "third_party.csv"
PEOPLE = "user_demo.csv"
MAPPING = Path(__file__).with_name("zhang2024.toml")

_FROM_SHOWN = {
    "user_id": "user_id",
    "movie_id": "movie_id",
    "movie_title": "movie_title",
    "explanation_type": "explanation_type",
    "explanation": "explanation",
    **{aspect: "interest_accuracy" if aspect == "accuracy" else aspect for aspect in ZHANG_ASPECTS},
}
_FROM_SCORES = {
    f"{aspect}_{annotator}": f"{'satisfactory' if aspect == 'satisfaction' else aspect}_{annotator}"
    for annotator in (1, 2)
    for aspect in ZHANG_ASPECTS
}
_ALIGNED = ("movie_id", "explanation_type")
# the columns of the joined table that every reader needs
FIELDS = (*_FROM_SHOWN, *_FROM_SCORES)
_ABOUT_PEOPLE = ("gender", "user_movie_interest", "peryear", "total")
# table -> the columns by which it is recognised
_TABLES = {
    JOINED: FIELDS,
    SHOWN: tuple(_FROM_SHOWN.values()),
    SCORES: (*_ALIGNED, *_FROM_SCORES.values()),
    PEOPLE: ("user_id", *_ABOUT_PEOPLE),
}
# table -> the raters whose scores are read from it
_RATERS = {
    JOINED: ("user", "annotator_1", "annotator_2"),
    SHOWN: ("user",),
    SCORES: ("annotator_1", "annotator_2"),
}
# the scripts' score of a reply that they could not read
_UNREAD = re.compile(r"0+(\.0*)?")
_JUDGE = ("user", "movie_id", "explanation_type", "metric", "llm_value")


def read_zhang2024(request: Request) -> Iterator[LocatedRecord]:
    """Films as items, people as users, the explanations shown to them, and the scores: people's own scores as ground
    truth (rater `user`), those of the two third-party annotators as labels of annotators.

    The kind of an explanation is its system; its HTML becomes text. Raises InputError for tables that do not belong
    together, and for the annotators' table without the one of the explanations.
    """
    table = _table_of(sample_of(request.path))
    if not table:
        raise InputError(
            f"{request.path} is not a table of zhang2024",
            next_step=f"These are {', '.join(_TABLES)} in the folder “data” of Xiaoyu-SZ/LLMasEvaluator.",
        )
    rows = _rows_of(request, table)
    if request.kind == "users":
        yield from records_of(request, _people(rows))
        return
    mapping = _mapping(request.kind, _RATERS.get(table, ()))
    yield from records_of(request, mapped_rows(mapping, rows, request.notes), mapping)


def _rows_of(request: Request, table: str) -> Iterator[Row]:
    """The rows with the columns of the joined table."""
    if table == SCORES:
        shown = next(
            (path for path in request.beside if bare_name(path) == SHOWN), request.path.with_name(SHOWN)
        )
        if not shown.is_file():
            raise InputError(
                f"{request.path} needs {SHOWN}",
                "Its rows do not say which user an explanation was shown to.",
                "Put both into one folder, or give both to the command.",
            )
        yield from joined_rows(shown, request.path)
        return
    for line, row in read_table(request.path, _TABLES[table], Dialect(), request.notes).rows:
        yield line, row if table != SHOWN else {name: row[column] for name, column in _FROM_SHOWN.items()}


def _people(rows: Iterator[Row]) -> Iterator[Row]:
    seen: set[str] = set()
    for line, row in rows:
        if row["user_id"] not in seen:
            seen.add(row["user_id"])
            yield line, {"user_id": row["user_id"], **{n: html_text(row.get(n, "")) for n in _ABOUT_PEOPLE}}


def _mapping(kind: ImportKind, raters: tuple[str, ...]) -> KindMapping:
    mapping = load_mapping(MAPPING, KNOWN).kinds[kind]
    fields = dict(mapping.fields)
    if kind == "explanations":
        fields["text"] = fields["text"].model_copy(update={"html": True})
    scores = {rater: aspects for rater, aspects in mapping.raters.items() if rater in raters}
    return mapping.model_copy(update={"fields": fields, "raters": scores})


def joined_rows(shown: Path, scores: Path) -> Iterator[Row]:
    """The explanations with the annotators' scores, row by row."""
    left, right = (
        _rows(shown, tuple(_FROM_SHOWN.values())),
        _rows(scores, (*_ALIGNED, *_FROM_SCORES.values())),
    )
    for number, (left_row, right_row) in enumerate(zip_longest(left, right), start=1):
        if left_row is None or right_row is None:
            short, long = (shown, scores) if left_row is None else (scores, shown)
            raise _misaligned(
                shown, scores, f"{short.name} ends after {number - 1:,} rows, {long.name} does not."
            )
        (_, a), (line, b) = left_row, right_row
        apart = next((name for name in _ALIGNED if a[name].strip() != b[name].strip()), None)
        if apart:
            raise _misaligned(
                shown, scores, f"{scores.name}:{line} has another {apart} than the same row of {shown.name}."
            )
        row = {name: a[column] for name, column in _FROM_SHOWN.items()}
        yield line, row | {name: b[column] for name, column in _FROM_SCORES.items()}


def _rows(path: Path, wanted: tuple[str, ...]) -> Iterator[Row]:
    """The rows of a table. Raises InputError if it lacks a wanted column or has a row that cannot be read."""
    notes = Notes(path)
    table = read_table(path, wanted, Dialect(), notes)
    if missing := [column for column in wanted if column not in table.columns]:
        raise InputError(f"{path} has no column {missing[0]}", f"Found: {', '.join(table.columns)}.")
    yield from table.rows
    if notes.skipped:
        raise InputError(f"{path} has rows that cannot be read", f"{notes.first[0]}.")


def _misaligned(shown: Path, scores: Path, cause: str) -> InputError:
    return InputError(
        f"{shown.name} and {scores.name} are not aligned", cause, "Use both as they were released."
    )


def read_judge(request: Request) -> Iterator[LocatedRecord]:
    """The scores of one judge as labels of a rater that is a judge, named after the file.

    A score of 0, which the scripts write for a reply that could not be read, is a failed answer.
    """
    table = read_table(request.path, _JUDGE, Dialect(delimiter="\t", quote=""), request.notes)
    if missing := [name for name in _JUDGE if name not in table.columns]:
        raise InputError(f"{request.path} has no column {missing[0]}", f"Found: {', '.join(table.columns)}.")
    rater = stem(request.path).removesuffix("_correlation_results")
    yield from records_of(request, _scores_of(table.rows, rater))


def _scores_of(rows: Iterator[Row], rater: str) -> Iterator[Row]:
    for line, row in rows:
        metric = row["metric"].strip()
        yield (
            line,
            {
                "rater": rater,
                "rater_kind": "judge",
                "protocol": "explanation",
                "user_id": row["user"],
                "item_id": row["movie_id"],
                "system": row["explanation_type"],
                "aspect": "satisfaction" if metric == "satisfactory" else metric,
                "value": row["llm_value"],
                "state": "failed" if _UNREAD.fullmatch(row["llm_value"].strip()) else "ok",
            },
        )


def _table_of(sample: Sample) -> str:
    """Which table it is, by its columns; empty for any other file."""
    names = set(header_of(sample.text))
    fits = (table for table, columns in _TABLES.items() if names.issuperset(columns))
    name = next(fits, "")
    return "" if name == PEOPLE and "movie_id" in names else name


def _fits(sample: Sample, kind: ImportKind) -> bool:
    """Whether the table holds this kind.

    Attributes that people gave about themselves are in a table of their own, if it is present.
    """
    table = _table_of(sample)
    if table in (PEOPLE, SCORES):
        return kind == ("users" if table == PEOPLE else "labels")
    if kind == "users" and sample.path.with_name(PEOPLE).is_file():
        return False
    return bool(table) and kind in ("items", "users", "explanations", "labels")


def _fits_part(sample: Sample, kind: ImportKind) -> bool:
    """Whether the joined table in the same folder has the same rows, and columns that this one lacks."""
    part = sample.path.with_name(JOINED).is_file() and _table_of(sample) in (SHOWN, SCORES)
    return part and _fits(sample, kind)


def _fits_judge(sample: Sample, kind: ImportKind) -> bool:
    return kind == "labels" and set(header_of(sample.text)).issuperset(_JUDGE)


ZHANG2024 = Layout(
    name="zhang2024",
    kinds=("items", "users", "explanations", "labels"),
    about="the data released with Zhang et al. (2024): explanations of films, and people's scores",
    fits=_fits,
    read=read_zhang2024,
    names=("*.csv",),
)
# never imported from a folder: the joined table contains more
ZHANG2024_PARTS = ZHANG2024._replace(name="zhang2024-parts", fits=_fits_part, names=("",))
ZHANG2024_JUDGE = Layout(
    name="zhang2024-judge",
    kinds=("labels",),
    about="a judge's scores as the scripts of Zhang et al. (2024) write them",
    fits=_fits_judge,
    read=read_judge,
    names=("*_correlation_results.csv",),
)
