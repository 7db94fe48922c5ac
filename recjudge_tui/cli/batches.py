"""The commands `batch`: calls sent by file, or at a provider."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.output import counting, narrate
from recjudge_tui.domain.text import quantity
from recjudge_tui.files import scratch_folder
from recjudge_tui.reports import listings
from recjudge_tui.reports.runs import cost_range, outcome_line
from recjudge_tui.runs import batch
from recjudge_tui.store.runs import run_progress

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@contextmanager
def _file_or_stdout(out: Path) -> Iterator[Path]:
    """The file itself; for `-` one beside others that are not kept, whose lines go to stdout when the block ends."""
    if str(out) != "-":
        yield out
        return
    with scratch_folder() as folder:
        draft = folder / "stdout.jsonl"
        yield draft
        for path in sorted(folder.glob("*.jsonl")):
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)


def batch_export(database: Database, run_id: int, out: Path) -> None:
    to_stdout = str(out) == "-"
    with _file_or_stdout(out) as target, counting("exporting", "calls") as advance:
        done = batch.export_calls(database, run_id, target, advance)
    if done.from_cache:
        narrate(f"{quantity(done.from_cache, 'call')} answered from stored replies")
    if done.away:
        narrate(f"left out: {quantity(done.away, 'call')} waiting in a batch at the provider")
    for path in () if to_stdout else done.files:
        narrate(f"written to {path}")
    # stdout is data
    click.echo(f"run {run_id}: {done.calls} calls exported in {len(done.files)} files", err=to_stdout)


def batch_import(database: Database, run_id: int, files: tuple[Path, ...]) -> None:
    with counting("importing", "lines") as advance:
        tally = batch.import_results(database, run_id, files, advance)
    _report(database, run_id, tally)
    if tally.broken and not (tally.done or tally.failed or tally.again or tally.already):
        raise click.exceptions.Exit(1)


def batch_submit(database: Database, run_id: int) -> None:
    expected = batch.batch_estimate(database, run_id)
    calls = quantity(expected.calls, "call")
    narrate(f"{calls} as a batch · cost {cost_range(expected)} · time up to 24 h")
    with counting("writing", "calls") as advance:
        done = batch.submit(database, run_id, tell=narrate, progress=advance)
    if done.from_cache:
        narrate(f"{quantity(done.from_cache, 'call')} answered from stored replies")
    earlier = f", {done.found_again} found again" if done.found_again else ""
    click.echo(f"run {run_id}: {done.calls} calls submitted in {done.batches} batches{earlier}")
    narrate(f"to store the answers: recjudge batch collect {run_id}")


def batch_status(database: Database, run_id: int) -> Table:
    return listings.batches(run_id, batch.update_progress(database, run_id, narrate))


def batch_collect(database: Database, run_id: int, give_up: bool) -> None:
    if give_up:
        click.echo(f"run {run_id}: {batch.give_up(database, run_id)} batches given up")
        return
    done = batch.collect(database, run_id, narrate)
    _report(database, run_id, done)
    if done.waiting:
        have = "1 batch has" if done.waiting == 1 else f"{done.waiting} batches have"
        narrate(f"{have} not finished yet")


def _report(database: Database, run_id: int, tally: batch.ImportTally) -> None:
    why = ", ".join(f"{n:,} × {kind}" for kind, n in tally.reasons.items())
    counts = {
        "answered": tally.done,
        f"failed ({why})": tally.failed,
        "to be sent again: not processed by the server, or the answer cannot be used": tally.again,
        "already answered": tally.already,
        "not of this run": tally.unknown,
        "broken lines": tally.broken,
    }
    last = ["stopped before the end; import the files again"] if tally.stopped else []
    first = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "no lines"
    for line in (first, *tally.notes, *last):
        narrate(line)
    click.echo(outcome_line(run_id, run_progress(database, run_id)))


def batch_run(
    source: Path, out: Path, address: JudgeAddress, concurrency: int | None, timeout_s: float, ray: str | None
) -> None:
    from recjudge_tui.runs.batch_file import Servers, run_file

    address.check()
    servers = Servers(address.base_urls, address.api_key_env, timeout_s, concurrency, address.header_env)
    to_stdout = str(out) == "-"
    with _file_or_stdout(out) as target, counting("answered", "calls") as advance:
        done = run_file(source, target, servers, ray_address=ray, progress=advance)
    if done.before:
        narrate(f"{quantity(done.before, 'call')} answered by an earlier run")
    click.echo(f"{done.done} answered, {done.failed} failed: {'stdout' if to_stdout else out}", err=to_stdout)
