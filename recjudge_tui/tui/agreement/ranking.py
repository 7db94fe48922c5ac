"""The ranking of systems as the lines of a table: scores with their intervals, or shares of labels.

Contains no widget.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple, cast

from rich.cells import cell_len
from rich.text import Text

from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.reports.common.table import Row, Table, note_kind
from recjudge_tui.reports.figures.declared import BOARD_SAYS, BOARD_WHO
from recjudge_tui.reports.figures.marks import CI, EVEN, METHOD_NAMES, Sentence, sentence
from recjudge_tui.reports.leaderboard import METHODS
from recjudge_tui.tui.agreement.matrix import short_number
from recjudge_tui.tui.kit.charts import interval, is_ascii, place_of, tick
from recjudge_tui.tui.kit.glyphs import Glyphs, middle, number, short_label

OF_PAIRS = tuple(METHODS)
_SCORE_HEADS = {"q": "Q", "mean": "mean"}
_TIES = "T (flips)"
_COUNT_HEADS = ("W", _TIES, "L")
# columns that a narrow panel leaves out, in this order; numbers are never cut
_LEFT_OUT = ("fail", "interval", "n", _TIES, "W", "L")
NUMBER_HEADS = ("#", *_SCORE_HEADS.values(), "score", *_COUNT_HEADS, "fail", "n")
_WIDEST, _NARROWEST = 72, 8
_SHADES = ("█", "▓", "▒", "░")
_ASCII_SHADES = ("#", "=", "+", "-")
_SHADE_STYLES = ("green", "yellow", "red", "magenta")


class RankingLine(NamedTuple):
    """A line: the cells of the columns, or `text` across all of them; its row of the report; its sentence."""

    cells: Sequence[Text]
    row: Row
    sentence: Sentence
    text: Text | None = None


class Ranking(NamedTuple):
    """The ranking as a table. `many_pairs`: there are enough systems for a matrix of all pairs."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[RankingLine, ...]
    many_pairs: bool


def ranking(table: Table, width: int, look: Glyphs) -> Ranking:
    """A leaderboard for a panel `width` cells wide."""
    method = str(table.settings.get("method", ""))
    title = f"{one_line(table.title, 50)}, {CI}"
    if method == "share":
        return Ranking(title, *_share_lines(table, width, look), many_pairs=False)
    # rows against one opponent belong to the Q matrix
    table = replace(table, rows=tuple(row for row in table.rows if row.get("opponent") is None))
    heads, cells = _score_cells(table, method, width, look)
    lines = _by_rater(table, cells, look)
    if method not in OF_PAIRS:
        return Ranking(title, heads, lines, many_pairs=False)
    by = METHOD_NAMES.get(method, method)
    many = len({row["system"] for row in table.rows}) > 2
    return Ranking(f"{one_line(table.title, 50)} by {by}, {CI}", heads, lines, many)


def notes_on(notes: Sequence[str]) -> list[str]:
    """The notes about these data; what the figures mean is behind a key."""
    return [note for note in notes if note_kind(note) != "definition"]


def _by_rater(table: Table, cells: Sequence[Sequence[Text]], look: Glyphs) -> tuple[RankingLine, ...]:
    """The systems by rater; below two that are not separable, the number of users needed."""
    close = {
        (fact["rater"], fact["aspect"], fact["lower"]): fact
        for fact in cast("list[dict[str, Any]]", table.facts.get("neighbours", []))
        if not fact["separable"] and fact["p"] is not None
    }
    lines: list[RankingLine] = []
    rater = None
    method = str(table.settings.get("method", ""))
    what = METHOD_NAMES.get(method, method)
    for row, line in zip(table.rows, cells, strict=True):
        about = sentence([row], table.columns, BOARD_WHO, what, "score", BOARD_SAYS)
        if row["rater"] != rater:
            rater = row["rater"]
            of_rater = [other for other in table.rows if other["rater"] == rater]
            lines.append(RankingLine((), {"rater": rater}, about, _heading(of_rater, look)))
        lines.append(RankingLine(line, row, about))
        fact = close.get((row["rater"], row["aspect"], row["system"]))
        if fact is not None:
            lines.append(RankingLine((), row, about, Text(_answer(fact, look), "yellow")))
    return tuple(lines)


def _heading(rows: Sequence[Row], look: Glyphs) -> Text:
    """`llama3.1:8b  n=600  ▲ 61% flip with the order`: each verdict counts for two systems."""
    heading = Text(one_line(rows[0]["rater"], 40), "bold")
    n = sum(_float(row["n"]) for row in rows)
    flips = sum(_float(row.get("position_ties")) for row in rows)
    of_pairs = "position_ties" in rows[0]
    heading.append(f"  n={number(round(n / 2 if of_pairs else n))}", "dim")
    if flips and n:
        heading.append(f"  {look.marked} {flips / n:.0%} flip with the order", "yellow")
    return heading


def _answer(fact: Mapping[str, Any], look: Glyphs) -> str:
    corner = "`" if is_ascii(look) else "└"
    more = fact["more"]
    if fact["note"]:
        return f"  {corner} not separable: {fact['note']}"
    needed = (
        "; no practical number of users would be enough"
        if more is None
        else f"; ~{quantity(more, 'more user')} for this gap"
    )
    counts = f"{number(fact['won'])} won, {number(fact['tied'])} tied, {number(fact['lost'])} lost"
    return f"  {corner} not separable: {counts}{needed}"


def columns(ranking: Ranking, look: Glyphs) -> tuple[list[Text], list[list[Text]]]:
    """The headings and the lines as cells of exact widths, with their padding, so that a text can extend across all
    of them.
    """
    lines = [line.cells for line in ranking.lines if line.text is None]
    heads = [Text(head, justify="right" if head in NUMBER_HEADS else "left") for head in ranking.heads]
    widths = [
        max([head.cell_len, *(line[at].cell_len for line in lines)]) + 2 for at, head in enumerate(heads)
    ]
    cells = [
        _sliced(line.text, widths, look) if line.text is not None else _padded(line.cells, widths)
        for line in ranking.lines
    ]
    return _padded(heads, widths), cells


def _padded(cells: Sequence[Text], widths: Sequence[int]) -> list[Text]:
    out = []
    for cell, width in zip(cells, widths, strict=True):
        padded, room = cell.copy(), width - 2 - cell.cell_len
        padded.justify = None
        padded.pad_left(1 + (room if cell.justify == "right" else 0))
        padded.pad_right(width - padded.cell_len)
        out.append(padded)
    return out


def _sliced(text: Text, widths: Sequence[int], look: Glyphs) -> list[Text]:
    """The text over all columns, divided where the next one begins; a mark stands for what does not fit."""
    line, room = Text(" ").append_text(text), sum(widths) - 1
    if line.cell_len > room:
        line.truncate(room - cell_len(look.cut))
        line.append(look.cut)
    line.pad_right(sum(widths) - line.cell_len)
    filled = 0
    places: list[int] = []
    ends = list(accumulate(widths))[:-1]
    for at, character in enumerate(line.plain):
        if len(places) < len(ends) and filled >= ends[len(places)]:
            places.append(at)
        filled += cell_len(character)
    cells = list(line.divide(places)) if places else [line]
    return [*cells, *(Text("") for _ in range(len(widths) - len(cells)))]


def _score_cells(
    table: Table, method: str, width: int, look: Glyphs
) -> tuple[tuple[str, ...], list[list[Text]]]:
    """The headings, and a row of cells for each system; the intervals take the remaining width.

    The heading of the intervals shows the two ends of their common axis, and the line at which systems are even.
    """
    of_pairs = method in OF_PAIRS
    heads = [
        "#",
        "system",
        _SCORE_HEADS.get(method, "score"),
        *(_COUNT_HEADS if of_pairs else ()),
        "fail",
        "n",
    ]
    key = "q" if method == "q" else "score"
    cells = [_number_cells(row, key, of_pairs, width, look) for row in table.rows]
    # nothing failed: the column would say so in every row
    silent = set() if any(row["failed"] for row in table.rows) else {"fail"}
    taken = [max([len(head), *(row[at].cell_len for row in cells)]) for at, head in enumerate(heads)]
    even = EVEN.get(method)
    bounds = _bounds(table, even)
    low, high = tick(bounds[0]), tick(bounds[1])
    widths = {**dict(zip(heads, taken, strict=True)), "interval": max(_NARROWEST, len(low) + len(high) + 1)}
    left_out = _without({name: widths[name] for name in widths if name not in silent}, width) | silent
    kept = [at for at, head in enumerate(heads) if head not in left_out]
    shown = [heads[at] for at in kept]
    cells = [[line[at] for at in kept] for line in cells]
    if "interval" not in left_out:
        room = min(widths["interval"] + width - _table_width(widths, left_out), _WIDEST)
        at = shown.index("system") + 1
        shown.insert(at, _axis(bounds, even, room))
        for row, line in zip(table.rows, cells, strict=True):
            values = _maybe(row["ci_low"]), _maybe(row["score"]), _maybe(row["ci_high"])
            line.insert(at, Text(interval(*values, bounds, room, look, even), "cyan"))
    return tuple(shown), cells


def _axis(bounds: tuple[float, float], even: float | None, room: int) -> str:
    """`0.28     1          3.6`, the middle one above the line; the ends are left out where they would touch it."""
    low, high = tick(bounds[0]), tick(bounds[1])
    if even is None:
        return low + high.rjust(room - len(low))
    middle, at = tick(even), place_of(even, bounds, room)
    begin = min(max(at - len(middle) // 2, 0), room - len(middle))
    left = low if begin > len(low) else ""
    right = high if room - begin - len(middle) > len(high) else ""
    return left.ljust(begin) + middle + right.rjust(room - begin - len(middle))


def _without(widths: dict[str, int], width: int) -> set[str]:
    """The columns that do not fit a panel `width` cells wide."""
    left_out: set[str] = set()
    for head in _LEFT_OUT:
        if _table_width(widths, left_out) <= width:
            break
        left_out.add(head)
    return left_out


def _table_width(widths: dict[str, int], left_out: Collection[str]) -> int:
    """The width with a cell of padding on both sides of every column, and the scroll bar."""
    return sum(cells + 2 for head, cells in widths.items() if head not in left_out) + 1


def _bounds(table: Table, even: float | None) -> tuple[float, float]:
    lows = [row[key] for row in table.rows for key in ("ci_low", "score") if isinstance(row[key], float)]
    highs = [row[key] for row in table.rows for key in ("ci_high", "score") if isinstance(row[key], float)]
    middle = [] if even is None else [even]
    return min([*map(_float, lows), *middle], default=0.0), max([*map(_float, highs), *middle], default=1.0)


def _number_cells(row: Row, key: str, of_pairs: bool, width: int, look: Glyphs) -> list[Text]:
    """All cells of a row except the interval."""
    return [
        _right("" if row["rank"] is None else row["rank"]),
        Text(middle(one_line(row["system"]), 24 if width < 100 else 40, look), "bold"),
        _right(_score_text(row[key], look)),
        *(_counts(row) if of_pairs else ()),
        Text(_count(row["failed"]), "red" if row["failed"] else "dim", justify="right"),
        _right(_count(row["n"])),
    ]


def _counts(row: Row) -> tuple[Text, ...]:
    ties = _right(_count(row["ties"]))
    if by_position := row["position_ties"]:
        ties.append(f" ({_count(by_position)})", "yellow")
    return _right(_count(row["wins"])), ties, _right(_count(row["losses"]))


def _count(value: object) -> str:
    return number(value) if isinstance(value, int) else ""


def _score_text(value: object, look: Glyphs) -> str:
    """A score in a few cells; without decimals from 100 on, as for ratings."""
    return f"{value:.0f}" if isinstance(value, float) and abs(value) >= 100 else short_number(value, look)


def _share_lines(table: Table, width: int, look: Glyphs) -> tuple[tuple[str, ...], tuple[RankingLine, ...]]:
    """The headings, and a line for each system and rater, with its labels from the best to the worst."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in table.rows:
        groups.setdefault((str(row["system"]), str(row["rater"])), []).append(row)
    lines = [_share_cells(system, rater, rows, look) for (system, rater), rows in groups.items()]
    heads = ["system", "rater", "labels", "n"]
    widths = {head: max([len(head), *(line[at].cell_len for line in lines)]) for at, head in enumerate(heads)}
    room = min(width - _table_width(widths, ()) - 2, _WIDEST)
    # the bar repeats the numbers, so it goes first
    if room >= _NARROWEST:
        heads.insert(2, "shares")
        for line, rows in zip(lines, groups.values(), strict=True):
            line.insert(2, _stack([_float(row["share"]) for row in rows], room, look))
    return tuple(heads), tuple(
        RankingLine(
            line,
            rows[0],
            sentence(rows, table.columns, "{system} by {rater}", "{label}", "share", ("n", "failed")),
        )
        for line, rows in zip(lines, groups.values(), strict=True)
    )


def _share_cells(system: str, rater: str, rows: Sequence[Row], look: Glyphs) -> list[Text]:
    labels = "  ".join(
        f"{one_line(short_label(str(row['label'])), 8)} {_percent(row['share'], look)}" for row in rows[:4]
    )
    return [
        Text(one_line(system, 15), "bold"),
        Text(one_line(rater, 12), "dim"),
        Text(labels),
        _right(_count(rows[0]["n"])),
    ]


def _stack(shares: Sequence[float], room: int, look: Glyphs) -> Text:
    """A bar of full width with a shade and colour for each label, best first."""
    shades = _ASCII_SHADES if is_ascii(look) else _SHADES
    bar, ends, total = Text(), 0, 0.0
    for place, share in enumerate(shares):
        total += share
        end = min(round(total * room), room)
        at = min(place, len(shades) - 1)
        bar.append(shades[at] * (end - ends), _SHADE_STYLES[at])
        ends = end
    return bar.append(" " * (room - ends))


def _percent(value: object, look: Glyphs) -> str:
    return f"{value:.0%}" if isinstance(value, float) else look.none


def _right(value: object) -> Text:
    return Text(str(value), justify="right")


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _maybe(value: object) -> float | None:
    return value if isinstance(value, float) else None
