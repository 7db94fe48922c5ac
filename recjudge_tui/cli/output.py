"""What a command writes: tables, pages and text on stdout or in a file; narration, progress and next steps on stderr."""

from __future__ import annotations

import shlex
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import click

from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import UsageError

if TYPE_CHECKING:
    from recjudge_tui.domain.run import Progress
    from recjudge_tui.reports.common.table import Page, Table
    from recjudge_tui.steps import Action, Step
    from recjudge_tui.store.database import Database

    Output: TypeAlias = Table | Page | str

# what a command was asked, in click's `meta`
STDOUT = "recjudge.stdout"
COLUMNS = "recjudge.columns"


def narrate(text: str) -> None:
    """Print one line on stderr; text from the data is made safe for the terminal."""
    clear_line()
    click.echo(safe_text(text), err=True)


def names(text: str | None) -> tuple[str, ...]:
    """`A,B,C` as a tuple; () for nothing."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def open_db(db: str | None) -> Database:
    """The database that `--db` or the environment names; a missing file is created. Use it in a `with` block."""
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.schema import connect

    return connect(database_path(db), notify=narrate)


def how_to_resume(run_id: int) -> str:
    return f"to resume: recjudge runs resume {run_id}"


def stdout_asked() -> bool:
    """Whether the command was given `-o -`: commands that write a file by default must distinguish it from no `-o`."""
    return bool(click.get_current_context().meta.get(STDOUT))


def format_of(fmt: str | None, out: Path | None) -> str:
    """The requested format, else the one of the file's ending, text without one. Raises UsageError for an unknown ending."""
    if fmt or out is None or not out.suffix:
        return fmt or "text"
    from recjudge_tui.reports.common.table import format_of_file

    try:
        return format_of_file(out)
    except UsageError as error:
        raise UsageError(error.title, error.cause, f"{error.next_step[:-1]}, or --format.") from error


def put(output: Output, fmt: str | None, out: Path | None, *, whole: bool = False) -> None:
    """Write a table, page or text to stdout, or to a file with a line on stderr; a page with all rows if `whole`.
    Without a format, the file's ending decides. Text is already safe to show. Raises click.UsageError for a page as
    Parquet, which holds one table."""
    from recjudge_tui.reports.common.table import Table, put_text, save_text, write
    from recjudge_tui.reports.common.writers.data import save_table

    known = "text" if isinstance(output, str) else format_of(fmt, out)
    if isinstance(output, str):
        text = f"{output}\n" if output else ""
        put_text(text) if out is None else save_text(text, out)
    elif isinstance(output, Table):
        (table,) = _chosen_columns(output)
        table = _as_read(table, known, fits=known == "text" and out is None)
        if out is None:
            write(table, known)
        else:
            for note in save_table(table, known, out):
                narrate(note)
    elif known == "parquet":
        raise click.UsageError(
            "this report has several parts, and Parquet holds one table; use .json or .html"
        )
    else:
        tables = (
            _as_read(table, known, whole=whole and table.brief is None)
            for table in _chosen_columns(*output.tables)
        )
        write(replace(output, tables=tuple(tables)), known, out)
    if out is not None:
        narrate(f"written to {out}")


def _chosen_columns(*tables: Table) -> tuple[Table, ...]:
    from recjudge_tui.reports.common.rows import with_columns

    context = click.get_current_context(silent=True)
    wanted = names(context.meta.get(COLUMNS)) if context else ()
    return with_columns(tables, wanted) if wanted else tables


def _as_read(table: Table, fmt: str, *, whole: bool = False, fits: bool = False) -> Table:
    """The part of a table that people asked to read, with the options that show the rest; data formats have it all.
    `fits`: only as many rows as a screen shows."""
    from recjudge_tui.reports.common.rows import MOST_ROWS, readable
    from recjudge_tui.reports.common.table import render, stdout_screen

    meta = click.get_current_context().meta
    if fmt not in ("text", "plain", "md", "latex", "html"):
        return table
    asked_all = bool(meta.get("recjudge.all") or meta.get(COLUMNS))
    whole, explain = whole or asked_all, bool(meta.get("recjudge.explain"))
    notes = str(meta.get("recjudge.notes", "all"))
    screen = stdout_screen()

    def shown(most: int) -> Table:
        seen, left_out = readable(table, whole=whole, explain=explain, notes=notes, most=most)
        if left_out and fmt in ("text", "plain"):
            seen = _with_more(table, seen, asked_all, explain, notes)
        return with_commands(seen)

    seen = shown(MOST_ROWS)
    if whole or not fits or len(seen.rows) < 2:
        return seen

    def too_long(most: int) -> bool:
        # the prompt takes a line
        return render(shown(most), "text", screen).text.count("\n") >= screen.lines

    if not too_long(len(seen.rows)):
        return seen
    return shown(max(1, bisect_left(range(1, len(seen.rows)), True, key=too_long)))


def _with_more(table: Table, seen: Table, whole: bool, explain: bool, notes: str) -> Table:
    """What is shown of a table, with the options that show the rest of it."""
    from recjudge_tui.reports.common.table import definition, note_kind

    kinds = [note_kind(note) for note in table.notes]
    said = [note for note in seen.notes if note in table.notes and note_kind(note) != "definition"]
    more = [
        *([] if whole or (table.brief is None and len(table.rows) == len(seen.rows)) else ["--all"]),
        *(["--explain"] if "definition" in kinds and not explain else []),
        *(["--notes all"] if notes != "all" and len(said) < len(kinds) - kinds.count("definition") else []),
    ]
    return replace(seen, notes=(*seen.notes, definition(f"more: {' '.join(more)}"))) if more else seen


def with_commands(table: Table) -> Table:
    """The table, whose notes name the commands that take their next steps."""
    return replace(table, notes=tuple(_with_command(note) for note in table.notes))


def _with_command(note: str) -> str:
    """The note with the command that takes its next step, if it calls for one."""
    from recjudge_tui.reports.common.table import Note

    if not isinstance(note, Note) or note.step is None:
        return note
    project = click.get_current_context().params.get("project") or ""
    return Note(f"{note}: {command(note.step, project)}", note.kind)


_COMMANDS: Mapping[Action, str] = {
    "import": "recjudge import FILE... -p {project}",
    "import lists": "recjudge import FILE -p {project} --as lists",
    "import items": "recjudge import FILE -p {project} --as items",
    "import events": "recjudge import FILE -p {project} --as events",
    "import labels": "recjudge import FILE -p {project} --as labels",
    "judge": "recjudge run {protocol} -p {project} --judge {judge}",
    "label": "recjudge annotate plan -p {project} --protocol {protocol} --annotators {annotators}",
    "more labels": "recjudge annotate plan -p {project} --protocol {protocol} --annotators {annotators}",
    "retry": "recjudge runs retry {run}",
    "resume": "recjudge runs resume {run}",
    "robustness": "recjudge robustness adversarial -p {project} --judge {judge}",
    "position": "recjudge run {protocol} -p {project} --judge {judge} --swap",
    "planted": "recjudge robustness injected -p {project} --judge {judge}",
    "include readers": "--readers counts them",
    "choose": "{option} chooses another",
    "raise cap": "recjudge runs retry {run} --max-tokens N",
    "price": "add the price to prices.toml in the config folder",
    "whole": "--all shows the rest",
    "demo": "“recjudge import” or “recjudge demo” creates it",
    "restore": "restore a copy made by “recjudge db backup”, and keep the damaged file",
    "other file": "choose another file with --db or RECJUDGE_DB",
    "check texts": "recjudge doctor -p {project}",
    "list runs": "recjudge runs list",
    "list cases": "recjudge cases list -p {project}",
    "list imports": "recjudge imports list -p {project}",
    "list raters": "recjudge rater list -p {project}",
    "delete rater": "recjudge rater delete -p {project} {rater}",
    "answer tasks": "recjudge annotate open -p {project} --as {annotators}",
    "copy prompt": "recjudge prompt copy PROMPT FILE",
}  # fmt: skip
_PLACES = {
    "project": "NAME", "protocol": "pairwise", "judge": "JUDGE", "annotators": "YOU", "run": "ID", "rater": "NAME",
    "option": "--systems",
}  # fmt: skip


def command(step: Step, project: str = "") -> str:
    """The command that takes a step, with the names it is about and its options."""
    from recjudge_tui.domain.address import ADDRESS_OPTIONS
    from recjudge_tui.domain.run_options import RUN_OPTIONS

    known = {"project": project} if project else {}
    about = {name: shlex.quote(one_line(text, 400)) for name, text in {**known, **step.about}.items() if text}
    words = [_COMMANDS[step.action].format_map({**_PLACES, **about})]
    for name, value in step.options:
        option = ADDRESS_OPTIONS.get(name) or RUN_OPTIONS.get(name)
        words += [option.flag if option and option.flag else f"--{name}"]
        words += [shlex.quote(one_line(value, 400))] if value else []
    return " ".join(words)


# when the first line is written, and where there is no terminal how often after it
FIRST_S, PLAIN_EVERY_S = 2.0, 60.0
# how often a line on a terminal updates its seconds
TICK_S = 1.0
_CLEAR = "\r\x1b[K"


class _Line:
    """One line on stderr about work that takes its time: what, how far, and for how long. It begins after FIRST_S; on
    a terminal it is written over itself, elsewhere repeated once a minute. A line that is opened while this one is open
    stands in for it until it is closed."""

    _open: ClassVar[list[_Line]] = []
    _lock: ClassVar[threading.RLock] = threading.RLock()
    _is_shown: ClassVar[bool] = False

    def __init__(self, what: str) -> None:
        self._text = what
        self._share: float | None = None
        self._began = self._last = monotonic()
        self._plain_pause_s = 0.0
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
            if now - self._began < FIRST_S or now - self._last < pause_s or self._open[-1:] != [self]:
                return
            self._last, self._plain_pause_s = now, PLAIN_EVERY_S
            text, times = self._text, _times(now - self._began, self._share)
            if terminal:
                import shutil  # slow to load

                width = shutil.get_terminal_size().columns - 1
                room = max(width - len(times), 0)
                while len(text) > room and ", " in text:
                    text = text.rpartition(", ")[0]
                text = f"{_CLEAR}{(text[:room] + times)[:width]}"
            else:
                text += times
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


def _times(elapsed: float, share: float | None = None) -> str:
    """`, 12 s elapsed, about 30 s remaining`; The remaining time assumes that the rest proceeds
    at the pace so far."""
    from recjudge_tui.reports.runs import span

    left = f", about {span(elapsed * (1 - share) / share)} remaining" if share and share < 1 else ""
    return f", {span(elapsed)} elapsed{left}"


# work without a count: after FIRST_S, show the elapsed time
working = _Line


@contextmanager
def counting(what: str, unit: str) -> Iterator[Callable[..., None]]:
    """A counter. Call the result with the count so far, and with the count at the end if that is known."""

    def show(count: int, end: int | None = None) -> None:
        whole = "" if end is None else f" of {end:,}"
        line.show(f"{what}: {count:,}{whole} {unit}", count / end if end else None)

    with _Line(what) as line:
        yield show


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, float], None]]:
    """Progress of an import. Call the result with the rows read and the share of the files read so far, 0 to 1.

    It says nothing of rows until the first come, because all lists are read before the first is stored.
    """
    with _Line(f"reading {what}") as line:
        yield lambda rows, share: line.show(f"reading {what}: {rows:,} rows, {share:.0%}", share)


@contextmanager
def following_run(begin: Progress) -> Iterator[Callable[[Progress], None]]:
    """The progress of a run."""

    def words(now: Progress) -> str:
        return f"{now.done + now.failed}/{now.calls} calls{_said(now)}"

    with _Line(words(begin)) as line:
        yield lambda now: line.show(words(now))


def _said(now: Progress) -> str:
    """What the calls do, and about how long that will take. What a narrow line must not lose comes first: how long a run
    that does nothing waits, and why."""
    from recjudge_tui.reports.runs import span

    parts = [f"{now.failed} failed"]
    if now.unreachable:
        parts += ["server unreachable", f"retry in {now.retry_s:.0f} s"]
    elif now.waiting_s:
        parts.append(f"waiting {span(now.waiting_s)} as the server asked")
    elif now.left_s is not None:
        parts.append(f"about {span(now.left_s)} left")
    if now.in_flight or now.attempts:
        parts += [f"{now.in_flight} in flight", f"{now.attempts} attempts"]
    if now.cached:
        parts.append(f"{now.cached} from cache")
    if now.tokens_out:
        parts += [f"{now.tokens_in:,} tokens read", f"{now.tokens_out:,} written"]
    return ", ".join(["", *parts, *filter(None, [now.unreachable])])
