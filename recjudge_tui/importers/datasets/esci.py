"""Amazon's Shopping Queries dataset (ESCI): queries, products, and human judgements of products for queries.

Columns as in the README of amazon-science/esci-data; gains as in Reddy et al., "Shopping Queries Dataset" (2022),
whose ranking task computes nDCG with gains of 1.0, 0.1, 0.01 and 0.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from recjudge_tui.domain.event_types import JUDGEMENT
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.chosen_rows import chosen_rows
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Notes, Row
from recjudge_tui.importers.files.tables import Dialect, header_of, read_table
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.plain.tables import records_of

# by the first letter: some copies of the data write the whole word
_GAINS = {"e": "1", "s": "0.1", "c": "0.01", "i": "0"}
_WORDS = ("exact", "substitute", "complement", "irrelevant")
_PARTS = {"product_locale": "locale:", "split": "split:", "small_version": "small_version:"}
_QUERIES = ("query_id", "query", "product_locale")
_COLUMNS: dict[ImportKind, tuple[str, ...]] = {
    "items": ("product_id", "product_title"),
    "users": ("query_id", "product_locale"),
    "events": ("query_id", "query", "product_id"),
}
_PRODUCT = {
    "color": "product_color",
    "bullet_points": "product_bullet_point",
    "description": "product_description",
    "locale": "product_locale",
}


def read_esci(request: Request) -> Iterator[LocatedRecord]:
    """Products as items, queries as users with their locale and split; each query is also a search, and each judgement is
    held out.

    A judgement of a product for a query is what TREC calls a qrel: it is not about one system's list, so it becomes
    an event of type `heldout_relevance` (as of trec-qrels) and not a label. Raises InputError for a file without the
    columns that the kind needs.
    """
    needed = _COLUMNS[request.kind]
    table = read_table(request.path, needed, Dialect(), request.notes)
    table = chosen_rows(table, request.where, request.path, request.notes)
    if missing := [name for name in needed if name not in table.columns]:
        raise InputError(
            f"{request.path} has no column {missing[0]}",
            f"Found: {one_line(', '.join(table.columns), 300)}.",
            f"In ESCI, {request.kind} are read from {', '.join(needed)}.",
        )
    if request.kind == "items":
        rows = _products(table.rows)
    else:
        counted = _counted(table.rows, request.notes, chosen=bool(request.where))
        rows = _queries(counted) if request.kind == "users" else _judgements(counted, request.notes)
    yield from records_of(request, rows)


def _products(rows: Iterator[Row]) -> Iterator[Row]:
    seen: set[tuple[str, str]] = set()
    for line, row in rows:
        # a merged table repeats a product for each of its queries
        key = (row["product_id"], row.get("product_locale", ""))
        if key in seen:
            continue
        seen.add(key)
        fixed = {
            "item_id": row["product_id"],
            "title": row["product_title"],
            "brand": row.get("product_brand", ""),
        }
        yield line, {**{name: row.get(column, "") for name, column in _PRODUCT.items()}, **fixed}


def _counted(rows: Iterator[Row], notes: Notes, *, chosen: bool) -> Iterator[Row]:
    """The rows; at their end a remark says how many belong to each locale and split. `chosen`: by --where."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in _PARTS}
    for line, row in rows:
        for column, count in counts.items():
            count[row.get(column, "")] += 1
        yield line, row
    parts = [
        f"{_PARTS[column]} {', '.join(f'{shown(name)} {n:,}' for name, n in sorted(count.items()) if name)}"
        for column, count in counts.items()
        if any(count)
    ]
    if parts:
        apart = "“--by locale” and “--by heldout_split” report their queries separately"
        whole = f"all are imported; {apart}, and “--where product_locale=us” imports only those rows"
        notes.remark(f"rows by {'; '.join(parts)}: {apart if chosen else whole}")


def _queries(rows: Iterator[Row]) -> Iterator[Row]:
    seen: set[str] = set()
    for line, row in rows:
        if row["query_id"] not in seen:
            seen.add(row["query_id"])
            # an attribute whose name begins like this is not shown to judges
            split = {"heldout_split": row["split"]} if row.get("split") else {}
            yield line, {"user_id": row["query_id"], "locale": row["product_locale"], **split}


def _judgements(rows: Iterator[Row], notes: Notes) -> Iterator[Row]:
    seen: set[str] = set()
    for line, row in rows:
        query = row["query_id"]
        if query not in seen:
            seen.add(query)
            yield line, {"user_id": query, "type": "search", "text": row["query"]}
        label = row.get("esci_label", "").strip().lower()
        if not label:
            notes.warn(line, "not judged", "no esci_label; only the query is imported")
        elif label not in _GAINS and label not in _WORDS:
            text = f"esci_label {shown(label)} is not one of E, S, C and I; the judgement is left out"
            notes.skip(line, "unknown label", text)
        else:
            value = _GAINS[label[0]]
            yield line, {"user_id": query, "item_id": row["product_id"], "type": JUDGEMENT, "value": value}


def _fits(sample: Sample, kind: ImportKind) -> bool:
    names = set(header_of(sample.text))
    wanted = {"esci_label", *_QUERIES} if kind in ("users", "events") else {"product_locale"}
    return kind in _COLUMNS and names.issuperset(wanted) and names.issuperset(_COLUMNS[kind])


ESCI = Layout(
    name="esci",
    kinds=("items", "users", "events"),
    about="Amazon's Shopping Queries dataset, ESCI (examples, products, or both merged)",
    fits=_fits,
    read=read_esci,
    split_by_name=False,
    takes_where=True,
)
