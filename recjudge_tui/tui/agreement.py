"""The Agreement screen: agreement, leaderboard, correlations and outcomes of one topic, each a tab."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, cast

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import DataTable, OptionList, Static
from textual.widgets.option_list import Option

from recjudge_tui.domain.filters import Term, VerdictFilter, occasion_terms, whole_term
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.text import one_line, quantity, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.page import render_page
from recjudge_tui.reports.common.table import Row, Table, note_kind
from recjudge_tui.reports.common.table import Screen as Output
from recjudge_tui.reports.figures.declared import BOARD_SAYS, BOARD_WHO
from recjudge_tui.reports.figures.marks import (
    CI,
    EVEN,
    LEVEL_NAMES,
    METHOD_NAMES,
    Bold,
    Sentence,
    interval_text,
    note_text,
    sentence,
)
from recjudge_tui.reports.leaderboard import METHODS
from recjudge_tui.reports.papers.runner import Reproduction, of_project
from recjudge_tui.reports.topics import Topic, topic_terms, topics
from recjudge_tui.reports.words import few_cases
from recjudge_tui.shapes import FEWEST_CASES
from recjudge_tui.stats.registry import STATISTICS, label_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.dialogs import Dialog
from recjudge_tui.tui.figures import TableCell, content_of
from recjudge_tui.tui.screens import COMMON, ExportScreen, OccasionScreen
from recjudge_tui.tui.widgets import (
    UNICODE,
    DetailsPane,
    DialogHint,
    FigureTable,
    Glyphs,
    KeyLine,
    Options,
    TextPane,
    TopBar,
    glyphs,
    interval,
    is_ascii,
    key_hint,
    middle,
    move_cursor,
    number,
    place_of,
    short_label,
    tick,
)

# ---- matrix ------------------------------------------------------------------------------------------------------


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


# ---- ranking -----------------------------------------------------------------------------------------------------


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


# ---- jobs --------------------------------------------------------------------------------------------------------


DEFAULT_LEVEL = "dataset"


class AgreementChoice(NamedTuple):
    """What the user chose to see; empty or None means the default. `readers`: with those who override verdicts, and
    with people who have labelled only a few cases."""

    topic: Topic | None = None
    stat: str = ""
    method: str = ""
    level: str = DEFAULT_LEVEL
    readers: bool = False


class Agreement(NamedTuple):
    """The two tables about one topic. `people` are the raters whose agreement with each other is the human ceiling.

    `methods` are the rankings that fit the topic; `level` says whether the agreement is over all cases or a mean over
    groups. The topic and both tables are None as long as there are no verdicts.
    """

    topics: tuple[Topic, ...]
    topic: Topic | None
    stat: str
    level: str
    people: frozenset[str]
    methods: tuple[str, ...]
    method: str
    pairs: Table | None
    board: Table | None
    occasions: OccasionFilter = EVERY_OCCASION


def load_agreement(
    db: Database,
    project_id: int,
    choice: AgreementChoice,
    occasions: OccasionFilter = EVERY_OCCASION,
) -> Agreement:
    """The tables about the chosen topic on these occasions, or about the project's first topic if the chosen one does
    not exist.

    An empty statistic means quadratic weighted kappa, or Pearson's correlation for scores. The default is used if the
    method does not fit the topic, or the statistic does not have the chosen level. Loads NumPy and SciPy and
    resamples, so call it in a worker. Raises NotFoundError for an unknown context.
    """
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.scales import categories, is_people, statistic_of
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.reports.leaderboard import methods_of
    from recjudge_tui.store.ratings import project_raters

    raters = project_raters(db, project_id)
    project = Project.numbered(db, project_id)
    known = topics(project)
    people = frozenset(rater.name for rater in raters.values() if is_people(rater))
    topic = choice.topic if choice.topic in known else next(iter(known), None)
    if topic is None:
        return Agreement((), None, choice.stat, choice.level, people, (), "", None, None)
    stat = choice.stat or statistic_of(db, project_id, *topic)
    level = choice.level if STATISTICS[stat].correlation else DEFAULT_LEVEL
    methods = methods_of(topic.protocol)
    usual = "" if topic not in categories(db, project_id) else "share"
    method = choice.method if choice.method in methods else usual
    about = {
        "protocol": topic.protocol, "aspect": topic.aspect, "readers": choice.readers, "contexts": occasions.contexts,
        "served_from": occasions.start, "served_to": occasions.end,
    }  # fmt: skip
    board = table_of(project, "leaderboard", method=method, **about)
    pairs = table_of(project, "agreement", stats=(stat,), levels=(level,), **about)
    used = str(board.settings.get("method", ""))
    return Agreement(known, topic, stat, level, people, methods, used, pairs, board, occasions)


def pair_filter(agreement: Agreement, rater_a: str, rater_b: str) -> str:
    """The filter for the cases on which raters disagree, showing the verdicts of two raters."""
    judges = (whole_term("judge", rater_a), whole_term("judge", rater_b))
    return VerdictFilter((*_terms(agreement), *judges, Term("why", ":", "disagree"))).text()


def board_filter(agreement: Agreement, row: Row, outcome: str = "system") -> str:
    """The filter for the verdicts behind one row of the ranking; without a system, for all verdicts of its rater.

    `outcome`: only `won`, `tied` or `lost` ones.
    """
    terms = [
        whole_term(term, str(row[key]))
        for term, key in (("judge", "rater"), (outcome, "system"))
        if key in row
    ]
    return VerdictFilter((*_terms(agreement), *terms)).text()


def _terms(agreement: Agreement) -> tuple[Term, ...]:
    assert agreement.topic is not None
    return topic_terms(agreement.topics, agreement.topic) + occasion_terms(agreement.occasions)


# ---- outcomes ----------------------------------------------------------------------------------------------------


class OutcomeChoice(Dialog[str | None]):
    """Returns the filter key for the chosen cases: `won`, `tied`, `lost` or `system` (all); None when closed.

    `row` is a row of a leaderboard of pairs.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "close", key_display="esc", id="outcomes.close"),
        Binding("j", "move(1)", "down", show=False, id="outcomes.down"),
        Binding("k", "move(-1)", "up", show=False, id="outcomes.up"),
        *(
            Binding(str(at), f"choose('{term}')", does, show=False, id=f"outcomes.{does}")
            for at, (term, does) in enumerate(
                (("won", "won"), ("tied", "tied"), ("lost", "lost"), ("system", "all")), start=1
            )
        ),
    ]

    def __init__(self, row: Row) -> None:
        super().__init__()
        self._row = row

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(f"Cases of {one_line(self._row['system'], 40)}")
            yield Options(*self._options(), compact=True)
            keys = key_hint(self.app, ("outcomes.close", "esc", "close"))
            yield DialogHint(f"enter read them   1-4 at once   {keys}")

    def _options(self) -> list[Option]:
        counts = [_outcome_count(self._row, key) for key in ("wins", "ties", "losses")]
        failed, flips = (
            _outcome_count(self._row, "failed"),
            _outcome_count(self._row, "position_ties"),
        )
        lines = (
            ("won", "won", counts[0], ""),
            ("tied", "tied", counts[1], f"{number(flips)} by the order" if flips else ""),
            ("lost", "lost", counts[2], ""),
            ("system", "all", sum(counts) + failed, f"{number(failed)} failed" if failed else ""),
        )
        digits = max(cell_len(number(count)) for _, _, count, _ in lines)
        return [
            Option(
                Content.assemble(
                    (f"{at} ", "dim"), f"{name:5} {number(count):>{digits}}", (f"  {more}", "dim")
                ),
                id=term,
            )
            for at, (term, name, count, more) in enumerate(lines, start=1)
        ]

    def action_move(self, rows: int) -> None:
        move_cursor(self.query_one(Options), rows)

    def action_choose(self, outcome: str) -> None:
        self.dismiss(outcome)

    @on(OptionList.OptionSelected)
    def _chosen(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(message.option.id)


def _outcome_count(row: Row, key: str) -> int:
    value = row.get(key)
    return value if isinstance(value, int) else 0


# ---- screen ------------------------------------------------------------------------------------------------------


_EMPTY = """Nothing has been judged yet.

Press i to import labels, and r, then n, to start a run."""
_LONGEST_NOTES = 12
_FEW = f"?: fewer than {FEWEST_CASES} cases"
# readers' overrides, and people with few labels
_READERS = [(str(False), "left out, as overrides are"), (str(True), "counted, with overrides")]


class AgreementScreen(OccasionScreen):
    CSS = """
    AgreementScreen .pane { border: round $primary; border-title-color: $accent; }
    AgreementScreen .pane:focus-within { border: round $accent; }
    AgreementScreen #agreement { height: auto; max-height: 45%; }
    AgreementScreen #agreement FigureTable { height: auto; max-height: 100%; }
    AgreementScreen #ranking { height: 1fr; }
    AgreementScreen.-ranking.-short #agreement { max-height: 5; }
    AgreementScreen FigureTable { background: $background; scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    AgreementScreen #ranking FigureTable { height: 1fr; }
    AgreementScreen #details { max-height: 6; }
    AgreementScreen.-wide #details { max-height: 8; }
    AgreementScreen.-wide.-tall #details { max-height: 12; }
    AgreementScreen #no-figures { display: none; height: 1fr; padding: 1 2; }
    AgreementScreen.-empty .pane { display: none; }
    AgreementScreen.-empty #no-figures { display: block; }
    .-ascii AgreementScreen .pane, .-ascii AgreementScreen .pane:focus-within { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "panel", "panel", key_display="tab", priority=True, id="agreement.panel"),
        Binding("m", "choose", "choose", id="agreement.choose"),
        Binding("f", "views", "figures", id="agreement.views"),
        Binding("e", "export", "export", id="agreement.export"),
        Binding("J", "scroll_details(2)", "scroll the details down", show=False, id="agreement.details_down"),
        Binding("K", "scroll_details(-2)", "scroll the details up", show=False, id="agreement.details_up"),
        Binding("r", "runs", "runs", show=False, id="agreement.runs"),
        Binding("R", "compute", "compute again", show=False, id="agreement.compute"),
        Binding("P", "paper", "the paper's table", show=False, id="agreement.paper"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.agreement: Agreement | None = None
        self._choice = AgreementChoice()
        self._matrix: list[tuple[str, list[TableCell]]] = []
        self._ranking: Ranking | None = None
        self._was_live = False

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Agreement + leaderboard")
        yield self.occasion_bar()
        with Vertical(id="agreement", classes="pane") as box:
            box.border_title = Content("Agreement: computing")
            yield FigureTable(id="matrix", cursor_type="cell", cell_padding=1)
        with Vertical(id="ranking", classes="pane") as box:
            box.border_title = Content("Leaderboard: computing")
            yield FigureTable(id="board", cursor_type="row", cell_padding=0)
        yield Static(Content(_EMPTY), id="no-figures")
        yield DetailsPane(id="details", classes="pane")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#matrix").focus()
        chosen = self.host.chosen.get((type(self).__name__, self.project_id))
        if isinstance(chosen, AgreementChoice):
            self._choice = chosen
        self.action_compute()

    def runs_changed(self, active: list[ActiveRun]) -> None:
        super().runs_changed(active)
        live = any(run.project_id == self.project_id for run in active)
        if self._was_live and not live:
            self.action_compute()
        self._was_live = live

    # ---- the two tables

    def action_compute(self) -> None:
        self.query_one("#agreement").border_subtitle = Content("computing")
        job = partial(
            load_agreement,
            project_id=self.project_id,
            choice=self._choice,
            occasions=self.occasions,
        )
        self.background.start("figures", job, self._show, self._show_failure)

    def occasions_changed(self) -> None:
        self.action_compute()

    def _show(self, agreement: Agreement) -> None:
        self.agreement = agreement
        self.occasions_shown()
        self.set_class(agreement.topic is None, "-empty")
        if agreement.topic is not None and agreement.pairs is not None and agreement.board is not None:
            self._choice = self._choice._replace(topic=agreement.topic)
            self._show_matrix(agreement, agreement.pairs)
            self._show_ranking(agreement.board)
            if not self._matrix and self.takes_keys:
                self.query_one("#board").focus()
            self.query_one(TopBar).show(right=agreement.topic.text())
        self._show_details()
        self.refresh_bindings()

    def _show_matrix(self, agreement: Agreement, table: Table) -> None:
        pane, grid, look = self.query_one("#agreement"), self.query_one("#matrix", FigureTable), glyphs()
        self._matrix = matrix(table, agreement.stat, agreement.people, look)
        cursor = grid.cursor_coordinate
        grid.clear(columns=True)
        # with the room that the rows' names and the space between columns leave
        room = (self.size.width - 28) // max(len(self._matrix), 1) - 2
        for place, (name, _) in enumerate(self._matrix):
            head = middle(one_line(name, 60), min(max(room, 11), 22), look)
            grid.add_column(Text(head, justify="right"), key=str(place))
        for name, cells in self._matrix:
            grid.add_row(*[cell.text for cell in cells], label=Text(middle(one_line(name, 60), 22, look)))
        if grid.is_valid_coordinate(cursor):
            grid.cursor_coordinate = cursor
        if self._matrix and self._matrix[0][1][0].row is None and len(self._matrix) > 1:
            grid.move_cursor(column=max(grid.cursor_column, 1), animate=False)
        stat = label_of(agreement.stat)
        level = "" if agreement.level == DEFAULT_LEVEL else f", {LEVEL_NAMES[agreement.level]}"
        pane.border_title = Content(f"{stat}{level} {look.rule} {n_range(table.rows) or 'no two raters'}")
        human = any(cell.text.plain.endswith(" h") for _, cells in self._matrix for cell in cells)
        few = any("?" in cell.text.plain for _, cells in self._matrix for cell in cells)
        legend = (*(["h: people with each other"] if human else []), *([_FEW] if few else []))
        pane.border_subtitle = Content(f" {look.dot} ".join(legend))

    def _show_ranking(self, table: Table) -> None:
        pane, board = self.query_one("#ranking"), self.query_one("#board", FigureTable)
        self._ranking = ranking(table, max(self.size.width - 2, 40), glyphs())
        cursor = board.cursor_row
        board.clear(columns=True)
        heads, lines = columns(self._ranking, glyphs())
        for place, head in enumerate(heads):
            board.add_column(head, key=str(place), width=head.cell_len)
        for line in lines:
            board.add_row(*line)
        if board.is_valid_row_index(cursor):
            board.move_cursor(row=cursor, animate=False)
        pane.border_title = Content(self._ranking.title)

    def on_resize(self) -> None:
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        agreement = self.agreement
        if agreement is not None and agreement.pairs is not None and agreement.board is not None:
            self._show_matrix(agreement, agreement.pairs)
            self._show_ranking(agreement.board)
            self._show_details()

    def _show_failure(self, error: RecjudgeError) -> None:
        self.host.show_error(error)
        if self.agreement is None:
            for name in ("#agreement", "#ranking"):
                self.query_one(name).border_title = Content("no figures: R computes them again")
        self.query_one("#agreement").border_subtitle = Content("")
        self.occasions_refused()

    # ---- the cell or line under the cursor

    @property
    def _on_board(self) -> bool:
        return self.query_one("#board", FigureTable).has_focus

    def _pair(self) -> Row | None:
        """The row of the report under the cursor of the matrix."""
        place = self.query_one("#matrix", FigureTable).cursor_coordinate
        if place.row < len(self._matrix) and place.column < len(self._matrix[place.row][1]):
            return self._matrix[place.row][1][place.column].row
        return None

    def _line(self) -> RankingLine | None:
        """The line of the ranking under its cursor."""
        lines = () if self._ranking is None else self._ranking.lines
        at = self.query_one("#board", FigureTable).cursor_row
        return lines[at] if at < len(lines) else None

    def _row(self) -> Row | None:
        """The row of the report under the cursor of the table in focus."""
        if not self._on_board:
            return self._pair()
        line = self._line()
        return None if line is None else line.row

    def _sentence(self, agreement: Agreement) -> Sentence | None:
        if self._on_board:
            line = self._line()
            return None if line is None else line.sentence
        pair = self._pair()
        if pair is None or agreement.pairs is None:
            return None
        return pair_sentence(agreement.pairs, pair, agreement.people)

    @on(DataTable.CellHighlighted)
    @on(DataTable.RowHighlighted)
    def _show_details(self) -> None:
        agreement, look = self.agreement, glyphs()
        if agreement is None or agreement.topic is None:
            return
        sentence = self._sentence(agreement)
        lines = [] if sentence is None else [content_of(sentence, look)]
        table = agreement.board if self._on_board else agreement.pairs
        notes = notes_about(table, self._row()) if table is not None else []
        if self._on_board and self._ranking is not None:
            notes = notes_on(notes)
        notes = notes[:_LONGEST_NOTES]
        if self._on_board and not self._matrix and agreement.pairs is not None:
            notes = [*agreement.pairs.notes, *notes]
        lines += [Content.styled(f"{look.dot} {one_line(note, 400)}", "dim") for note in notes]
        self.query_one(DetailsPane).show(Content("\n").join(lines))
        self._show_ceiling(agreement)

    def _show_ceiling(self, agreement: Agreement) -> None:
        """Below the ranking: how its judge agrees with people, beside how people agree with each other."""
        line, look = self._line(), glyphs()
        many = "f: all pairs of systems" if self._ranking is not None and self._ranking.many_pairs else ""
        text = ""
        if line is not None and agreement.pairs is not None:
            rater, room = str(line.row["rater"]), max(self.size.width - 8 - cell_len(many), 20)
            text = ceiling_line(agreement.pairs, agreement.stat, rater, agreement.people, look, room)
        shown = f" {look.rule} ".join(filter(None, (text, many)))
        self.query_one("#ranking").border_subtitle = Content(shown)

    def on_descendant_focus(self) -> None:
        # on a short screen the panel in focus gets most of the lines
        self.set_class(self._on_board and bool(self._matrix), "-ranking")
        self._show_details()

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("panel", "choose", "views", "export", "scroll_details"):
            return self.agreement is not None and self.agreement.topic is not None and self.takes_keys
        return super().check_action(action, parameters)

    def action_panel(self) -> None:
        self.query_one("#matrix" if self._on_board else "#board").focus()

    def action_scroll_details(self, lines: int) -> None:
        self.query_one("#details").scroll_relative(y=lines, animate=False)

    @on(DataTable.CellSelected)
    @on(DataTable.RowSelected)
    def _open_cases(self) -> None:
        from recjudge_tui.tui.triage import CasesScreen

        row = self._row()
        if row is None or self.agreement is None:
            return
        if self._on_board and row.get("wins") is not None and "system" in row:
            self.app.push_screen(OutcomeChoice(row), partial(self._open_outcome, row=row))
            return
        filter_text = (
            board_filter(self.agreement, row)
            if self._on_board
            else pair_filter(self.agreement, str(row["rater_a"]), str(row["rater_b"]))
        )
        self.app.push_screen(CasesScreen(self.project_id, filter_text))

    def _open_outcome(self, outcome: str | None, row: Row) -> None:
        from recjudge_tui.tui.triage import CasesScreen

        if outcome is not None and self.agreement is not None:
            self.app.push_screen(CasesScreen(self.project_id, board_filter(self.agreement, row, outcome)))

    def action_choose(self) -> None:
        from recjudge_tui.tui.dialogs import ChoiceField, ChoiceForm

        agreement = self.agreement
        if agreement is None or agreement.topic is None:
            return
        topics = [(str(at), topic.text()) for at, topic in enumerate(agreement.topics)]
        methods = [(name, METHOD_NAMES.get(name, name)) for name in agreement.methods]
        fields = (
            ChoiceField("topic", "question", topics, str(agreement.topics.index(agreement.topic))),
            ChoiceField("stat", "statistic", [(name, label_of(name)) for name in STATISTICS], agreement.stat),
            ChoiceField("level", "level", list(LEVEL_NAMES.items()), agreement.level),
            ChoiceField("method", "ranking", methods, agreement.method),
            ChoiceField("readers", "few labels", _READERS, str(self._choice.readers)),
        )
        self.app.push_screen(ChoiceForm(fields), partial(self._choose, agreement=agreement))

    def _choose(self, chosen: dict[str, str] | None, agreement: Agreement) -> None:
        if chosen is None:
            return
        topic = agreement.topics[int(chosen["topic"])]
        # another question has its own default statistic, unless the user chose one with it
        use_default = topic != agreement.topic and chosen["stat"] == agreement.stat
        self._choice = AgreementChoice(
            topic,
            "" if use_default else chosen["stat"],
            chosen.get("method", ""),
            chosen["level"],
            chosen["readers"] == str(True),
        )
        self.host.chosen[type(self).__name__, self.project_id] = self._choice
        self.action_compute()

    def action_views(self) -> None:
        """Open the figures of the raters under the cursor."""
        from recjudge_tui.tui.figures import FiguresScreen

        agreement, row = self.agreement, self._row()
        if agreement is None or agreement.topic is None:
            return
        chosen: dict[str, str] = {}
        for key, option in (("rater_a", "rater"), ("rater_b", "truth"), ("rater", "rater")):
            if row is not None and key in row:
                chosen[option] = str(row[key])
        ranked = (self._on_board or not self._matrix) and agreement.method in OF_PAIRS
        name = "q-matrix" if ranked else "confusion"
        self.app.push_screen(
            FiguresScreen(self.project_id, agreement.topic, name, chosen, self.occasion_text)
        )

    def action_paper(self) -> None:
        """Open the printed table of the paper whose data this project holds."""
        from recjudge_tui.tui.agreement import PaperScreen

        self.app.push_screen(PaperScreen(self.project_id))

    def action_export(self) -> None:
        agreement = self.agreement
        table = None if agreement is None else agreement.board if self._on_board else agreement.pairs
        if table is not None:
            self.ask_export("leaderboard.csv" if self._on_board else "agreement.csv", lambda _: table)

    def action_step_back(self) -> None:
        self.action_leave()


# ---- paper -------------------------------------------------------------------------------------------------------


class PaperScreen(ExportScreen):
    """The tables as `recjudge reproduce` prints them; `e` writes every figure as a row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "export", "export", id="paper.export"),
        *COMMON,
    ]

    def __init__(self, project_id: int) -> None:
        super().__init__()
        self.project_id = project_id
        self.paper: Reproduction | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "The paper's table")
        yield TextPane(id="paper")
        yield KeyLine()

    def on_mount(self) -> None:
        pane = self.query_one(TextPane)
        pane.focus()
        pane.show(lambda _: Content.styled("computing", "dim"))
        job = partial(_of_project, project_id=self.project_id)
        self.background.start("paper", job, self._show, self._show_failure)

    def _show(self, paper: Reproduction) -> None:
        self.paper = paper
        self.refresh_bindings()
        self.query_one(TextPane).show(partial(_text, paper))

    def _show_failure(self, error: RecjudgeError) -> None:
        parts = [part for part in (error.title, error.cause, error.next_step) if part]
        self.query_one(TextPane).show(lambda _: Content("\n".join(map(safe_text, parts))))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "export":
            return self.paper is not None
        return super().check_action(action, parameters)

    def action_export(self) -> None:
        if (paper := self.paper) is not None:
            self.ask_export("paper.csv", lambda _: paper.rows)


def _of_project(db: Database, project_id: int) -> Reproduction:
    return of_project(Project.numbered(db, project_id))


def _text(paper: Reproduction, width: int) -> Content:
    return Content(render_page(paper.page, "text", Output(width, unicode=glyphs() is UNICODE)).text)
