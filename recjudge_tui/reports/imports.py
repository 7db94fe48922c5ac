"""What an import read and stored, in lines: for a command, and below the form before anything is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recjudge_tui.domain.imports import EXAMPLES, ImportSummary
from recjudge_tui.domain.text import quantity


def summary_lines(summaries: Sequence[ImportSummary], *, dry_run: bool, rows: bool = False) -> Iterator[str]:
    """What was read as what, with its counts and warnings, and what matters next about the data of the project; with `rows`
    also the first new records."""
    yield from summaries[0].aside
    for summary in summaries:
        for line in _lines(summary, dry_run, rows):
            yield line if len(summaries) == 1 else f"{summary.kind}: {line}"
    if (facts := summaries[0].facts) is not None:
        known = [
            (facts.users, f"{facts.ready:,} of {facts.users:,} users with lists have a history"),
            (facts.lists, f"{facts.untitled:,} of {facts.lists:,} lists have items without a title"),
            (facts.labels, f"{facts.on_lists:,} of {facts.labels:,} labels are on a case with its lists or text"),
        ]  # fmt: skip
        if parts := [text for count, text in known if count]:
            yield f"project {summaries[0].project}: {' · '.join(parts)}"


def _lines(summary: ImportSummary, dry_run: bool, rows: bool) -> Iterator[str]:
    """The counts of rows of each file, then the first warnings, then the number of warnings of each kind."""
    verb = "would be stored" if dry_run else "stored"
    for file in summary.files:
        if file.earlier is not None:
            day = file.earlier_at[:10]
            yield f"{file.path}: already imported on {day} as import {file.earlier} of this project, nothing changed"
        else:
            number = "" if dry_run else f" · import {file.import_id}"
            yield (
                f"{file.path}: {quantity(file.read, 'row')} read, {file.stored:,} {verb},"
                f" {file.skipped:,} skipped, {file.unchanged:,} unchanged · layout {file.layout}{number}"
            )
            if file.columns:
                yield f"  columns: {file.columns}"
            yield from (f"  {remark}" for remark in file.remarks)
    if rows:
        yield from first_rows([summary])
    yield from summary.warnings
    total = summary.warning_count
    if total > len(summary.warnings):
        yield f"… and {total - len(summary.warnings):,} more warnings"
    for kind, count in summary.warning_kinds.items():
        yield f"{count:,} × {kind}"
    yield from summary.notes


def first_rows(summaries: Sequence[ImportSummary]) -> Iterator[str]:
    """The first new records of each kind."""
    for summary in summaries:
        examples = [example for file in summary.files for example in file.examples][:EXAMPLES]
        yield f"{summary.kind}{f', the first {len(examples)}:' if examples else ': nothing new'}"
        yield from (f"  {example}" for example in examples)
