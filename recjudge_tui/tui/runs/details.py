"""A run as the pane beside the list of runs shows it: its setup, its calls, its verdicts by system, its errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.text import one_line, quantity, safe_text
from recjudge_tui.reports.runs import RunWatch, reused_words, run_watch, worked_s
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import VerdictCount, verdict_counts
from recjudge_tui.tui.kit.charts import stacked
from recjudge_tui.tui.kit.glyphs import Glyphs, fit, middle, number, short_label
from recjudge_tui.tui.kit.title_rule import title_rule
from recjudge_tui.tui.runs.text import (
    Fact,
    RunStatus,
    clock,
    estimate_facts,
    facts_content,
    setup_facts,
    status_content,
    waiting_text,
)

_LONGEST_ERROR = 2000
_SYSTEMS = 12


class RunDetails(NamedTuple):
    """`counts`: the verdicts on each system or pair of systems by label."""

    watch: RunWatch
    counts: tuple[VerdictCount, ...]


def read_details(db: Database, run_id: int) -> RunDetails:
    """Reads every call and verdict of the run, so call it in a worker."""
    return RunDetails(run_watch(db, run_id, newest=20), tuple(verdict_counts(db, run_id)))


def details_content(
    details: RunDetails, status: RunStatus, differs: Sequence[str], width: int, look: Glyphs
) -> Content:
    watch = details.watch
    setup = [*setup_facts(watch, look), *estimate_facts(watch, look)]
    if differs:
        setup.append(("differs", f" {look.dot} ".join(differs)))
    parts = [
        ("Setup", facts_content(setup, width)),
        ("Calls and verdicts", _calls(watch, status, width, look)),
        *_verdicts(details, width, look),
        *_errors(watch, status, width, look),
    ]
    lines: list[Content] = []
    for title, text in parts:
        lines += [*([Content("")] if lines else []), title_rule(title, width, look), text]
    return Content("\n").join(lines)


def _calls(watch: RunWatch, status: RunStatus, width: int, look: Glyphs) -> Content:
    progress, active = watch.progress, status in ("running", "pausing", "stopping")
    finished, calls = progress.done + progress.failed, max(progress.calls, 1)
    done = (
        f"  {number(finished)} of {quantity(progress.calls, 'call')}  {clock(worked_s(watch, active=active))}"
    )
    lines = [Content.assemble(status_content(status, look), (done, "dim"))]
    if finished < progress.calls or progress.failed:
        failed = (progress.failed / calls, "x" if look.bar.isascii() else "▒", "$error")
        lines.append(stacked([(progress.done / calls, look.bar, "$success"), failed], width, look))
    if active and (waits := waiting_text(watch, look)):
        lines.append(Content.styled(waits, "bold $warning"))
    facts: list[Fact] = [("failed", number(progress.failed))] if progress.failed else []
    if progress.cached:
        facts.append(("cached", f"{number(progress.cached)} answers were already known"))
    if reused := reused_words(progress):
        facts.append(("prompts", reused))
    if watch.trouble.retried:
        facts.append(("retried", f"{number(watch.trouble.retried)} answered at a later attempt"))
    marked = watch.marked
    facts.append(("flagged", f"{quantity(marked.flagged, 'verdict')} with a flagged item"))
    if marked.both_orders:
        share = marked.flips / marked.both_orders
        facts.append(("flips", f"{share:.0%} of {number(marked.both_orders)} flip with the order"))
    return Content("\n").join([*lines, facts_content(facts, width)])


def _verdicts(details: RunDetails, width: int, look: Glyphs) -> list[tuple[str, Content]]:
    """A line for each system: wins, ties and losses, or how often it got each label."""
    watch, labels = details.watch, protocol_facts(details.watch.settings.protocol).labels
    heads: tuple[str, ...]
    rows: list[tuple[str, tuple[int, ...]]]
    if compares_lists(watch.settings.protocol):
        heads = ("won", "tied", "lost")
        rows = [(s.system, (s.won, s.tied, s.lost)) for s in watch.tallies]
    elif labels:
        heads = tuple(short_label(name) for name in labels.values())
        rows = _by_label(details.counts, tuple(labels))
    else:
        return []
    if not rows:
        return []
    cells = [max(len(head), *(len(number(row[1][at])) for row in rows)) + 2 for at, head in enumerate(heads)]
    longest = max(cell_len(one_line(system, 80)) for system, _ in rows[:_SYSTEMS])
    room = min(longest, max(width - sum(cells), 8))
    lines = [Content.styled(" " * room + "".join(map(str.rjust, heads, cells)), "dim")]
    for system, figures in rows[:_SYSTEMS]:
        name = fit(middle(one_line(system, 80), room, look), room, look)
        lines.append(Content(name + "".join(map(str.rjust, map(number, figures), cells))))
    if len(rows) > _SYSTEMS:
        lines.append(Content.styled(f"{number(len(rows) - _SYSTEMS)} more systems", "dim"))
    return [("Verdicts by system", Content("\n").join(lines))]


def _by_label(counts: Sequence[VerdictCount], values: Sequence[float]) -> list[tuple[str, tuple[int, ...]]]:
    """(system, its verdicts with each of the values), the system with the best mean first."""
    tallies: dict[str, dict[float, int]] = {}
    for count in counts:
        tally = tallies.setdefault(count.system_a, dict.fromkeys(values, 0))
        tally[count.value] = tally.get(count.value, 0) + count.verdicts
    means = {
        system: sum(v * n for v, n in tally.items()) / sum(tally.values())
        for system, tally in tallies.items()
    }
    order = sorted(tallies, key=lambda system: (-means[system], system))
    return [(system, tuple(tallies[system][value] for value in values)) for system in order]


def _errors(watch: RunWatch, status: RunStatus, width: int, look: Glyphs) -> list[tuple[str, Content]]:
    lines = []
    if status == "failed" and watch.error:
        lines.append(Content.styled(safe_text(watch.error[:_LONGEST_ERROR]), "$error"))
    for kind, count in watch.trouble.kinds:
        error = next((call.error for call in watch.failed if call.error_kind == kind), "")
        head = f"{number(count)} {look.times} {one_line(kind, 30).replace('_', ' ')}"
        lines += [Content.styled(head, "bold $error"), Content(one_line(error, 3 * width))]
    return [("Errors", Content("\n").join(lines))] if lines else []
