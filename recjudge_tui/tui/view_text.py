"""What a part of a large figure says, in a sentence."""

from __future__ import annotations

from textual.content import Content

from recjudge_tui.model.text import one_line
from recjudge_tui.reports.table import Row
from recjudge_tui.tui.look import Glyphs, number


def row_words(view: str, row: Row, look: Glyphs) -> Content:
    """The row under the cursor of the figure `view`."""
    return {"confusion": _cell, "duels": _duel, "metric": _system, "ensembles": _size, "sets": _set}[view](
        row, look
    )


def _cell(row: Row, _: Glyphs) -> Content:
    said = f"{one_line(row['rater_a'], 40)} {one_line(row['label_a'], 30)}, "
    said += f"{one_line(row['rater_b'], 40)} {one_line(row['label_b'], 30)}"
    return Content.assemble(
        (said, "bold"), f": {_count(row['count'])} of {_count(row['n'])} cases", _share(row["share"])
    )


def _set(row: Row, _: Glyphs) -> Content:
    sized = "one label" if row["labels"] == 1 else f"{_count(row['labels'])} labels"
    said = f"{one_line(row['rater_a'], 40)} {one_line(row['label'], 30)}, a set of {sized}"
    return Content.assemble(
        (said, "bold"), f": {_count(row['count'])} of {_count(row['n'])} verdicts", _share(row["share"])
    )


def _duel(row: Row, look: Glyphs) -> Content:
    who = f"{one_line(row['system'], 40)} against {one_line(row['opponent'], 40)}"
    counts = f"{_count(row['wins'])} won, {_count(row['ties'])} tied"
    if row["position_ties"]:
        counts += f" ({_count(row['position_ties'])} by position)"
    counts += f", {_count(row['losses'])} lost, {_count(row['failed'])} failed outside n"
    p, adjusted = row["p"], row["p_holm"]
    tested = f"; sign test over users p {p:.2g}" if isinstance(p, float) else ""
    tested += f", Holm {adjusted:.2g}" if isinstance(adjusted, float) else ""
    return Content.assemble(
        (who, "bold"), ": Q ", (_figure(row, "q", look), "bold"), f", {counts}{tested}", _note(row)
    )


def _system(row: Row, look: Glyphs) -> Content:
    measured = row["measured"]
    value = f"{measured:.4f}" if isinstance(measured, float) else look.none
    return Content.assemble(
        (one_line(row["system"], 40), "bold"), ": Q ", (_figure(row, "q", look), "bold"),
        f", {one_line(row['metric'], 30)} {value}, n={_count(row['n'])}", _note(row),
    )  # fmt: skip


def _size(row: Row, look: Glyphs) -> Content:
    def shown(key: str) -> str:
        value = row[key]
        return f"{value:.3f}" if isinstance(value, float) else look.none

    sets = _count(row["subsets"])
    return Content.assemble(
        (f"{_count(row['size'])} of the raters, {sets} {'set' if sets == '1' else 'sets'}", "bold"),
        f": mean {shown('mean')}, n={_count(row['n'])}\n",
        f"highest {shown('max')}: {one_line(row['best'], 200)}\nlowest {shown('min')}: {one_line(row['worst'], 200)}",
        _note(row),
    )


def _figure(row: Row, key: str, look: Glyphs) -> str:
    value, low, high = row[key], row["ci_low"], row["ci_high"]
    if not isinstance(value, float):
        return look.none
    return f"{value:.2f}" + (
        f" [{low:.2f}, {high:.2f}]" if isinstance(low, float) and isinstance(high, float) else ""
    )


def _count(value: object) -> str:
    return number(value) if isinstance(value, int) else "0"


def _share(value: object) -> str:
    return f" ({value:.1%})" if isinstance(value, float) else ""


def _note(row: Row) -> str:
    note = one_line(row.get("note") or "", 300)
    return f"; {note}" if note else ""
