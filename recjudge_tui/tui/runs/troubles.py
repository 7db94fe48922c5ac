"""The errors of a run by their kinds, as text."""

from __future__ import annotations

from textual.content import Content

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.runs import RunWatch
from recjudge_tui.tui.kit.glyphs import Glyphs, number
from recjudge_tui.tui.runs.text import call_line

_LONGEST_ERROR = 2000
_SHOWN_CALLS = 20


def kind_line(watch: RunWatch, kind: str, count: int, look: Glyphs) -> Content:
    """`5 × bad body   The answer of … is not JSON`."""
    error = next((call.error for call in watch.failed if call.error_kind == kind), "")
    return Content.assemble(
        (f"{number(count)} {look.times} {one_line(kind, 30).replace('_', ' ')}", "bold $error"),
        f"   {one_line(error, 200)}",
    )


def kind_text(watch: RunWatch, kind: str, look: Glyphs) -> str:
    """The errors of one kind in full, each once, and the newest calls that have them."""
    calls = [call for call in watch.failed if call.error_kind == kind]
    texts = [text[:_LONGEST_ERROR] for text in dict.fromkeys(call.error for call in calls)]
    lines = [call_line(call, 90, look).plain for call in calls[:_SHOWN_CALLS]]
    return "\n\n".join([*texts[:5], "\n".join(lines)])
