"""Rows of labels in any of their forms (one answer, the judgements of a pair by order, counts), and the cases they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from recjudge_tui.importers.files.layout import LocatedRecord, Request
from recjudge_tui.importers.files.mapping import KindMapping
from recjudge_tui.importers.files.notes import Notes, Row, RowFault, left_out
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.plain.aspect_scales import AspectScales
from recjudge_tui.importers.plain.counts import counted_labels, holds_counts
from recjudge_tui.importers.plain.games import game_label, holds_games, paired
from recjudge_tui.importers.plain.labels import label_of

# case id -> the columns of a label that describe the case; None for no case of the project
CaseOf = Callable[[str], Mapping[str, str] | None]


def labels_of(
    rows: Iterator[Row], request: Request, mapping: KindMapping | None = None
) -> Iterator[LocatedRecord]:
    """The labels in rows with plain column names; two judgements of one pair in both orders become one label."""
    return paired(_each(rows, request, mapping))


def _each(rows: Iterator[Row], request: Request, mapping: KindMapping | None) -> Iterator[LocatedRecord]:
    notes = request.notes
    scales = AspectScales(request.scales)
    if mapping is not None:
        scales = AspectScales(request.scales, mapping.scale, mapping.scales)
    sides = mapping.sides if mapping else ""
    for line, row in rows:
        try:
            if holds_counts(row):
                yield from (LocatedRecord(line, label) for label in counted_labels(row, line, notes))
            elif holds_games(row):
                yield LocatedRecord(line, game_label(row, line, notes, sides))
            else:
                yield LocatedRecord(line, label_of(row, line, notes, scales))
        except RowFault as fault:
            notes.skip(line, fault.kind, left_out(fault))


def with_cases(rows: Iterator[Row], case_of: CaseOf, notes: Notes) -> Iterator[Row]:
    """The rows; those with a case_id get the columns that describe the case.

    A row is left out if there is no such case, or if its own columns describe another one. The systems of a pair may
    stand in either order.
    """
    for line, row in rows:
        name = row.get("case_id", "").strip()
        if name:
            try:
                row.update(_description(name, row, case_of(name)))
            except RowFault as fault:
                notes.skip(line, fault.kind, f"{fault.text}; left out")
                continue
        yield line, row


def _description(name: str, row: Mapping[str, str], case: Mapping[str, str] | None) -> Mapping[str, str]:
    if case is None:
        raise RowFault("unknown case", f"the project has no case {shown(name)}")
    pair = [row.get(column, "").strip() for column in ("system_a", "system_b")]
    if all(pair) and pair == [case["system_b"], case["system_a"]]:
        case = {**case, "system_a": pair[0], "system_b": pair[1]}
    for column, value in case.items():
        given = row.get(column, "").strip()
        if given and given != value and column != "served_at":
            what = f"{column} {shown(value)}, not {shown(given)}" if value else f"no {column}"
            raise RowFault("another case", f"case {name} has {what}")
    return case
