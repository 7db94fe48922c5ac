"""The agreement of every pair of raters as the cells of a matrix, and of one pair as a sentence. Contains no widget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.figures.marks import LEVEL_NAMES, Bold, Sentence, interval_text, note_text
from recjudge_tui.reports.words import few_cases
from recjudge_tui.stats.registry import STATISTICS, label_of
from recjudge_tui.tui.figures.grid import TableCell
from recjudge_tui.tui.kit.glyphs import Glyphs, middle, number


def _raters(table: Table) -> list[str]:
    """The raters in the order of the report: judges, then people."""
    names: dict[str, None] = {}
    for row in table.rows:
        names[str(row["rater_a"])] = None
    for row in table.rows:
        names[str(row["rater_b"])] = None
    return list(names)


def matrix(
    table: Table, stat: str, people: frozenset[str], look: Glyphs
) -> list[tuple[str, list[TableCell]]]:
    """(rater, its agreement with each rater) for every rater; `h` marks pairs of people."""
    raters = _raters(table)
    by_pair = {(str(row["rater_a"]), str(row["rater_b"])): row for row in table.rows}
    return [(a, [_cell(a, b, by_pair, stat, people, look) for b in raters]) for a in raters]


def _cell(
    a: str, b: str, by_pair: dict[tuple[str, str], Row], stat: str, people: frozenset[str], look: Glyphs
) -> TableCell:
    if a == b:
        return TableCell(Text(f"{look.dot}  ", "dim", justify="right"), None)
    row = by_pair.get((a, b)) or (by_pair.get((b, a)) if STATISTICS[stat].symmetric else None)
    if row is None:
        return TableCell(Text("   ", justify="right"), None)
    human = a in people and b in people
    few = row["value"] is not None and isinstance(row["n"], int) and bool(few_cases(row["n"]))
    value = f"{short_number(row['value'], look)}{'?' if few else ''}"
    style = "dim" if few else "bold cyan" if human else ""
    return TableCell(Text(f"{value}{' h' if human else '  '}", style, justify="right"), row)


def short_number(value: object, look: Glyphs) -> str:
    """Two decimals; a dash for an undefined value."""
    if not isinstance(value, float):
        return look.none if value is None else str(value)
    return f"{value:.2f}"


def ceiling_line(
    table: Table, stat: str, rater: str, people: frozenset[str], look: Glyphs, room: int = 200
) -> str:
    """`κ llama·anna 0.62  llama·bert 0.58 ▏anna·bert 0.60`: one judge with each person, and people with each other.

    In a small `room` names are shortened, then the last pairs are left out: a number is never cut.
    """
    own, among = [], []
    for row in table.rows:
        pair = str(row["rater_a"]), str(row["rater_b"])
        if set(pair) <= people:
            among.append(row)
        elif rater in pair and set(pair) - {rater} <= people:
            own.append(row)
    if not own:
        return ""
    label = label_of(stat)
    head = "κ" if label.endswith("κ") else label
    for longest in range(20, 4, -1):
        text = _ceiling_text(head, own, among, longest, look)
        if cell_len(text) <= room:
            return text
    while cell_len(text) > room and len(own) + len(among) > 1:
        del (own if len(own) > len(among) else among)[-1]
        text = _ceiling_text(head, own, among, 5, look)
    return text


def _ceiling_text(head: str, own: Sequence[Row], among: Sequence[Row], longest: int, look: Glyphs) -> str:
    def pairs(rows: Sequence[Row]) -> str:
        return "  ".join(
            f"{look.dot.join(middle(one_line(row[side], 40), longest, look) for side in ('rater_a', 'rater_b'))} "
            f"{short_number(row['value'], look)}"
            for row in rows
        )

    bar = "|" if look.bar.isascii() else "▏"
    return f"{head} {pairs(own)}" + (f" {bar}{pairs(among)}" if among else "")


def notes_about(table: Table, row: Row | None) -> list[str]:
    """The notes of a table about the rater or the pair of raters of this row, and the notes about all raters; without
    those that explain a minor column, which only an export has.
    """
    table = replace(table, notes=tuple(note for note in table.notes if not _explains_minor(note, table)))
    if row is None:
        return list(table.notes)
    if "rater_a" in row:
        pairs = [(str(other["rater_a"]), str(other["rater_b"])) for other in table.rows]
        own = str(row["rater_a"]), str(row["rater_b"])
        return [
            note for note in table.notes if not any(_names(note, pair) for pair in pairs) or _names(note, own)
        ]
    raters = {str(other["rater"]) for other in table.rows} - {str(row["rater"])}
    return [note for note in table.notes if not any(note.startswith(f"{rater}, ") for rater in raters)]


def _explains_minor(note: str, table: Table) -> bool:
    return note.startswith(
        tuple(
            f"{column.label}{end}" for column in table.columns if column.minor for end in (":", " leaves out")
        )
    )


def _names(note: str, pair: tuple[str, str]) -> bool:
    a, b = pair
    return f"{a} and {b} (" in note or f"{b} and {a} (" in note


def n_range(rows: Iterable[Row]) -> str:
    """`n=40`, or `n=38 to 40` if pairs of raters share different numbers of cases."""
    counts = sorted({n for row in rows if isinstance(n := row["n"], int)})
    if not counts:
        return ""
    return f"n={number(counts[0])}" + (f" to {number(counts[-1])}" if len(counts) > 1 else "")


def pair_sentence(table: Table, row: Row, people: frozenset[str]) -> Sentence:
    """The agreement of two raters with its interval and n, and the reason if it is undefined or unusual."""
    notes = [note for note in str(row["note"] or "").split("; ") if not _explains_minor(note, table)]
    row = {**row, "note": "; ".join(notes)}
    stat = label_of(str(row["stat"]))
    level = "" if row["level"] == "dataset" else f", {LEVEL_NAMES[str(row['level'])]}"
    human = {row["rater_a"], row["rater_b"]} <= people
    n = row["n"] if isinstance(row["n"], int) else 0
    return (
        Bold(f"{one_line(row['rater_a'], 40)} with {one_line(row['rater_b'], 40)}"),
        " (people with each other: human ceiling)" if human else "",
        f": {stat}{level} ",
        Bold(interval_text(row, "value")),
        f", n={number(n)}{_groups(row)}",
        note_text(row, "value"),
    )


def _groups(row: Row) -> str:
    """How many groups a mean is over, and how many it leaves out."""
    groups, left_out = row["groups"], row["groups_undefined"]
    if not isinstance(groups, int):
        return ""
    without = f", {number(left_out)} left out as undefined" if isinstance(left_out, int) and left_out else ""
    return f" in {number(groups)} groups{without}"
