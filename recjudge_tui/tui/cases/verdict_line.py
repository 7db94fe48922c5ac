"""One verdict in one line: which columns fit a width, and their content."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.verdicts.listing import VerdictRow
from recjudge_tui.tui.kit.glyphs import Glyphs, case_number, fit, fraction, score, short_label


class Columns(NamedTuple):
    """Widths in cells; `why` takes the rest. `occasion` is 0 where none is shown, `case` where it leaves no room."""

    rater: int
    label: int
    why: int
    occasion: int = 0
    case: int = 8


_FIXED = 2 + 8 + 4  # glyph, case, confidence, each with its space
_LEAST = 30


def columns_for(width: int, *, occasions: bool = False) -> Columns:
    """The widths for a list `width` cells wide, with a column of `occasions` if there is room; usable from 30."""
    if occasions:
        own = min(max(width // 5, 12), 24)
        if width - own >= _LEAST:
            return columns_for(width - own)._replace(occasion=own)
        if width - 4 >= _LEAST:
            # the case is named beside the list
            return columns_for(width - 4)._replace(occasion=12, case=0)
    room = max(width - _FIXED, 12)
    label = 8 if room < 30 else 9 if room < 36 else 12 if room < 50 else 20
    rater = max(min((room - label - 1) // 2, 18), 4)
    return Columns(rater, label, max(room - label - rater, 4))


def header_line(columns: Columns) -> str:
    return (
        "  "
        + (_cell("case", columns.case) if columns.case else "")
        + (_cell("occasion", columns.occasion) if columns.occasion else "")
        + _cell("rater", columns.rater)
        + _cell("label", columns.label)
        + _cell("cnf", 4)
        + "why"
    )


def verdict_cells(row: VerdictRow, columns: Columns, symbols: Glyphs) -> list[tuple[str, str]]:
    """(text, kind) in order; kind is marked, failed, reviewed, dim or empty."""
    glyph, kind = _glyph(row, symbols)
    label_text = short_label(row.label) if protocol_facts(row.protocol).labels else ""
    label = symbols.none if row.failed else label_text or score(row.value, symbols)
    if row.aspect != "overall":
        label = f"{_short_aspect(row.aspect, columns.label - 5, symbols)} {label}"
    return [
        (glyph + " ", kind),
        *([(_cell(case_number(row.case_id), columns.case), "")] if columns.case else []),
        *(
            [(_cell(occasion_text(row.occasion), columns.occasion, symbols.cut), "")]
            if columns.occasion
            else []
        ),
        (_cell(row.rater, columns.rater, symbols.cut), "dim"),
        (_cell(label, columns.label, symbols.cut), kind if row.failed else ""),
        (_cell(fraction(row.confidence, symbols.none), 4), "dim"),
        (_cell(why(row, short=columns.why < 13), columns.why, symbols.cut), kind),
    ]


def why(row: VerdictRow, *, short: bool = False) -> str:
    """Why the verdict is worth reading, the most telling reason first; empty if there is none.

    `disagree 2/1`: two people or judges give one answer and one gives another; `dis` if `short`. Scores of
    explanations show their spread instead.
    """
    reasons = [_decided(row)] if row.triage.decision else ["reviewed"] if row.reviewed else []
    reasons += [f"#{one_line(tag, 20)}" for tag in row.triage.tags]
    if row.failed:
        reasons.append(row.error_kind.replace("_", " ") or "failed")
    if row.flipped:
        reasons.append("swap")
    if row.flag_count:
        reasons.append(row.issue or "flag")
        if row.flag_count > 1:
            reasons[-1] += f" x{row.flag_count}"
    if row.disagrees and protocol_facts(row.protocol).unit == "explanation" and row.spread is not None:
        reasons.append(f"spread {row.spread:.3g}")
    elif row.disagrees:
        reasons.append(("dis " if short else "disagree ") + "/".join(str(votes) for votes in row.votes))
    return ", ".join(reasons)


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


def _short_aspect(aspect: str, room: int, symbols: Glyphs) -> str:
    """The beginning of the aspect's name, leaving room for a label of three cells."""
    name = one_line(aspect, 40).replace("_", " ")
    return fit(name, room, symbols) if room > 5 else set_cell_size(name, max(room, 2))


def _cell(text: str, width: int, cut: str = "…") -> str:
    """The text in exactly `width` cells, the last one a space."""
    line = one_line(text, max(width * 2, 8))
    if cell_len(line) > width - 1:
        line = set_cell_size(line, max(width - 2, 0)) + cut
    return set_cell_size(line, width)
