"""How one cell is shown to people: rounded, with its unit, on one line."""

from __future__ import annotations

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Column
from recjudge_tui.stats.agreement.registry import label_of

UNDEFINED = "–"
_LONGEST = 160


def shown(value: object, column: Column, limit: int | None = _LONGEST) -> str:
    """The cell as people read it; `–` if there is no value."""
    if value is None:
        return UNDEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and column.kind != "text":
        return _number(value, column)
    if column.kind == "time":
        return one_line(value)[:16].replace("T", " ")
    if column.kind == "statistic":
        return label_of(str(value))
    return one_line(value, limit)


def _number(value: float, column: Column) -> str:
    if column.kind == "share":
        return f"{value * 100:.1f} %"
    if column.kind == "usd":
        return f"${value:,.4f}" if 0 < abs(value) < 1 else f"${value:,.2f}"
    if column.kind == "seconds":
        return f"{value:,.1f} s"
    if column.kind == "int" or isinstance(value, int):
        return f"{value:,}"
    if 0 < abs(value) < 0.5 * 10**-column.decimals:
        return f"{value:.0e}"  # a value that rounds to 0 must not be shown as 0
    text = f"{value:,.{column.decimals}f}" if abs(value) < 1e6 else f"{value:.4g}"
    return text.rstrip("0").rstrip(".") if column.trimmed and "." in text else text


def is_number(column: Column) -> bool:
    return column.kind not in ("text", "time", "statistic")
