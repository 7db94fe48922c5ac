"""Glyphs with their ASCII fallback, states of runs; numbers, times and bars as text. No widgets."""

from __future__ import annotations

import locale
import os
from datetime import datetime, timezone
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from textual.content import Content


class Glyphs(NamedTuple):
    """The symbols for states. A state always has a glyph and a word, never a colour alone."""

    reviewed: str
    marked: str
    failed: str
    running: str
    done: str
    paused: str
    stopped: str
    empty: str
    crumb: str
    dot: str
    none: str
    rule: str
    bar: str
    eighths: str
    cut: str
    first: str
    swapped: str
    times: str


UNICODE = Glyphs(
    "✓", "▲", "✗", "▶", "✓", "‖", "■", "·", "▸", "·", "–", "─", "█", " ▏▎▍▌▋▊▉", "…", "◂", "⇄", "×"
)
ASCII = Glyphs("v", "^", "x", ">", "v", "=", "#", ".", ">", "-", "-", "-", "#", " ", "~", "<", "<>", "x")


def ascii_wanted() -> bool:
    """Whether to use ASCII: `RECJUDGE_ASCII=1`, or a locale that cannot show more."""
    chosen = os.environ.get("RECJUDGE_ASCII")
    if chosen is not None:
        return chosen not in ("", "0")
    return locale.getpreferredencoding(False).lower().replace("-", "") not in ("utf8", "utf8mb4")


def glyphs() -> Glyphs:
    return ASCII if ascii_wanted() else UNICODE


class StateStyle(NamedTuple):
    """`style` is a Rich colour, empty for none."""

    glyph: str
    word: str
    style: str

    def text(self) -> str:
        return f"{self.glyph} {self.word}"


def stored_state(state: str, symbols: Glyphs) -> StateStyle | None:
    """The look of a state of a run that no process works on; None for an unknown state."""
    return {
        # no process works on it, otherwise it would be among the active ones
        "running": StateStyle(symbols.paused, "interrupted", "yellow"),
        "done": StateStyle(symbols.done, "done", ""),
        "paused": StateStyle(symbols.paused, "paused", "yellow"),
        "stopped": StateStyle(symbols.stopped, "stopped", "yellow"),
        "failed": StateStyle(symbols.failed, "failed", "red"),
        "planned": StateStyle(symbols.empty, "planned", ""),
    }.get(state)


def number(value: int) -> str:
    """`149760` as `149,760`."""
    return f"{value:,}"


def fraction(value: float | None, none: str) -> str:
    """A confidence: `0.41`; `none` when there is none."""
    return none if value is None else f"{value:.2f}"


def score(value: float | None, symbols: Glyphs) -> str:
    """`4`, `3.67`: as many decimals as needed, two at most."""
    return symbols.none if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def case_number(case_id: int) -> str:
    return f"{case_id:07d}"


def ago(moment: str | None, now: datetime | None = None) -> str:
    """`2h ago` for a stored time; `never` without one."""
    if not moment:
        return "never"
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return "?"
    if then.tzinfo is None:
        then = then.replace(tzinfo=timezone.utc)
    seconds = max(((now or datetime.now(timezone.utc)) - then).total_seconds(), 0)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "just now"


def bar(share: float, width: int, symbols: Glyphs) -> str:
    """A bar of at most `width` cells for a share from 0 to 1."""
    share = min(max(share, 0.0), 1.0)
    if len(symbols.eighths) < 8:
        return symbols.bar * round(share * width)
    eighths = round(share * width * 8)
    return (symbols.bar * (eighths // 8) + (symbols.eighths[eighths % 8] if eighths % 8 else "")).rstrip()


def short_label(label: str) -> str:
    """A label for a narrow column: `Good Match` is `Good`."""
    return label.removesuffix(" Match")


def fit(text: str, width: int, symbols: Glyphs) -> str:
    """The text in exactly `width` cells, ending in a cut sign if it is longer."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + symbols.cut if width > 0 else ""


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken at spaces where there are any; none for an empty text."""
    return [line.plain for line in Content(text).wrap(width)] if text else []


def middle(text: str, width: int, symbols: Glyphs) -> str:
    """The text in at most `width` cells, shortened in the middle, so that names that begin alike stay apart."""
    if cell_len(text) <= width:
        return text
    if width < 5:
        return fit(text, max(width, 0), symbols).rstrip()
    tail = (width - 1) // 2
    end = text[-tail:]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(text, width - 1 - tail).rstrip() + symbols.cut + end
