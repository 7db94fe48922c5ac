"""A project as one row, and in the panel below the rows."""

from __future__ import annotations

from rich.text import Text
from textual.content import Content

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.reports.agreement.by_run import ProjectAgreement, RunFigure
from recjudge_tui.reports.common.few_cases import few_cases
from recjudge_tui.stats.agreement.registry import STATISTICS
from recjudge_tui.store.database import StoredRow
from recjudge_tui.store.projects.panel import ProjectPanel
from recjudge_tui.store.runs.progress import ActiveRun
from recjudge_tui.tui.kit.charts import spark
from recjudge_tui.tui.kit.glyphs import Glyphs, ago, bar, number, stored_state, wrapped

# numbers are right-aligned: headings and cells are padded to the same width
PROJECT_COLUMNS = ("name", "  cases", "verdicts", " flagged", "agreement", "last run", "state")
_RUNS_DRAWN = 4
_RUNS_NAMED = 8


def project_cells(
    name: str,
    figures: StoredRow | None,
    agreement: ProjectAgreement | None,
    active: ActiveRun | None,
    symbols: Glyphs,
) -> list[Text]:
    """Cells of the row; numbers that are not read yet are a dot."""
    if figures is None:
        wait = [Text(symbols.dot.rjust(len(column)), "dim") for column in PROJECT_COLUMNS[1:5]]
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
        _agreement(agreement, symbols),
    )
    return [
        Text(one_line(name, 24)),
        *[Text(cell.rjust(len(column))) for cell, column in zip(shown, PROJECT_COLUMNS[1:5], strict=True)],
        Text(ago(figures["last_run"])),
        _state(figures, active, symbols),
    ]


def _agreement(agreement: ProjectAgreement | None, symbols: Glyphs) -> str:
    """`0.71 ▃▅▆▆`: the newest run, and the last four runs on a scale from 0 to 1; undefined ones leave a gap."""
    if agreement is None:
        return symbols.none
    value = symbols.none if agreement.value is None else f"{agreement.value:.2f}"
    if few_cases(agreement.n):
        value = f"n={agreement.n}"
    runs = agreement.by_run[-_RUNS_DRAWN:]
    if len(runs) < 2:
        return value
    drawn = (" " if run.value is None else spark([run.value], 1, symbols, top=1.0) for run in runs)
    return f"{value} {''.join(drawn)}"


def _agreement_lines(agreement: ProjectAgreement, symbols: Glyphs) -> list[str]:
    """The statistic, the raters and n; then the values run by run, the newest first."""
    stat = STATISTICS[agreement.stat].in_text
    value = "undefined: all labels are the same" if agreement.value is None else f"{agreement.value:.2f}"
    who = f"{one_line(agreement.judge, 24)} with {one_line(agreement.people, 24)}"
    few = " (too few)" if few_cases(agreement.n) else ""
    lines = [f"agreement  {stat} {value}  {who}, n={number(agreement.n)}{few}"]
    if len(agreement.by_run) > 1:
        shown = [_run_figure(run, agreement.n, symbols) for run in agreement.by_run[: -_RUNS_NAMED - 1 : -1]]
        lines.append("by run     " + f" {symbols.dot} ".join(shown))
    return lines


def _run_figure(run: RunFigure, n: int, symbols: Glyphs) -> str:
    """A run's value, with its number of questions if it differs from `n`."""
    value = symbols.none if run.value is None else f"{run.value:.2f}"
    return f"run {run.run_id} {value}" + ("" if run.n == n else f" (n={number(run.n)})")


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
    agreement: ProjectAgreement | None,
    active: ActiveRun | None,
    width: int,
    symbols: Glyphs,
) -> Content:
    """Runs, judges and prompt; the shares of the labels; problems to look at. Never wider than `width`."""
    if panel is None:
        return Content.styled("counting", "dim")
    lines = [_who(panel, symbols), _shares(panel, width, symbols), _marks(panel, symbols)]
    if agreement is not None:
        lines += _agreement_lines(agreement, symbols)
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
        return "judges do not disagree with each other, no flips, no failed calls"
    return f"{symbols.marked} " + f" {symbols.dot} ".join(parts)
