"""`recjudge batch`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import FiniteRange, address_options, db_option, narrate, open_db, trust_option
from recjudge_tui.cli.report_command import report_command
from recjudge_tui.files import scratch_folder

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.runs.batches.collect import ImportTally
    from recjudge_tui.store.database import Database

run_argument = click.argument("run_id", metavar="ID", type=int)
_file = click.Path(path_type=Path, dir_okay=False)


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


@click.group()
def batch() -> None:
    """Send a run's calls as a batch, by file or batch API.

    A file is for your own servers; the batch API is the provider's, at a lower price.

    Plan a run with “recjudge run … --plan-only”, or stop one. Then send its outstanding calls as a batch.
    """


@batch.command("export")
@run_argument
@click.option("-o", "out", required=True, metavar="FILE", type=_file, help="The file to write; - is stdout.")
@db_option
def export_(run_id: int, out: Path, db: str | None) -> None:
    """Write the outstanding calls of a run as a batch file (JSON lines), split into several files if needed.

    OpenAI's Batch API, “vllm run-batch”, gateways and “recjudge batch run” accept the file.

    \b
    Example:
      recjudge batch export 3 -o calls.jsonl
    """
    from recjudge_tui.cli.progress import counting
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.runs.batches.files import export_calls

    to_stdout = str(out) == "-"
    with open_db(db) as database, _file_or_stdout(out) as target, counting("exporting", "calls") as advance:
        done = export_calls(database, run_id, target, advance)
    if done.from_cache:
        narrate(f"{quantity(done.from_cache, 'call')} answered from stored replies")
    if done.away:
        narrate(f"left out: {quantity(done.away, 'call')} waiting in a batch at the provider")
    for path in () if to_stdout else done.files:
        narrate(f"written to {path}")
    # stdout is data
    click.echo(f"run {run_id}: {done.calls} calls exported in {len(done.files)} files", err=to_stdout)


@batch.command("import")
@run_argument
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_file)
@db_option
def import_(run_id: int, files: tuple[Path, ...], db: str | None) -> None:
    """Store the results of a batch from its result and error files.

    The files may be incomplete and come in any order. Importing a file twice changes nothing.

    \b
    Example:
      recjudge batch import 3 results.jsonl errors.jsonl
    """
    from recjudge_tui.cli.progress import counting
    from recjudge_tui.runs.batches.collect import import_results

    with open_db(db) as database:
        with counting("importing", "lines") as advance:
            tally = import_results(database, run_id, files, advance)
        _report(database, run_id, tally)
    if tally.broken and not (tally.done or tally.failed or tally.again or tally.already):
        raise click.exceptions.Exit(1)


@batch.command()
@run_argument
@trust_option
@db_option
def submit(run_id: int, db: str | None) -> None:
    """Send the outstanding calls of a run to its judge's provider as a batch. No call is sent twice.

    Works for openai:MODEL (the files and batches endpoints at its base URL) and anthropic:MODEL. You may close
    the terminal. “recjudge batch collect ID” stores the answers when they are ready, usually within 24 hours.

    \b
    Example:
      recjudge batch submit 3
    """
    from recjudge_tui.cli.progress import counting
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.reports.runs import cost_range
    from recjudge_tui.runs.batches.cost import batch_estimate
    from recjudge_tui.runs.batches.hosted import submit as submit_run

    with open_db(db) as database:
        expected = batch_estimate(database, run_id)
        calls = quantity(expected.calls, "call")
        narrate(f"{calls} as a batch · cost {cost_range(expected)} · time up to 24 h")
        with counting("writing", "calls") as advance:
            done = submit_run(database, run_id, tell=narrate, progress=advance)
    if done.from_cache:
        narrate(f"{quantity(done.from_cache, 'call')} answered from stored replies")
    earlier = f", {done.found_again} found again" if done.found_again else ""
    click.echo(f"run {run_id}: {done.calls} calls submitted in {done.batches} batches{earlier}")
    narrate(f"to store the answers: recjudge batch collect {run_id}")


@batch.command()
@run_argument
@trust_option
@report_command
def status(database: Database, run_id: int) -> Table:
    """Show the progress of a run's batches at the provider.

    \b
    Example:
      recjudge batch status 3
    """
    from recjudge_tui.reports.listings import batches
    from recjudge_tui.runs.batches.hosted import update_progress

    return batches(run_id, update_progress(database, run_id, narrate))


@batch.command()
@run_argument
@click.option(
    "--give-up",
    is_flag=True,
    help="Stop waiting, so that unanswered calls can be asked again. Then cancel the batch at the provider.",
)
@trust_option
@db_option
def collect(run_id: int, give_up: bool, db: str | None) -> None:
    """Store the answers of finished batches. You can repeat this at any time.

    \b
    Example:
      recjudge batch collect 3
    """
    from recjudge_tui.runs.batches import hosted as batch_hosted

    with open_db(db) as database:
        if give_up:
            click.echo(f"run {run_id}: {batch_hosted.give_up(database, run_id)} batches given up")
            return
        done = batch_hosted.collect(database, run_id, narrate)
        _report(database, run_id, done.results)
    if done.waiting:
        narrate(
            "1 batch has not finished yet"
            if done.waiting == 1
            else f"{done.waiting} batches have not finished yet"
        )


@batch.command()
@click.argument("source", metavar="FILE", type=_file)
@click.option(
    "-o",
    "out",
    required=True,
    metavar="FILE",
    type=_file,
    help="Result lines are appended to it. With stdout (-), they come at the end, and the command cannot be "
    "continued.",
)
@address_options
@click.option(
    "--concurrency",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="Calls at once over all servers.  [default: 8 per server]",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="S",
    help="Timeout of each attempt, in seconds.",
)
@click.option(
    "--ray",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Spread the file over a Ray cluster. Default address: RAY_ADDRESS, else a Ray started on this machine.",
)
def run(
    source: Path,
    out: Path,
    address: JudgeAddress,
    concurrency: int | None,
    timeout_s: float,
    ray: str | None,
) -> None:
    """Send every line of a batch file to your own servers and write the results. Needs no database.

    If it is interrupted, repeat the same command to continue.

    \b
    Example:
      recjudge batch run calls.jsonl -o results.jsonl --base-url http://gpu1:8000/v1 --base-url http://gpu2:8000/v1
      recjudge batch run calls.jsonl -o results.jsonl --base-url http://127.0.0.1:8000/v1 --ray head:6379
    """
    from recjudge_tui.cli.progress import counting
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.runs.batches.lines import Servers
    from recjudge_tui.runs.batches.run import run_file

    address.check()
    servers = Servers(address.base_urls, address.api_key_env, timeout_s, concurrency, address.header_env)
    to_stdout = str(out) == "-"
    with _file_or_stdout(out) as target, counting("answered", "calls") as advance:
        done = run_file(
            source,
            target,
            servers,
            ray_address=ray,
            progress=advance,
        )
    if done.before:
        narrate(f"{quantity(done.before, 'call')} answered by an earlier run")
    where = "stdout" if to_stdout else out
    click.echo(f"{done.done} answered, {done.failed} failed: {where}", err=to_stdout)


def _report(database: Database, run_id: int, tally: ImportTally) -> None:
    from recjudge_tui.reports.runs import outcome_line
    from recjudge_tui.store.runs import run_progress

    for line in tally.lines():
        narrate(line)
    click.echo(outcome_line(run_id, run_progress(database, run_id)))
