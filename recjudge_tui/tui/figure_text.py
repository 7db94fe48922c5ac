"""Figures of agreement and rankings as cells, bars and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.text import Text
from textual.content import Content

from recjudge_tui.model.text import one_line
from recjudge_tui.reports.table import Row, Table
from recjudge_tui.tui.charts import interval, is_ascii
from recjudge_tui.tui.look import Glyphs, number

STAT_NAMES = {
    "percent": "Percent agreement",
    "kappa": "Cohen's κ",
    "kappa_linear": "Linear weighted κ",
    "qwk": "Quadratic weighted κ",
    "alpha_nominal": "Krippendorff's α, nominal",
    "alpha_ordinal": "Krippendorff's α, ordinal",
    "alpha_interval": "Krippendorff's α, interval",
    "ac2": "Gwet's AC2",
    "pearson": "Pearson's r",
    "spearman": "Spearman's ρ",
    "kendall": "Kendall's τ",
    "bias": "Mean difference",
    "concurrence": "Concurrence",
}
METHOD_NAMES = {
    "q": "Q",
    "winrate": "Win rate",
    "bt": "Bradley–Terry",
    "elo": "Elo",
    "share": "Shares of labels",
}
# the row rater against the column rater: not the same the other way round
_ONE_WAY = ("bias", "concurrence")
_SHADES = ("█", "▓", "▒", "░")
_ASCII_SHADES = ("#", "=", "+", "-")
_SHADE_STYLES = ("green", "yellow", "red", "magenta")


class Cell(NamedTuple):
    """A figure of the matrix and the row of the report it stands for (None where there is none)."""

    text: Text
    row: Row | None


def raters_of(table: Table) -> list[str]:
    """The raters in the order of the report: judges, then people."""
    names: dict[str, None] = {}
    for row in table.rows:
        names[str(row["rater_a"])] = None
    for row in table.rows:
        names[str(row["rater_b"])] = None
    return list(names)


def matrix(table: Table, stat: str, people: frozenset[str], look: Glyphs) -> list[tuple[str, list[Cell]]]:
    """(rater, its figure with each rater) for every rater; `h` marks people with each other."""
    raters = raters_of(table)
    found = {(str(row["rater_a"]), str(row["rater_b"])): row for row in table.rows}
    return [(a, [_cell(a, b, found, stat, people, look) for b in raters]) for a in raters]


def _cell(
    a: str, b: str, found: dict[tuple[str, str], Row], stat: str, people: frozenset[str], look: Glyphs
) -> Cell:
    if a == b:
        return Cell(Text(f"{look.dot}  ", "dim", justify="right"), None)
    row = found.get((a, b)) or (None if stat in _ONE_WAY else found.get((b, a)))
    if row is None:
        return Cell(Text("   ", justify="right"), None)
    human = a in people and b in people
    value = figure(row["value"], look)
    return Cell(Text(f"{value}{' h' if human else '  '}", "bold cyan" if human else "", justify="right"), row)


def figure(value: object, look: Glyphs) -> str:
    """Two decimals without the leading zero; a dash for what is undefined."""
    if not isinstance(value, float):
        return look.none if value is None else str(value)
    return f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:.2f}"


def n_words(rows: Iterable[Row]) -> str:
    """`n=40`, or `n=38 to 40` when pairs of raters met on different numbers of cases."""
    counts = sorted({n for row in rows if isinstance(n := row["n"], int)})
    if not counts:
        return ""
    return f"n={number(counts[0])}" + (f" to {number(counts[-1])}" if len(counts) > 1 else "")


def pair_words(row: Row, people: frozenset[str], look: Glyphs) -> Content:
    """One figure of agreement in full: its interval, its n, and why it is undefined or odd."""
    name = STAT_NAMES.get(str(row["stat"]), str(row["stat"]))
    who = f"{one_line(row['rater_a'], 40)} with {one_line(row['rater_b'], 40)}"
    both = " (people with each other: the ceiling)" if {row["rater_a"], row["rater_b"]} <= people else ""
    n = row["n"] if isinstance(row["n"], int) else 0
    return Content.assemble(
        (who, "bold"), both, f": {name} ", (_with_interval(row, "value", look), "bold"), f", n={number(n)}", _note(row)
    )  # fmt: skip


def _with_interval(row: Row, key: str, look: Glyphs, *, percent: bool = False) -> str:
    def shown(value: object) -> str:
        if not isinstance(value, float):
            return look.none
        return f"{value:.1%}" if percent else f"{value:.3f}"

    text = shown(row[key])
    if isinstance(row["ci_low"], float) and isinstance(row["ci_high"], float):
        text += f" [{shown(row['ci_low'])}, {shown(row['ci_high'])}]"
    return text


def _note(row: Row) -> str:
    note = one_line(row.get("note") or "", 300)
    if not note:
        return "" if isinstance(row.get("value", row.get("score", 0.0)), (int, float)) else "; undefined"
    return f"; {note}"


# ---- the ranking


def board_columns(width: int) -> int:
    """Cells for the drawn interval in a panel `width` cells wide."""
    return max(min(width - 66, 40), 10)


def board_heads(table: Table, width: int) -> tuple[str, ...]:
    """The heads of `board_cells`; over the drawn intervals stand the ends of their common axis."""
    low, high = _board_bounds(table)
    ends = (tick(low), tick(high))
    axis = ends[0] + ends[1].rjust(max(board_columns(width) - len(ends[0]), len(ends[1]) + 1))
    score = "Q" if table.settings.get("method") == "q" else "score"
    return ("#", "system", "rater", axis, score, "W", "T", "pos", "L", "fail", "n")


def tick(value: float) -> str:
    """A value on an axis: three digits, and thousands without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _board_bounds(table: Table) -> tuple[float, float]:
    lows = [row[key] for row in table.rows for key in ("ci_low", "score") if isinstance(row[key], float)]
    highs = [row[key] for row in table.rows for key in ("ci_high", "score") if isinstance(row[key], float)]
    return min(map(_float, lows), default=0.0), max(map(_float, highs), default=1.0)


def board_cells(table: Table, width: int, look: Glyphs) -> list[list[Text]]:
    """One row a system of the ranking."""
    bounds, room = _board_bounds(table), board_columns(width)
    score = "q" if table.settings.get("method") == "q" else "score"
    cells = []
    for row in table.rows:
        drawn = interval(
            _maybe(row["ci_low"]), _maybe(row["score"]), _maybe(row["ci_high"]), bounds, room, look
        )
        cells.append(
            [
                _right("" if row["rank"] is None else row["rank"]),
                Text(one_line(row["system"], 13 if width < 100 else 24), "bold"),
                Text(one_line(row["rater"], 10 if width < 100 else 16), "dim"),
                Text(drawn, "cyan"),
                _right(_short(row[score], look)),
                _right(row["wins"]),
                _right(row["ties"]),
                Text(str(row["position_ties"]), "yellow" if row["position_ties"] else "dim", justify="right"),
                _right(row["losses"]),
                Text(str(row["failed"]), "red" if row["failed"] else "dim", justify="right"),
                _right(row["n"]),
            ]
        )
    return cells


def _short(value: object, look: Glyphs) -> str:
    """A score in a few cells: Elo's thousand without decimals."""
    return f"{value:.0f}" if isinstance(value, float) and abs(value) >= 100 else figure(value, look)


def board_words(row: Row, look: Glyphs) -> Content:
    n, failed = row["n"], row["failed"]
    return Content.assemble(
        (one_line(row["system"], 40), "bold"),
        f", judged by {one_line(row['rater'], 40)}: score ",
        (_with_interval(row, "score", look), "bold"),
        f", win rate {_with_interval({**row, 'ci_low': None}, 'win_rate', look, percent=True)}",
        f", n={n}, {failed} failed outside n",
        _note(row),
    )


class ShareRow(NamedTuple):
    """The labels of one system by one rater, best first."""

    system: str
    rater: str
    rows: tuple[Row, ...]


def share_rows(table: Table) -> list[ShareRow]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in table.rows:
        groups.setdefault((str(row["system"]), str(row["rater"])), []).append(row)
    return [ShareRow(system, rater, tuple(rows)) for (system, rater), rows in groups.items()]


SHARE_HEADS = ("system", "rater", "shares", "labels", "n")


def share_cells(shares: ShareRow, width: int, look: Glyphs) -> list[Text]:
    room = max(min(width - 76, 40), 12)
    words = "  ".join(
        f"{one_line(row['label'], 8)} {_percent(row['share'], look)}" for row in shares.rows[:5]
    )
    return [
        Text(one_line(shares.system, 15), "bold"),
        Text(one_line(shares.rater, 12), "dim"),
        _stack([_float(row["share"]) for row in shares.rows], room, look),
        Text(words),
        _right(shares.rows[0]["n"]),
    ]


def _stack(shares: Sequence[float], room: int, look: Glyphs) -> Text:
    """Labels by shade and colour, best first, over the whole width."""
    shades = _ASCII_SHADES if is_ascii(look) else _SHADES
    bar, ends, total = Text(), 0, 0.0
    for place, share in enumerate(shares):
        total += share
        end = min(round(total * room), room)
        at = min(place, len(shades) - 1)
        bar.append(shades[at] * (end - ends), _SHADE_STYLES[at])
        ends = end
    return bar.append(" " * (room - ends))


def share_words(shares: ShareRow, look: Glyphs) -> Content:
    parts = ", ".join(
        f"{one_line(row['label'], 20)} {_with_interval(row, 'share', look, percent=True)}"
        for row in shares.rows
    )
    note = next((_note(row) for row in shares.rows if row.get("note")), "")
    said = f" by {one_line(shares.rater, 40)}: {parts}, n={shares.rows[0]['n']}{note}"
    return Content.assemble((one_line(shares.system, 40), "bold"), said)


def _percent(value: object, look: Glyphs) -> str:
    return f"{value:.0%}" if isinstance(value, float) else look.none


def _right(value: object) -> Text:
    return Text(str(value), justify="right")


def _float(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _maybe(value: object) -> float | None:
    return value if isinstance(value, float) else None
