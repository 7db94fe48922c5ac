"""How one cell is shown to people: rounded, with its unit, on one line."""

from __future__ import annotations

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Column
from recjudge_tui.stats.registry import label_of

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
    return one_line(value, None if column.kind == "prose" else limit)


def _number(value: float, column: Column) -> str:
    if column.kind == "share":
        return f"{_rounded(value * 100, 1)} %"
    if column.kind == "usd":
        return _rounded(value, 4 if 0 < abs(value) < 1 else 2, "$")
    if column.kind == "seconds":
        return f"{_rounded(value, 1)} s"
    if column.kind == "int" or isinstance(value, int):
        return f"{value:,}"
    text = _rounded(value, column.decimals) if abs(value) < 1e6 else f"{value:.4g}"
    return text.rstrip("0").rstrip(".") if column.trimmed and "." in text and text[0] not in "<>" else text


def _rounded(value: float, decimals: int, unit: str = "") -> str:
    """With so many decimals; a value other than 0 that rounds to 0 is shown as `<0.001`, or `>-0.001`, and -0.0 as 0."""
    text = f"{value or 0.0:,.{decimals}f}"
    if value and not text.strip("-0."):
        return f"{'<' if value > 0 else '>-'}{unit}{10**-decimals:.{decimals}f}"
    return f"{unit}{text}"


def is_number(column: Column) -> bool:
    return column.kind not in ("text", "prose", "time", "statistic")
