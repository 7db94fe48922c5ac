"""Progress of long work: bars when stderr is a terminal, plain lines when it is not."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

import click

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from recjudge_tui.domain.run import Progress

# where there is no terminal: when the first line is written, and how often after it
PLAIN_FIRST_S, PLAIN_EVERY_S = 1.0, 60.0
# how often a line on a terminal updates its seconds
TICK_S = 1.0
_CLEAR = "\r\x1b[K"


class _Line:
    """One line on stderr about work that takes its time: what, how far, and for how long.

    On a terminal it is written over itself, elsewhere after a second and then once a minute. A line or bar that is opened
    while this one is open stands in for it until it is closed.
    """

    _open: ClassVar[list[_Line | None]] = []
    _lock: ClassVar[threading.RLock] = threading.RLock()
    _is_shown: ClassVar[bool] = False

    def __init__(self, what: str) -> None:
        self._text = what
        self._share: float | None = None
        self._began = self._last = monotonic()
        self._plain_pause_s = PLAIN_FIRST_S
        self._is_closed = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def show(self, text: str, share: float | None = None) -> None:
        """Show the progress so far; `share` of the work is done, if that is known."""
        self._text, self._share = text, share
        self._write_after(0.1)

    def _tick(self) -> None:
        while not self._is_closed.wait(TICK_S):
            self._write_after(TICK_S)

    def _write_after(self, pause_s: float) -> None:
        with self._lock:
            terminal = sys.stderr.isatty()
            now = monotonic()
            pause_s = pause_s if terminal else self._plain_pause_s
            if now - self._last < pause_s or self._open[-1:] != [self]:
                return
            self._last, self._plain_pause_s = now, PLAIN_EVERY_S
            text = f"{self._text}{_times(now - self._began, self._share)}"
            if terminal:
                text = _CLEAR + text[: shutil.get_terminal_size().columns - 1]
            with suppress(OSError):  # nobody reads stderr any more; the work continues
                click.echo(text, nl=not terminal, err=True)
            _Line._is_shown = terminal

    def __enter__(self) -> _Line:
        with self._lock:
            self._open.append(self)
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_closed.set()
        with self._lock:
            self._open.remove(self)
            clear_line()
        self._ticker.join()


def clear_line() -> None:
    """Clear the progress line, so that other text can be written there."""
    with _Line._lock:
        if _Line._is_shown:
            _Line._is_shown = False
            with suppress(OSError):
                click.echo(_CLEAR, nl=False, err=True)


@contextmanager
def _in_place_of_lines() -> Iterator[None]:
    """No progress line is written while a bar is shown."""
    clear_line()
    _Line._open.append(None)
    try:
        yield
    finally:
        _Line._open.remove(None)


def _times(elapsed: float, share: float | None = None) -> str:
    """`, 12 s elapsed, about 30 s remaining`; empty in the first second. The remaining time assumes that the rest proceeds
    at the pace so far."""
    from recjudge_tui.reports.runs import span

    if elapsed < 1:
        return ""
    left = f", about {span(elapsed * (1 - share) / share)} remaining" if share and share < 1 else ""
    return f", {span(elapsed)} elapsed{left}"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Work without a count: after a second, show the elapsed time."""
    with _Line(what):
        yield


@contextmanager
def counting(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A counter without a known end. Call the result with the count so far."""
    with _Line(what) as line:
        yield lambda count: line.show(f"{what}: {count:,} {unit}")


@contextmanager
def counting_up_to(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A counter with an end. Call the result with the count so far and the count at the end."""
    with _Line(what) as line:
        yield lambda count, end: line.show(
            f"{what}: {count:,} of {end:,} {unit}", count / end if end else None
        )


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, float], None]]:
    """Progress of an import. Call the result with the rows read and the share of the files read so far, 0 to 1.

    A share that falls back starts a new bar.
    """
    if sys.stderr.isatty():
        with _in_place_of_lines(), _reading_bar(what) as show:
            yield show
        return
    with _Line(f"reading {what}") as line:
        yield lambda rows, share: line.show(f"reading {what}: {rows:,} rows, {share:.0%}", share)


@contextmanager
def _reading_bar(what: str) -> Iterator[Callable[[int, float], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(f"reading {what}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        *_time_columns(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        # pulses until the first rows come, because all lists are read before the first is stored
        task = bar.add_task("", total=None, rows=0)
        yield lambda rows, share: bar.update(task, total=1.0, completed=share, rows=rows)


@contextmanager
def following_run(begin: Progress) -> Iterator[Callable[[Progress], None]]:
    """The progress of a run: a bar on a terminal, a line a minute elsewhere."""
    if sys.stderr.isatty():
        with _in_place_of_lines(), _bar(begin.calls) as show:
            yield show
        return
    # calls made by an earlier process do not count towards the rate
    before = begin.done + begin.failed

    def say(progress: Progress) -> None:
        share = (progress.done + progress.failed - before) / max(progress.calls - before, 1)
        line.show(_calls(progress), share)

    with _Line(_calls(begin)) as line:
        yield say


def _calls(progress: Progress) -> str:
    finished = progress.done + progress.failed
    return f"{finished}/{progress.calls} calls, {progress.failed} failed{_waiting(progress)}"


def _waiting(progress: Progress) -> str:
    """The pause that the server asked for, so that a run that does nothing says why."""
    if not progress.waiting_s:
        return ""
    left = f"{progress.waiting_s:.0f} s" if progress.waiting_s < 90 else f"{progress.waiting_s / 60:.0f} min"
    return f", waiting {left} more because the server asked for a pause"


def _time_columns() -> tuple[ProgressColumn, ...]:
    """`0:00:12 elapsed, 0:00:30 remaining`."""
    from rich.progress import TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return TimeElapsedColumn(), TextColumn("elapsed,"), TimeRemainingColumn(), TextColumn("remaining")


@contextmanager
def _bar(calls: int) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(
            "calls · {task.fields[failed]} failed · {task.fields[cached]} from cache{task.fields[waiting]}"
        ),
        *_time_columns(),
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
