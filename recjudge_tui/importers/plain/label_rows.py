"""Rows of labels in any of their forms: one answer, the judgements of a pair by order, or counts."""

from __future__ import annotations

from collections.abc import Iterator

from recjudge_tui.importers.files.layout import LocatedRecord, Request
from recjudge_tui.importers.files.mapping import KindMapping
from recjudge_tui.importers.files.notes import Row, RowFault, left_out
from recjudge_tui.importers.plain.aspect_scales import AspectScales
from recjudge_tui.importers.plain.counts import counted_labels, holds_counts
from recjudge_tui.importers.plain.games import game_label, holds_games, paired
from recjudge_tui.importers.plain.labels import label_of


def labels_of(
    rows: Iterator[Row], request: Request, mapping: KindMapping | None = None
) -> Iterator[LocatedRecord]:
    """The labels in rows with plain column names; judgements of one pair in its two orders become one label."""
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
