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

# how often a line is written where there is no terminal
PLAIN_EVERY_S = 60.0
# how often a line on a terminal counts its seconds
TICK_S = 1.0
_CLEAR = "\r\x1b[K"


class _Line:
    """One line on stderr about work that takes its time: what, how far, and for how long.

    On a terminal it is written over itself, elsewhere as a line a minute. A line or bar that is opened while this one is
    open stands in for it until it is closed.
    """

    _open: ClassVar[list[_Line | None]] = []
    _lock: ClassVar[threading.RLock] = threading.RLock()
    _is_shown: ClassVar[bool] = False

    def __init__(self, what: str, unit: str = "") -> None:
        self._what, self._unit = what, unit
        self._count: int | None = None
        self._end: int | None = None
        self._began = self._last = monotonic()
        self._is_closed = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)

    def advance(self, count: int, end: int | None = None) -> None:
        self._count, self._end = count, end
        self._write_after(0.1)

    def _tick(self) -> None:
        while not self._is_closed.wait(TICK_S):
            self._write_after(TICK_S)

    def _write_after(self, pause_s: float) -> None:
        with self._lock:
            terminal = sys.stderr.isatty()
            now = monotonic()
            if now - self._last < (pause_s if terminal else PLAIN_EVERY_S) or self._open[-1:] != [self]:
                return
            self._last = now
            with suppress(OSError):  # nobody reads stderr any more; the work continues
                click.echo(f"{_CLEAR if terminal else ''}{self._text(now)}", nl=not terminal, err=True)
            _Line._is_shown = terminal

    def _text(self, now: float) -> str:
        far = "" if self._count is None else f": {self._count:,} {self._unit}"
        share = None
        if self._count is not None and self._end:
            far, share = f": {self._count:,} of {self._end:,} {self._unit}", self._count / self._end
        text = f"{self._what}{far}{_times(now - self._began, share)}"
        return text[: shutil.get_terminal_size().columns - 1] if sys.stderr.isatty() else text

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
    """Take the line of work off the terminal, so that another text can be written there."""
    with _Line._lock:
        if _Line._is_shown:
            _Line._is_shown = False
            with suppress(OSError):
                click.echo(_CLEAR, nl=False, err=True)


@contextmanager
def _in_place_of_lines() -> Iterator[None]:
    """No line of work is written meanwhile, because a bar is."""
    clear_line()
    _Line._open.append(None)
    try:
        yield
    finally:
        _Line._open.remove(None)


def _times(elapsed: float, share: float | None = None) -> str:
    """`, 12 s elapsed, about 30 s remaining`: what is left if the rest takes as long as the `share` done; empty in the
    first second."""
    from recjudge_tui.reports.projects.estimate import span

    if elapsed < 1:
        return ""
    left = f", about {span(elapsed * (1 - share) / share)} remaining" if share and share < 1 else ""
    return f", {span(elapsed)} elapsed{left}"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Work without a count: after a second, for how long it has been going on."""
    with _Line(what):
        yield


@contextmanager
def counting(what: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A counter without a known end. Call the result with the count so far."""
    with _Line(what, unit) as line:
        yield line.advance


@contextmanager
def counting_up_to(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A counter with an end. Call the result with the count so far and the count at the end."""
    with _Line(what, unit) as line:
        yield line.advance


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, float], None]]:
    """Progress of an import. Call the result with the rows read and the share of the files read so far, 0 to 1.

    A share that falls back starts a new bar.
    """
    if sys.stderr.isatty():
        with _in_place_of_lines(), _reading_bar(what) as show:
            yield show
        return
    began = last = monotonic()

    def say(rows: int, share: float) -> None:
        nonlocal last
        if monotonic() - last >= PLAIN_EVERY_S:
            last = monotonic()
            with suppress(OSError):
                click.echo(
                    f"reading {what}: {rows:,} rows, {share:.0%}{_times(last - began, share)}", err=True
                )

    yield say


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
def following_run(calls: int) -> Iterator[Callable[[Progress], None]]:
    """The progress of a run: a bar on a terminal, a line every few seconds elsewhere."""
    if sys.stderr.isatty():
        with _in_place_of_lines(), _bar(calls) as show:
            yield show
        return
    began = last = monotonic()
    before: int | None = None

    def say(progress: Progress) -> None:
        nonlocal last, before
        # what an earlier process did took none of this time
        before = progress.done + progress.failed if before is None else before
        if monotonic() - last >= PLAIN_EVERY_S:
            last = monotonic()
            finished = progress.done + progress.failed
            line = f"{finished}/{progress.calls} calls, {progress.failed} failed{_waiting(progress)}"
            line += _times(last - began, (finished - before) / max(progress.calls - before, 1))
            with suppress(OSError):  # nobody reads stderr any more; the run continues
                click.echo(line, err=True)

    yield say


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
