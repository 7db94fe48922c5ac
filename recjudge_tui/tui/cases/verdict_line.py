"""One verdict in one line: the columns that the verdicts need, those that fit a width, and their content."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import OVERALL, protocol_facts, smallest_disagreement
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.verdicts import VerdictRow
from recjudge_tui.tui.kit.glyphs import (
    UNICODE,
    Glyphs,
    case_number,
    fit,
    fraction,
    middle,
    score,
    short_label,
)

_MARK = 2
# the columns in order with their maximum width in cells; `why` takes the rest
_WIDEST = {
    "case": 7,
    "user": 14,
    "occasion": 24,
    "systems": 44,
    "rater": 18,
    "judge": 18,
    "sure": 4,
    "people": 14,
}
_NARROWEST = {"systems": 10, "rater": 6, "user": 5, "judge": 8, "people": 6, "occasion": 11}
# room for “against people”, and for its beginning where the user would go for it
_LEAST_WHY, _SHORTEST_WHY = 14, 9
# columns that a narrow list leaves out, in this order
_LEFT_OUT = ("rater", "people", "user", "sure")
_HEADS = {"sure": "sure", "systems": "systems", "rater": "rater"}


class Needs(NamedTuple):
    """The width of the widest content of each column; 0 for a column that is empty in every row. `raters` are the
    raters seen: a single one needs no column; `names` those of the systems seen, `paired` whether two share a line.
    """

    user: int = 0
    systems: int = 0
    judge: int = 0
    sure: int = 0
    people: int = 0
    occasion: int = 0
    why: int = 0
    raters: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    paired: bool = False

    def with_rows(self, rows: Iterable[VerdictRow], symbols: Glyphs) -> Needs:
        user, systems, judge, sure, people, occasion, reason, raters, names, paired = self
        for row in rows:
            user = max(user, cell_len(one_line(row.user_id, 30)))
            systems = max(systems, cell_len(_systems(row, 200, symbols)))
            judge = max(judge, cell_len(_label(row, 60, symbols)))
            sure = 4 if row.confidence is not None else sure
            people = max(people, cell_len(_people(row, symbols)))
            if row.several_occasions:
                occasion = max(occasion, cell_len(_occasion(row)))
            reason = max(reason, cell_len(why(row)))
            raters |= {row.rater}
            names |= {one_line(name, 60) for name in row.systems}
            paired = paired or len(row.systems) > 1
        return Needs(user, systems, judge, sure, people, occasion, reason, raters, names, paired)

    def least(self, column: str) -> int:
        """The minimum width of a column of names: shortened names of systems must still differ."""
        least = _NARROWEST[column]
        if column != "systems":
            return least
        apart = _width_apart(self.names)
        return max(2 * apart + 3 if self.paired else apart, least)


Columns = dict[str, int]


@lru_cache(maxsize=16)
def _width_apart(names: frozenset[str]) -> int:
    """The width from which names, shortened in the middle, are all different; that of the widest if there is none."""
    for width in range(3, _WIDEST["systems"]):
        if len({middle(name, width, UNICODE) for name in names}) == len(names):
            return width
    return _WIDEST["systems"]


@lru_cache(maxsize=16)  # called for every line
def columns_for(width: int, needs: Needs) -> Columns:
    """Column -> its cells with a space, for a list `width` cells wide; `why` last."""
    columns = _columns_beside(_LEAST_WHY, width, needs)
    if needs.user and "user" not in columns:
        # without the user, the rows of one system look the same
        shorter = _columns_beside(_SHORTEST_WHY, width, needs)
        return shorter if "user" in shorter else columns
    return columns


def _columns_beside(least_why: int, width: int, needs: Needs) -> Columns:
    rater = max(map(cell_len, needs.raters)) if len(needs.raters) > 1 else 0
    wanted = {
        "case": 7,
        "user": needs.user,
        "occasion": needs.occasion,
        "systems": needs.systems,
        "rater": rater,
        "judge": needs.judge,
        "sure": needs.sure,
        "people": needs.people,
    }
    columns = {
        name: min(max(cells, len(_HEADS.get(name, name))), _WIDEST[name]) + 1
        for name, cells in wanted.items()
        if cells
    }
    room = width - _MARK - min(max(needs.why, len("why")), least_why) - 1
    if sum(columns.values()) > room:
        # names come before it: the title of the case has it, too
        del columns["case"]
    columns = _squeezed(columns, room, needs)
    for name in _LEFT_OUT:
        if sum(columns.values()) <= room:
            break
        columns.pop(name, None)
    # freed space goes back to the names
    wider = {name: min(max(wanted[name], len(name)), _WIDEST[name]) + 1 for name in columns}
    columns = _squeezed(wider, room, needs)
    return {**columns, "why": max(width - _MARK - sum(columns.values()), 4)}


def _squeezed(columns: Columns, room: int, needs: Needs) -> Columns:
    """The columns with names shortened as far as `room` requires, but not below the least of each."""
    squeezed = dict(columns)
    for name in _NARROWEST:
        if name in squeezed:
            over = sum(squeezed.values()) - room
            squeezed[name] -= max(min(over, squeezed[name] - needs.least(name) - 1), 0)
    return squeezed


def header_line(columns: Columns) -> str:
    return " " * _MARK + "".join(
        set_cell_size(_HEADS.get(name, name), cells) for name, cells in columns.items()
    )


def verdict_cells(row: VerdictRow, columns: Columns, symbols: Glyphs) -> list[tuple[str, str]]:
    """(text, kind) in order; kind is marked, failed, reviewed, dim or empty."""
    glyph, kind = _glyph(row, symbols)
    texts = {
        "case": (case_number(row.case_id), "dim"),
        "user": (one_line(row.user_id, 30), ""),
        "occasion": (_occasion(row), ""),
        "systems": (_systems(row, columns.get("systems", 1) - 1, symbols), ""),
        "rater": (one_line(row.rater, 30), "dim"),
        "judge": (_label(row, columns["judge"] - 1, symbols), kind if row.failed else ""),
        "sure": (fraction(row.confidence, ""), "dim"),
        "people": (_people(row, symbols), ""),
        "why": (why(row), kind),
    }
    cells = [(glyph + " ", kind)]
    for name, width in columns.items():
        text, style = texts[name]
        shown = middle(text, width - 1, symbols) if name in ("user", "rater") else text
        cells.append((_cell(shown, width, symbols.cut), style))
    return cells


def why(row: VerdictRow) -> str:
    """Why the verdict is worth reading, the strongest reason first; empty if there is none.

    `disagree 2/1`: two raters give one answer and one gives another. Scores of explanations show their spread instead.
    """
    reasons = [_decided(row)] if row.triage.decision else ["reviewed"] if row.reviewed else []
    reasons += [f"#{one_line(tag, 20)}" for tag in row.triage.tags]
    if row.failed:
        reasons.append(row.error_kind.replace("_", " ") or "failed")
    against = _against_people(row)
    if row.disagrees and protocol_facts(row.protocol).unit == "explanation" and row.spread is not None:
        reasons.append(f"spread {row.spread:.3g}")
    elif against:
        reasons.append(against)
    elif row.disagrees:
        reasons.append("disagree " + "/".join(str(votes) for votes in row.votes))
    if row.flipped:
        reasons.append("flips on swap")
    if row.flag_count:
        reasons.append(row.issue.replace("_", " ") or "flag")
        if row.flag_count > 1:
            # of this kind or of another
            reasons[-1] += f" +{row.flag_count - 1}"
    return ", ".join(reasons)


def _against_people(row: VerdictRow) -> str:
    if row.rater_kind not in REVIEWED or row.value is None or row.failed:
        return ""
    least, people = smallest_disagreement(row.protocol), sum(label_count.n for label_count in row.people)
    apart = sum(label_count.n for label_count in row.people if abs(label_count.value - row.value) >= least)
    return "" if not apart else "against people" if apart == people else f"against {apart} of {people} people"


def _occasion(row: VerdictRow) -> str:
    return one_line(occasion_text(row.occasion), 40)


def _systems(row: VerdictRow, width: int, symbols: Glyphs) -> str:
    """`als ◂ cooc`: the sign points to the system that was chosen; a single system by its name."""
    names = [one_line(name, 60) for name in row.systems]
    if len(names) < 2:
        return middle(names[0] if names else "", width, symbols)
    sign = symbols.empty
    if row.flipped:
        sign = symbols.swapped
    elif row.value is not None and not row.failed:
        sign = symbols.first if row.value > 0 else symbols.crumb if row.value < 0 else "="
    room = width - cell_len(sign) - 2
    left = max(room - cell_len(names[1]), room // 2)
    first = middle(names[0], left, symbols)
    return f"{first} {sign} {middle(names[1], room - cell_len(first), symbols)}"


def _label(row: VerdictRow, width: int, symbols: Glyphs) -> str:
    text = short_label(row.label) if protocol_facts(row.protocol).labels else ""
    label = symbols.failed if row.failed else one_line(text, 30) or score(row.value, symbols)
    if row.aspect == OVERALL:
        return label
    aspect = one_line(row.aspect, 40).replace("_", " ")
    room = max(width - cell_len(label) - 1, 2)
    return f"{fit(aspect, room, symbols).rstrip()} {label}"


def _people(row: VerdictRow, symbols: Glyphs) -> str:
    """`A A` or `Good×2 Poor`: what each person said, the most frequent answer first."""
    given = []
    for label_count in row.people:
        label = one_line(short_label(label_count.label), 12) or score(label_count.value, symbols)
        short = len(label) == 1 and label_count.n < 4
        given.append(
            " ".join([label] * label_count.n)
            if short
            else label + (f"{symbols.times}{label_count.n}" if label_count.n > 1 else "")
        )
    return " ".join(given)


def _glyph(row: VerdictRow, symbols: Glyphs) -> tuple[str, str]:
    if row.triage.decision:
        return symbols.reviewed, "reviewed"
    if row.failed:
        return symbols.failed, "failed"
    if row.reviewed:
        return symbols.reviewed, "reviewed"
    if row.flipped or row.flag_count:
        return symbols.marked, "marked"
    return " ", ""


def _decided(row: VerdictRow) -> str:
    """`to Tie` for an override, else the decision."""
    if row.triage.decision == "override":
        return f"to {short_label(row.triage.label)}"
    return {"accept": "accepted", "dismiss": "dismissed"}[row.triage.decision]


def _cell(text: str, width: int, cut: str) -> str:
    """The text in exactly `width` cells, the last one a space."""
    line = one_line(text, max(width * 2, 8))
    if cell_len(line) > width - 1:
        line = set_cell_size(line, max(width - 2, 0)) + cut
    return set_cell_size(line, width)
