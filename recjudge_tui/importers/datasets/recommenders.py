"""Lists of recommender libraries that are not plain tables: Elliot's and Cornac's.

Elliot: `store_recommendation` in sisinflab/elliot, elliot/utils/write.py, called from its models with the file name
`{model}_{parameters}_it={n}.tsv`. Cornac: the replies of its server, PreferredAI/cornac, cornac/serving/app.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.files.json_records import first_keys, json_records
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.reading import bare_name, most_lines_match
from recjudge_tui.importers.files.tables import Dialect, read_table
from recjudge_tui.importers.files.values import number
from recjudge_tui.importers.plain.lists import ListRow, ScoredRow, ranked_rows, slates_of, system_of

_TRIPLE = ("user_id", "item_id", "score")
_ELLIOT_ROW = re.compile(r"[^\t]+\t[^\t]+\t[+-]?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_ELLIOT_NAME = re.compile(r"[^=]+=.+\.tsv", re.IGNORECASE)


def read_elliot(request: Request) -> Iterator[LocatedRecord]:
    """Rows of user, item and score without a header, by descending score; equal scores keep Elliot's order."""
    system = system_of(request)
    request.notes.remark("no header: user, item, score; ranked by score, ties in the order of the rows")
    yield from slates_of(ranked_rows(_triples(request, system), "file"), request.notes)


def _triples(request: Request, system: str) -> Iterator[ScoredRow]:
    dialect = Dialect(delimiter="\t", quote="", header=_TRIPLE)
    for line, row in read_table(request.path, _TRIPLE, dialect, request.notes).rows:
        user, item = row["user_id"].strip(), row["item_id"].strip()
        try:
            if not user or not item:
                raise RowFault("no id", "the user or the item is empty")
            yield ScoredRow(line, user, system, item, number(row["score"], "score"))
        except RowFault as fault:
            request.notes.skip(line, fault.kind, f"{fault.text}; row left out")


def read_cornac(request: Request) -> Iterator[LocatedRecord]:
    """Replies to `/recommend`, one on each line or in an array: the items best first, and the user in the query."""
    yield from slates_of(_replies(request, system_of(request)), request.notes)


def _replies(request: Request, system: str) -> Iterator[ListRow]:
    for line, reply in json_records(request.path, request.notes):
        query, items = reply.get("query"), reply.get("recommendations")
        user = _id(query.get("uid")) if isinstance(query, dict) else ""
        if not user or not isinstance(items, list):
            request.notes.skip(line, "not a reply", "no user or no recommendations; left out")
            continue
        if not items:
            yield ListRow(line, user, system, "", None)
        for rank, item in enumerate(map(_id, items), start=1):
            yield ListRow(line, user, system, item, rank)


def _id(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _fits_elliot(sample: Sample, kind: ImportKind) -> bool:
    named = _ELLIOT_NAME.fullmatch(bare_name(sample.path)) is not None
    return kind == "lists" and named and most_lines_match(sample, _ELLIOT_ROW)


def _fits_cornac(sample: Sample, kind: ImportKind) -> bool:
    keys = first_keys(sample)
    return kind == "lists" and keys.get("recommendations") == "[" and keys.get("query") == "{"


ELLIOT = Layout(
    name="elliot",
    kinds=("lists",),
    about="Elliot's recommendations (user, item, score between tabs, in MODEL_..._it=N.tsv)",
    fits=_fits_elliot,
    read=read_elliot,
    names=("*.tsv",),
    has_header=False,
)
CORNAC = Layout(
    name="cornac",
    kinds=("lists",),
    about="replies of Cornac's server to /recommend",
    fits=_fits_cornac,
    read=read_cornac,
    names=("*.json", "*.jsonl"),
)
