"""Shortens tables of pairs of many systems for readers to the first and the last systems of the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row, Table

# with more systems than this, only the first ENDS and the last ENDS are shown against each other
MOST_SYSTEMS = 10
ENDS = 4
_LONGEST_NAME = 40


def first_and_last(systems: Sequence[str], most: int = MOST_SYSTEMS, ends: int = ENDS) -> tuple[str, ...]:
    """All systems of a ranking if they are at most `most`, else the first `ends` and the last `ends`."""
    return tuple(systems) if len(systems) <= most else (*systems[:ends], *systems[-ends:])


def next_to(systems: Sequence[str], chosen: str, count: int) -> tuple[str, ...]:
    """`count` systems of a ranking around the chosen one."""
    start = min(max(0, systems.index(chosen) - count // 2), max(0, len(systems) - count))
    return tuple(systems[start : start + count])


def left_out_words(systems: Sequence[str], shown: Sequence[str]) -> str:
    """A sentence on how many systems are not shown, and their names."""
    between = [one_line(name, _LONGEST_NAME) for name in systems if name not in shown]
    return f"{len(between)} of {len(systems)} systems are not shown: {', '.join(between)}"


def readable(table: Table) -> Table:
    """The table with only the pairs of the first and last systems of long rankings; a note names the others. Chosen
    systems are all shown.

    The rows of each rater and aspect are in the order of the ranking; a row without an opponent is the ranking itself.
    """
    if table.settings.get("systems"):
        return table
    rankings: dict[tuple[object, ...], list[str]] = {}
    for row in table.rows:
        if row.get("opponent") is not None:
            rankings.setdefault(_board(row), []).append(str(row["system"]))
    ordered = {board: list(dict.fromkeys(names)) for board, names in rankings.items()}
    if all(len(names) <= MOST_SYSTEMS for names in ordered.values()):
        return table
    shown = {board: set(first_and_last(names)) for board, names in ordered.items()}
    rows = tuple(
        row
        for row in table.rows
        if row.get("opponent") is None or {str(row["system"]), str(row["opponent"])} <= shown[_board(row)]
    )
    notes = [
        f"{', '.join(str(part) for part in board if part)}: pairs of the first {ENDS} and the last {ENDS} systems; "
        f"{left_out_words(names, first_and_last(names))}"
        for board, names in ordered.items()
        if len(names) > MOST_SYSTEMS
    ]
    how = f"--systems A,B,... shows others; --format csv has all {len(table.rows):,} rows"
    return replace(table, rows=rows, notes=(*notes, how, *table.notes))


def _board(row: Row) -> tuple[object, ...]:
    return row.get("segment"), row.get("rater"), row.get("aspect")
