"""Progress of long work: bars when stderr is a terminal, plain lines when it is not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from recjudge_tui.domain.run import Progress

# how often a line is written where there is no terminal
PLAIN_EVERY_S = 60.0


@contextmanager
def counting(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A counter without a known end. Call the result with the count so far."""
    with _counter(what, unit) as advance:
        yield advance


@contextmanager
def counting_up_to(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A counter with an end. Call the result with the count so far and the count at the end."""
    with _counter(what, unit) as advance:
        yield advance


@contextmanager
def _counter(what: str, unit: str) -> Iterator[Callable[..., None]]:
    last = time.monotonic()
    shown = False

    def advance(count: int, end: int | None = None) -> None:
        nonlocal last, shown
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - last < (0.1 if terminal else PLAIN_EVERY_S):
            return
        last, shown = now, shown or terminal
        of = "" if end is None else f"of {end:,} "
        with suppress(OSError):  # nobody reads stderr any more; the work continues
            click.echo(
                f"{chr(13) if terminal else ''}{what}: {count:,} {of}{unit}", nl=not terminal, err=True
            )

    try:
        yield advance
    finally:
        if shown:
            click.echo(f"\r{' ' * 60}\r", nl=False, err=True)


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, float], None]]:
    """Progress of an import. Call the result with the rows read and the share of the files read so far, 0 to 1.

    A share that falls back starts a new bar.
    """
    if sys.stderr.isatty():
        with _reading_bar(what) as show:
            yield show
        return
    last = time.monotonic()

    def say(rows: int, share: float) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_EVERY_S:
            last = time.monotonic()
            with suppress(OSError):
                click.echo(f"reading {what}: {rows:,} rows, {share:.0%}", err=True)

    yield say


@contextmanager
def _reading_bar(what: str) -> Iterator[Callable[[int, float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(f"reading {what}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        # pulses until the first rows come, because all lists are read before the first is stored
        task = bar.add_task("", total=None, rows=0)
        yield lambda rows, share: bar.update(task, total=1.0, completed=share, rows=rows)


@contextmanager
def following_run(calls: int) -> Iterator[Callable[[Progress], None]]:
    """The progress of a run: a bar on a terminal, a line every few seconds elsewhere."""
    if sys.stderr.isatty():
        with _bar(calls) as show:
            yield show
        return
    last = time.monotonic()

    def say(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_EVERY_S:
            last = time.monotonic()
            line = f"{progress.done + progress.failed}/{progress.calls} calls, {progress.failed} failed{_waiting(progress)}"
            with suppress(OSError):  # nobody reads stderr any more; the run continues
                click.echo(line, err=True)

    yield say


def _waiting(progress: Progress) -> str:
    """The pause that the server asked for, so that a run that does nothing says why."""
    if not progress.waiting_s:
        return ""
    left = f"{progress.waiting_s:.0f} s" if progress.waiting_s < 90 else f"{progress.waiting_s / 60:.0f} min"
    return f", waiting {left} more because the server asked for a pause"


@contextmanager
def _bar(calls: int) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(
            "calls · {task.fields[failed]} failed · {task.fields[cached]} from cache{task.fields[waiting]}"
        ),
        TimeRemainingColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=calls, failed=0, cached=0, waiting="")

    def show(progress: Progress) -> None:
        with suppress(OSError):
            bar.update(
                task,
                completed=progress.done + progress.failed,
                failed=progress.failed,
                cached=progress.cached,
                waiting=_waiting(progress),
            )

    # when the terminal goes away, the run continues without it
    with suppress(OSError):
        bar.start()
    try:
        yield show
    finally:
        with suppress(OSError):
            bar.stop()
