"""How figures name levels and rankings, and how they write counts, intervals and notes."""

from __future__ import annotations

from collections.abc import Iterable

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row
from recjudge_tui.stats.defaults import LEVEL

LEVEL_NAMES = {"dataset": "all cases", "user": "mean over users", "pair": "mean over user-item pairs"}
METHOD_NAMES = {
    "q": "Q",
    "winrate": "Win rate",
    "bt": "Bradley–Terry",
    "mean": "mean score",
    "share": "Shares of labels",
}
# how captions and titles of figures name an interval
INTERVAL, CI = f"{LEVEL:.0%} interval", f"{LEVEL:.0%} CI"
# the text for an undefined value
UNDEFINED = "–"


def name_text(name: object, limit: int = 60) -> str:
    """A name from the data, made safe and short enough for a sentence."""
    return one_line(name, limit)


def n_text(rows: Iterable[Row], unit: str = "cases", key: str = "n") -> str:
    """`n = 40 cases`, or `n = 38 to 40 cases` if the counts of the rows differ; empty without counts."""
    counts = sorted({count for row in rows if isinstance(count := row.get(key), int)})
    if not counts:
        return ""
    return f"n = {counts[0]:,}{f' to {counts[-1]:,}' if len(counts) > 1 else ''} {unit}"


def count_text(value: object) -> str:
    """`149,760`; 0 for anything but a count."""
    return f"{value:,}" if isinstance(value, int) else "0"


def share_text(value: object) -> str:
    """` (12.5%)` after a count; empty if the share is undefined."""
    return f" ({value:.1%})" if isinstance(value, float) else ""


def note_text(row: Row, key: str = "") -> str:
    """The note of a row at the end of a sentence; `undefined` if the value of `key` is undefined and the row has no
    note."""
    note = one_line(row.get("note") or "", 300)
    if not note and key and row[key] is None:
        note = "undefined"
    return f"; {note}" if note else ""


def interval_text(row: Row, key: str, *, percent: bool = False) -> str:
    """`1.25 [1.10, 1.42]`, without the interval if there is none; no decimals from 100 on, as for ratings."""

    def text(value: float) -> str:
        return f"{value:.1%}" if percent else f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"

    value, low, high = row[key], row["ci_low"], row["ci_high"]
    if not isinstance(value, float):
        return UNDEFINED
    if isinstance(low, float) and isinstance(high, float):
        return f"{text(value)} [{text(low)}, {text(high)}]"
    return text(value)
