"""A project as one row, and in the panel below the rows."""

from __future__ import annotations

from rich.text import Text
from textual.content import Content

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.store.database import StoredRow
from recjudge_tui.store.projects import ProjectPanel
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.kit.glyphs import Glyphs, ago, bar, number, stored_state, wrapped

# numbers are right-aligned: headings and cells are padded to the same width
PROJECT_COLUMNS = ("name", "  cases", "verdicts", " flagged", "last run", "state")


def project_cells(
    name: str,
    figures: StoredRow | None,
    active: ActiveRun | None,
    symbols: Glyphs,
) -> list[Text]:
    """Cells of the row; numbers that are not read yet are a dot."""
    if figures is None:
        wait = [Text(symbols.dot.rjust(len(column)), "dim") for column in PROJECT_COLUMNS[1:4]]
        return [
            Text(one_line(name, 24)),
            *wait,
            Text(""),
            Text(_progress(active, symbols), "green") if active else Text(""),
        ]
    flagged = number(figures["flagged"])
    shown = (
        number(figures["cases"]),
        number(figures["verdicts"]),
        f"{symbols.marked} {flagged}" if figures["flagged"] else flagged,
    )
    return [
        Text(one_line(name, 24)),
        *[Text(cell.rjust(len(column))) for cell, column in zip(shown, PROJECT_COLUMNS[1:4], strict=True)],
        Text(ago(figures["last_run"])),
        _state(figures, active, symbols),
    ]


def _progress(active: ActiveRun, symbols: Glyphs) -> str:
    share = active.finished / active.calls if active.calls else 0.0
    return f"{symbols.running} {share:.0%}"


def _state(figures: StoredRow, active: ActiveRun | None, symbols: Glyphs) -> Text:
    if active is not None:
        return Text(_progress(active, symbols), "green")
    state = stored_state(figures["state"], symbols)
    if state is not None:
        return Text(state.text(), state.style)
    return Text(f"{symbols.empty} {'no run' if figures['imports'] or figures['cases'] else 'empty'}", "dim")


def panel_content(
    panel: ProjectPanel | None,
    active: ActiveRun | None,
    width: int,
    symbols: Glyphs,
) -> Content:
    """Runs, judges and prompt; the shares of the labels; problems to look at. Never wider than `width`."""
    if panel is None:
        return Content.styled("counting", "dim")
    lines = [_who(panel, symbols), _shares(panel, width, symbols), _marks(panel, symbols)]
    if active is not None:
        lines.append(
            f"{symbols.running} run {active.run_id}: {number(active.finished)} of {number(active.calls)} calls"
        )
    if not panel.protocol:
        first = "" if panel.imports else "i to import lists and labels, "
        lines = [f"No verdicts yet. Press {first}r to start a run."]
    return Content("\n").join(Content(part) for line in lines if line for part in wrapped(line, width))


def _who(panel: ProjectPanel, symbols: Glyphs) -> str:
    parts = [f"runs {panel.runs}"]
    if panel.judges:
        parts.append("judges " + ", ".join(one_line(name, 24) for name in panel.judges[:6]))
    if panel.prompt:
        parts.append(f"prompt {one_line(panel.prompt, 40)}")
    if panel.others:
        parts.append("others " + ", ".join(one_line(name, 24) for name in panel.others[:4]))
    return f" {symbols.dot} ".join(parts)


def _shares(panel: ProjectPanel, width: int, symbols: Glyphs) -> str:
    if not panel.shares:
        return ""
    shown = panel.shares[:5]
    room = max((width - 16) // len(shown) - 14, 3)
    # a label that is a number must not read as part of its share
    names = [f"{one_line(s.label, 12)}{':' if s.label[-1:].isdigit() else ''}" for s in shown]
    bars = [
        f"{name} {s.share:.0%} {bar(s.share, room, symbols)}" for name, s in zip(names, shown, strict=True)
    ]
    aspect = "" if panel.aspect == OVERALL else f" {one_line(panel.aspect, 20)}"
    return f"{one_line(panel.protocol, 12)}{aspect}  " + "  ".join(bars)


def _marks(panel: ProjectPanel, symbols: Glyphs) -> str:
    parts = []
    if panel.disagreements:
        parts.append(f"{quantity(panel.disagreements, 'case')} on which judges disagree")
    if panel.flips:
        parts.append(f"{quantity(panel.flips, 'flip')} when the order is swapped")
    if panel.failed_calls:
        share = panel.failed_calls / panel.finished_calls
        parts.append(f"{quantity(panel.failed_calls, 'failed call')} ({share:.1%})")
    if not parts:
        judged = ["judges do not disagree with each other"] if len(panel.judges) > 1 else []
        return ", ".join([*judged, *(["no flips", "no failed calls"] if panel.judges else [])])
    return f"{symbols.marked} " + f" {symbols.dot} ".join(parts)
