"""The texts and cells of the screen that compares two raters. Contains no widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.content import Content

from recjudge_tui.domain.occasions import occasion_text
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.figures.marks import CI
from recjudge_tui.tui.kit.charts import ABOVE, BELOW, COUNTS, shaded
from recjudge_tui.tui.kit.glyphs import Glyphs, case_number, fit, middle, number, short_label

if TYPE_CHECKING:
    from recjudge_tui.reports.changes import Part, PromptChange
    from recjudge_tui.store.answers import Cell, ChangedCase

_SAID = 19
_USER = (12, 24)
_LEVEL = 24
_LONGEST_LINE = 2000
_LINE_STYLES = {"+": "$success", "-": "$error", "@": "$accent"}


def grid_cells(part: Part) -> list[tuple[str, list[Text]]]:
    """Name and cells of each line of the grid, sums last; `+` before a rise, `-` before a fall, if there is an order."""
    counts = part.counts.tolist()
    most = max((count for line in counts for count in line), default=0)
    lines = []
    for a, level in enumerate(part.levels):
        cells = [_cell(count, a, b, most, part.ordered) for b, count in enumerate(counts[a])]
        lines.append((short_label(one_line(level.name, _LEVEL)), [*cells, _sum(sum(counts[a]))]))
    columns = [_sum(sum(line[b] for line in counts)) for b in range(len(part.levels))]
    return [*lines, ("all", [*columns, _sum(int(part.counts.sum()))])]


def _cell(count: int, a: int, b: int, most: int, ordered: bool) -> Text:
    share = count / most if most else 0.0
    if a == b or not count or not ordered:
        return shaded(number(count), COUNTS, share)
    # the highest value is the first line
    return shaded(f"+{count:,}", ABOVE, share) if b < a else shaded(f"-{count:,}", BELOW, share)


def _sum(count: int) -> Text:
    return Text(number(count), "dim", justify="right")


def cell_at(part: Part, row: int, column: int) -> tuple[str, Cell] | None:
    """The name of a cell of the grid and its values; a sum has all values of its line or column."""
    levels = part.levels
    if not levels or row > len(levels) or column > len(levels) or row == column == len(levels):
        return None
    every = (levels[-1].low, levels[0].high)
    a = (levels[row].low, levels[row].high) if row < len(levels) else every
    b = (levels[column].low, levels[column].high) if column < len(levels) else every
    first_label, now = (
        short_label(one_line(levels[at].name, _LEVEL)) if at < len(levels) else "any" for at in (row, column)
    )
    from recjudge_tui.store.answers import Cell

    return f"{first_label} to {now}", Cell(*a, *b)


def summary_words(row: Row, names: tuple[str, str], questions: int, symbols: Glyphs) -> list[Content]:
    """Sentences on the number and direction of changes, the test, adjusted for all `questions`, the means, and the
    cases not in n, if any.
    """
    first, second = (one_line(name, 24) for name in names)
    parts = ((f"only {first}", row["only_a"]), (f"only {second}", row["only_b"]), ("failed", row["failed"]))
    outside = ", ".join(f"{name} {count:,}" for name, count in parts if count)
    apart = [Content(f"not in n: {outside}")] if outside else []
    if row["changed"] is None or not row["n"]:
        return [Content.styled(f"n {row['n']:,}", "bold"), _note(row), *apart]
    ways = "" if row["up"] is None else f": {row['up']:,} {row['up_is']}, {row['down']:,} {row['down_is']}"
    return [
        Content.assemble((f"{row['changed']:,} of {row['n']:,} changed ({row['share']:.1%})", "bold"), ways),
        _test(row, questions, symbols),
        *([Content(means)] if (means := _means(row)) else []),
        *apart,
    ]


def _note(row: Row) -> Content:
    return Content.styled(one_line(row["note"], 300), "$warning")


def _test(row: Row, questions: int, symbols: Glyphs) -> Content:
    if row["test"] is None:
        return _note(row)
    words = f"{row['test']}: "
    if row["statistic"] is not None:
        words += f"chi-sq {row['statistic']:.2f}, df {row['df']}, "
    symmetry = row["p_symmetry_holm"]
    rest = "" if symmetry is None else f" {symbols.dot} symmetry {_p(symmetry)}"
    rest += f" {symbols.dot} Holm's correction for {questions} questions" if questions > 1 else ""
    note = f" {symbols.dot} {one_line(row['note'], 200)}" if row["note"] else ""
    return Content.assemble(words, (_p(row["p_holm"]), "bold"), rest, (note, "$warning"))


def _p(p: object) -> str:
    assert isinstance(p, float)
    return "p < 0.0001" if p < 0.0001 else f"p {p:.4f}"


def _means(row: Row) -> str:
    if row["mean_a"] is None:
        return ""
    words = f"mean {row['mean_a']:.2f} to {row['mean_b']:.2f}: {row['difference']:+.2f}"
    return words if row["ci_low"] is None else f"{words}, {CI} {row['ci_low']:+.2f} to {row['ci_high']:+.2f}"


def case_cells(
    case: ChangedCase, width: int, symbols: Glyphs, *, ordered: bool = True
) -> list[tuple[str, str]]:
    """(text, kind) of one line of the list, `width` cells in all; kind is up, down, same or empty. Categories that are not
    `ordered` have no up and down."""
    before, now = (short_label(one_line(label, 40)) for label in case.labels)
    kind = "up" if case.value_b > case.value_a else "down" if case.value_b < case.value_a else "same"
    if kind != "same" and not ordered:
        kind = ""
    sign = {"up": "+", "down": "-", "same": "=", "": " "}[kind]
    change = fit(f" {sign} {before} {symbols.crumb} {now}", _SAID, symbols)
    head = f" {case_number(case.case_id)}"
    user_cells = _user_cells(width)
    user = fit(f" {middle(one_line(case.user_id, 40), user_cells - 2, symbols)}", user_cells, symbols)
    rest = max(width - len(head) - _SAID - user_cells, 0)
    item = f" {case.item_id}" if case.item_id else ""
    occasion = occasion_text(case.occasion) if case.several_occasions else ""
    about = (f"{occasion} {symbols.dot} " if occasion else "") + case.systems + item
    systems = fit(f" {one_line(about, 160)}", rest, symbols)
    cells = [(head, ""), (change, kind), (user, ""), (systems, "dim")]
    whole = "".join(text for text, _ in cells)
    return cells if len(head) + _SAID + user_cells + rest <= width else [(fit(whole, width, symbols), "")]


def _user_cells(width: int) -> int:
    """The width of the column of users: two fifths of what it shares with the systems."""
    return min(max((width - 8 - _SAID) * 2 // 5, _USER[0]), _USER[1])


def case_head(width: int, symbols: Glyphs) -> str:
    head = (
        fit(" case", 8, symbols)
        + fit("   change", _SAID, symbols)
        + fit(" user", _user_cells(width), symbols)
        + " systems"
    )
    return fit(head, width, symbols)


def diff_words(prompt: PromptChange, differences: tuple[str, ...], symbols: Glyphs) -> Content:
    """The settings that differ, then the diff. Each line keeps its sign, and colour only repeats it."""
    lines = [Content.styled(f"{symbols.dot} {one_line(text, 400)}", "dim") for text in differences]
    if prompt.note:
        lines.append(Content.styled(f"{symbols.dot} {one_line(prompt.note, 400)}", "dim"))
    for at, line in enumerate(prompt.lines):
        shown = safe_text(line[:_LONGEST_LINE]).replace("\n", " ").replace("\t", "    ")
        if len(line) > _LONGEST_LINE:
            shown += f"{symbols.cut} {number(len(line) - _LONGEST_LINE)} more characters"
        lines.append(Content.styled(shown, "bold" if at < 2 else _LINE_STYLES.get(line[:1], "")))
    return Content("\n").join(lines)
