"""Sends a batch file live to one or more servers, directly or from a Ray cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from recjudge_tui.errors import InputError, JudgeError, RunError, UsageError
from recjudge_tui.files import refuse_database
from recjudge_tui.judges.batch.lines import LineFault, RequestLine, read_request, read_result
from recjudge_tui.runs.batches.lines import FATAL, Result, Servers, ask_lines
from recjudge_tui.runs.control import retries


class FileProgress(NamedTuple):
    """How many calls of a batch file are done. `before` were answered by an earlier run with the same output."""

    done: int
    failed: int
    before: int


class PendingLines(NamedTuple):
    """The lines of a batch file that its output does not answer yet."""

    source: Path
    calls: int
    answered: frozenset[str]

    def lines(self) -> Iterator[RequestLine]:
        for line in read_requests(self.source):
            if line.custom_id not in self.answered:
                yield line


def run_file(
    source: Path,
    out: Path,
    servers: Servers,
    *,
    ray_address: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> FileProgress:
    """Send every line of a batch file and append the results to `out` as they arrive.

    Lines with a reply in `out` are not sent again, so an interrupted command can be repeated; lines with an
    error in `out` are. `ray_address`: None sends from this process, `local` from a Ray started here, anything else
    from that cluster. Raises InputError for a bad line (before anything is sent), JudgeError when the server cannot
    be used or many calls in a row fail.
    """
    if not servers.urls:
        raise UsageError("no server was named", next_step="Name one or more with --base-url URL.")
    refuse_database(out)
    pending = _pending(source, out)
    try:
        with out.open("a", encoding="utf-8") as file:
            output = _Output(file, progress)
            if ray_address is None:
                asyncio.run(ask_lines(pending.lines(), servers, output.take))
            else:
                from recjudge_tui.runs.batches.ray import ask_by_ray

                ask_by_ray(pending.lines(), pending.calls, servers, ray_address, output.take)
    except OSError as problem:
        raise RunError(f"{out} cannot be written", f"{problem.strerror}.") from problem
    return FileProgress(output.done, output.failed, len(pending.answered))


def read_requests(source: Path) -> Iterator[RequestLine]:
    """The lines of a batch file. Raises InputError with file and line number for a bad one."""
    try:
        with source.open("rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    try:
                        yield read_request(raw)
                    except LineFault as fault:
                        raise InputError(
                            f"{source}:{number} is not a line of a batch file", f"{fault}."
                        ) from None
    except OSError as error:
        raise InputError(f"{source} cannot be read", f"{error.strerror}.") from error


def _pending(source: Path, out: Path) -> PendingLines:
    names: set[str] = set()
    for line in read_requests(source):
        if line.custom_id in names:
            raise InputError(
                f"{source} contains the custom_id “{line.custom_id}” twice",
                "Their results could not be told apart.",
            )
        names.add(line.custom_id)
    answered = frozenset(_answered(out) & names)
    return PendingLines(source, len(names) - len(answered), answered)


def _answered(out: Path) -> set[str]:
    """The names that have a reply in the output. A last line that a crash cut short is removed from the file."""
    names: set[str] = set()
    if not out.exists():
        return names
    whole = 0
    with out.open("r+b") as file:
        for raw in file:
            if not raw.endswith(b"\n"):
                break
            whole += len(raw)
            try:
                result = read_result(raw)
            except LineFault as fault:
                raise UsageError(
                    f"{out} is not the output of a batch file", f"{fault}.", "Name another -o FILE."
                ) from None
            if result.body is not None:
                names.add(result.custom_id)
        file.truncate(whole)
    return names


class _Output:
    """Writes result lines as they arrive, and stops when further calls are useless."""

    def __init__(self, file: TextIO, progress: Callable[[int], None] | None) -> None:
        self.done = self.failed = self._in_a_row = 0
        self._file = file
        self._progress = progress

    def take(self, result: Result) -> None:
        """Write one line. Raises JudgeError when no further call can work, or many calls in a row failed."""
        error = result["error"]
        if error and error["code"] == FATAL:
            raise JudgeError("the servers cannot be used", error["message"])
        self._file.write(json.dumps(result, ensure_ascii=False) + "\n")
        self._file.flush()
        if error is None:
            self.done, self._in_a_row = self.done + 1, 0
        else:
            self.failed, self._in_a_row = self.failed + 1, self._in_a_row + 1
        if self._in_a_row >= retries.FAILURES_IN_A_ROW:
            raise JudgeError(
                f"{retries.FAILURES_IN_A_ROW} calls in a row failed",
                f"The last error: {error['message']}",
                "Fix the cause and repeat the same command. It continues where it stopped.",
            )
        if self._progress:
            self._progress(self.done + self.failed)
