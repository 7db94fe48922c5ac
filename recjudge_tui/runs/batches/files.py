"""The outstanding calls of a run as batch files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.files import refuse_database
from recjudge_tui.judges.batch.lines import JSONL, Shape
from recjudge_tui.runs.batches.context import BatchRun, held_run, outgoing
from recjudge_tui.store.batches import NamedCall, batches_of, name_calls
from recjudge_tui.store.database import Database


class Part(NamedTuple):
    """One file of calls, whole."""

    path: Path
    call_ids: tuple[int, ...]


class ExportSummary(NamedTuple):
    """The exported calls. `away` calls are in a batch at a provider and were left out."""

    files: tuple[Path, ...]
    calls: int
    from_cache: int
    away: int


def export_calls(
    db: Database, run_id: int, out: Path, progress: Callable[[int], None] | None = None, shape: Shape = JSONL
) -> ExportSummary:
    """Write the outstanding calls of a run to `out`, or to numbered parts beside it when one cannot hold them.

    The calls' names are committed before the first line is written, and a call without an answer keeps its name when
    it is exported again. A call with a stored reply is answered and not exported. Files appear complete or
    not at all. Raises UsageError for a judge whose calls cannot be written to a file, RunError while another process
    works on the run.
    """
    refuse_database(out)
    with held_run(db, run_id) as run:
        if run.setup.spec.provider != "openai":
            raise UsageError(
                f"a batch file cannot hold calls for “{run.setup.spec.spec}”",
                next_step=f"Send them with “recjudge batch submit {run_id}”.",
            )
        name_calls(db, run_id)
        away = sum(row["calls"] for row in batches_of(db, run_id, "planned", "submitted"))
        cached: list[int] = []
        try:
            parts = list(write_parts(run, counted(outgoing(run, cached), progress), shape, out))
            files = _named(parts, out)
        except OSError as error:
            raise RunError(f"{out} cannot be written", f"{error.strerror}.") from error
        return ExportSummary(files, sum(len(part.call_ids) for part in parts), len(cached), away)


def write_parts(
    run: BatchRun, calls: Iterable[tuple[NamedCall, bytes]], shape: Shape, out: Path
) -> Iterator[Part]:
    """Files beside `out` (`NAME.part1`, ...) that hold the calls in order, each within the limits of `shape`.

    A part is yielded when it is closed. Raises RunError for a call that is too large for any part.
    """
    number, pending = 0, iter(calls)
    first = next(pending, None)
    while first is not None:
        number += 1
        path = out.with_name(f"{out.name}.part{number}")
        call_ids: list[int] = []
        size = len(shape.head) + len(shape.tail)
        with path.open("wb") as file:
            file.write(shape.head)
            while first is not None:
                call, body = first
                line = shape.line(call.custom_id, run.judge.batch_path, body)
                line = (shape.between if call_ids else b"") + line
                if size + len(line) > shape.max_bytes or len(call_ids) == shape.max_calls:
                    break
                size += file.write(line)
                call_ids.append(call.key.id)
                first = next(pending, None)
            file.write(shape.tail)
        if not call_ids:
            path.unlink()
            raise RunError("a call is too large for a batch", f"It has {size + len(line):,} bytes.")
        yield Part(path, tuple(call_ids))


def _named(parts: list[Part], out: Path) -> tuple[Path, ...]:
    """Give the parts their names: `out` for a single one, else `out` with a number before its suffix."""
    width = max(2, len(str(len(parts))))
    names = [
        out.with_name(f"{out.stem}-{number:0{width}d}{out.suffix}") for number in range(1, len(parts) + 1)
    ]
    chosen = [out] if len(parts) == 1 else names
    for name in chosen:
        refuse_database(name)
    return tuple(part.path.replace(name) for part, name in zip(parts, chosen, strict=True))


def counted(
    calls: Iterable[tuple[NamedCall, bytes]], progress: Callable[[int], None] | None
) -> Iterator[tuple[NamedCall, bytes]]:
    for number, call in enumerate(calls, 1):
        yield call
        if progress:
            progress(number)
