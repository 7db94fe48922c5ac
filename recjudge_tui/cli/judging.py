"""Commands about judges and prompts: `judge`, `prompt`, `batch`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from recjudge_tui.cli.command import PrintedWithExit, database_report, in_database, in_project, project_report
from recjudge_tui.cli.options import (
    FiniteRange,
    address_options,
    chosen_judge,
    db_option,
    server_options,
    setting_options,
    table_options,
    trust_option,
)
from recjudge_tui.cli.output import counting, narrate, open_db, put
from recjudge_tui.errors import UsageError
from recjudge_tui.files import scratch_folder

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.runs.batch import ImportTally
    from recjudge_tui.store.database import Database


@click.group()
def judge() -> None:
    """List or test judges."""


@judge.command("list")
@database_report
@click.option("--base-url", metavar="URL", default="", help="The Ollama server to ask.")
def judge_list(database: Database, base_url: str) -> Table:
    """List the judges available here: built in, on Ollama and other servers of this machine, and used before.

    For an API key, it shows the variable's name and whether it is set, never the key.

    Example:
      recjudge judge list
    """
    from recjudge_tui.reports.judges import judges_table

    return judges_table(database, base_url)


@judge.command("test")
@click.argument("spec", metavar="SPEC")
@server_options
@db_option
@table_options
def judge_test(
    spec: str, address: JudgeAddress, timeout_s: float, db: str | None, fmt: str | None, out: Path | None
) -> None:
    """Find out what a judge supports, with three small calls and one with an image.

    Prints whether the judge can be reached, the model that is served, whether the server enforces a schema, which
    parameters it accepts, logprobs, whether the model reads a word in an image, context length, latency and price. The
    result is stored. Later runs leave out refused parameters, read confidences from logprobs and refuse --images to a
    model that did not read the word, and estimates use the latency until a run has measured its own. Test again after
    a change; the new result replaces the old one.

    \b
    Example:
      recjudge judge test openai:gpt-4o-mini
      recjudge judge test openai:qwen3 --base-url http://127.0.0.1:8080/v1
    """
    from recjudge_tui.errors import JudgeError
    from recjudge_tui.prompting.trial import probe
    from recjudge_tui.reports.judges import probe_table
    from recjudge_tui.store.runs import save_capabilities

    judge_spec = chosen_judge(spec, address)
    with open_db(db) as database:
        try:
            capabilities = probe(judge_spec, timeout_s)
        except JudgeError:
            put(probe_table(judge_spec, None, ""), fmt, out)
            raise
        save_capabilities(database, judge_spec, capabilities)
        put(probe_table(judge_spec, capabilities, _price(judge_spec)), fmt, out)


def _price(judge_spec: JudgeSpec) -> str:
    from recjudge_tui.runs.prices import price_of

    price = price_of(judge_spec)
    if price is None:
        return "unknown; add it to prices.toml"
    if price.source == "local":
        return "none (local server)"
    read, written = (1000 * price.cost(*tokens) for tokens in ((1000, 0), (0, 1000)))
    return f"${read:g} in, ${written:g} out per million tokens ({price.source})"


@click.group()
def prompt() -> None:
    """List, show, copy, check, try or delete prompts."""


@prompt.command("list")
@database_report
def prompt_list(database: Database) -> Table:
    """List all prompts with their versions.

    Example:
      recjudge prompt list
    """
    from recjudge_tui.reports.listings import prompts
    from recjudge_tui.store.prompts import load_shipped

    load_shipped(database)
    return prompts(database)


@prompt.command("show")
@in_database
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--case", "case_id", type=int, metavar="ID", help="Render the prompt for this case.")
@click.option(
    "--as-published", is_flag=True, help="With --case: in the form of “recjudge run --as-published”."
)
def prompt_show(database: Database, name: str, case_id: int | None, as_published: bool) -> None:
    """Print a prompt as TOML, or with --case as the text that a judge would receive for one case.

    Example:
      recjudge prompt show pairwise-media --case 12
      recjudge prompt show arena-media --case 12 --as-published
    """
    from recjudge_tui.domain.text import safe_text
    from recjudge_tui.prompting.trial import request_now
    from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_text

    if as_published and case_id is None:
        raise click.UsageError("--as-published needs --case ID: the form shows in the text of a case")
    load_shipped(database)
    if case_id is None:
        click.echo(safe_text(prompt_text(database, name)))
        return
    chosen = get_prompt(database, name)[2]
    for message in request_now(database, chosen, case_id, as_published=as_published).messages:
        click.echo(f"--- {message.role}")
        click.echo(safe_text(message.content))


@prompt.command("copy")
@in_database
@click.argument("name", metavar="NAME[@VERSION]")
@click.argument("file", type=click.Path(path_type=Path))
def prompt_copy(database: Database, name: str, file: Path) -> None:
    """Copy a prompt to a file, so that you can make your own. The copy gets the file's name.

    Example:
      recjudge prompt copy pairwise-shopping mine.toml
    """
    from recjudge_tui.store.prompts import copy_prompt, load_shipped

    load_shipped(database)
    own = copy_prompt(database, name, file)
    narrate(f"written to {file} under the name “{own}”; edit it, then: recjudge prompt add {file}")


@prompt.command("diff")
@in_database
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
def prompt_diff(database: Database, first: str, second: str) -> None:
    """Show the differences between two prompts or versions.

    Example:
      recjudge prompt diff pairwise-media@1 pairwise-media@2
    """
    from recjudge_tui.domain.text import safe_text
    from recjudge_tui.reports.changes import prompt_diff
    from recjudge_tui.store.prompts import load_shipped, prompt_text

    load_shipped(database)
    before, after = (prompt_text(database, name) for name in (first, second))
    for line in prompt_diff(before, after, first, second):
        click.echo(safe_text(line))


@prompt.command("lint")
@click.argument("file", type=click.Path(path_type=Path))
def prompt_lint(file: Path) -> None:
    """Check that a prompt file can be read and rendered, and that its examples are valid replies.

    \b
    Example:
      recjudge prompt lint mine.toml
    """
    from recjudge_tui.domain.text import safe_text
    from recjudge_tui.prompting.drafts import located_findings
    from recjudge_tui.store.prompts import read_prompt

    findings = located_findings(file, read_prompt(file))
    for finding in findings:
        click.echo(safe_text(finding))
    if findings:
        raise click.exceptions.Exit(1)
    narrate(f"{file}: OK")


@prompt.command("add")
@in_database
@click.argument("file", type=click.Path(path_type=Path))
def prompt_add(database: Database, file: Path) -> None:
    """Store a prompt file. If the name exists and the text has changed, it becomes the next version.

    Example:
      recjudge prompt add mine.toml
    """
    from recjudge_tui.prompting.drafts import located_findings
    from recjudge_tui.store.prompts import add_prompt, read_prompt

    for finding in located_findings(file, read_prompt(file)):
        narrate(finding)
    name, version = add_prompt(database, file)
    click.echo(f"{name}@{version}")


@prompt.command("add-examples")
@in_project
@click.argument("name", metavar="NAME[@VERSION]")
@click.option(
    "--from", "source", type=click.Choice(("outcomes",)), required=True,
    help="outcomes: pairs of lists whose user then took an item of one list only.",
)  # fmt: skip
@click.option(
    "--most", type=click.IntRange(2, 20), default=4, show_default=True, help="The most examples to add."
)
def prompt_add_examples(project: Project, name: str, source: str, most: int) -> None:
    """Add examples to a prompt from what users took after they saw the lists.

    They become the next version of your own prompt. Do not judge the users of the examples with it.

    Example:
      recjudge prompt add-examples pairwise-media -p movies --from outcomes
    """
    del source  # there is one
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.prompting.drafts import examples_from_outcomes
    from recjudge_tui.store.prompts import load_shipped

    load_shipped(project.db)
    made = examples_from_outcomes(project.db, project.id, name, most)
    click.echo(f"{made.name}@{made.version}")
    narrate(
        f"examples about {quantity(len(made.users), 'user')}, to be left out of runs: {', '.join(made.users)}"
    )


@prompt.command("tune")
@project_report
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--judge", "spec", metavar="SPEC", required=True, help="The judge that the prompt is for.")
@address_options
@click.option(
    "--from", "source", type=click.Choice(("labels", "overrides")), default="labels", show_default=True,
    help="What teaches: the labels of the person with the most, or the overrides of a reader.",
)  # fmt: skip
@click.option("--truth", metavar="RATER", default="", help="The rater whose labels teach.")
@click.option(
    "--candidates", "count", type=click.IntRange(1, 10), default=2, show_default=True,
    help="The prompts to try: with 2, 4, ... examples of what the judge got wrong.",
)  # fmt: skip
@setting_options("budget_usd", budget_usd="Stop before all runs together cost more than this.")
def prompt_tune(
    project: Project, name: str, spec: str, address: JudgeAddress, source: str, truth: str, count: int,
    budget_usd: float | None,
) -> Table:  # fmt: skip
    """Teach a prompt by labels: examples of cases that the judge gets wrong.

    Half of the users (by a hash of their ids) teach, and the other half test: no example is about a user who tests.
    Each candidate is compared with the prompt as it was on the same cases, by sign flips of the users' mean changes,
    with Holm's correction. The candidate with the highest agreement becomes the next version of your own prompt, and
    its description says whether it is better, worse, or not shown to be better. To go on after an interruption, repeat
    the command: answered calls are not repeated.

    Example:
      recjudge prompt tune pairwise-media -p movies --judge ollama:llama3.1:8b
      recjudge prompt tune mine -p movies --judge openai:gpt-4o --from overrides --candidates 3 --budget 5
    """
    from recjudge_tui.cli.running import tell_plans, work_through
    from recjudge_tui.domain.where import TEACH, TEST
    from recjudge_tui.prompting.tuning import candidates, compared, experiment_of, lesson, stored
    from recjudge_tui.reports.experiment import tuned
    from recjudge_tui.runs.experiment import plan_experiment
    from recjudge_tui.store.prompts import load_shipped

    judge = chosen_judge(spec, address)
    load_shipped(project.db)
    taught = lesson(project, name, source, truth)
    first = experiment_of(taught, judge, [taught.name], TEACH, budget_usd)
    narrate(f"{taught.truth} teaches with {len(taught.users(TEACH))} users, {len(taught.users(TEST))} test")
    plans = plan_experiment(project.db, first, dry_run=False)
    tell_plans(project.db, first, plans)
    taught_by, _ = work_through(project.db, first, plans)
    tried = list(candidates(taught, plans[0].rater, count))
    if not tried:
        raise UsageError(
            f"the judge agrees with {taught.truth} on all cases that teach",
            "There is no mistake to learn from.",
        )
    rest = experiment_of(taught, judge, [taught.name, *(prompt for prompt, _ in tried)], TEST, budget_usd)
    rest = rest._replace(spent_by=tuple(taught_by))
    plans = plan_experiment(project.db, rest, dry_run=False)
    tell_plans(project.db, rest, plans)
    work_through(project.db, rest, plans)
    found = compared(taught, plans, [len(taught.prompt.examples), *(examples for _, examples in tried)])
    new, version = stored(taught, found)
    return tuned(project, found, taught.truth, f"{new}@{version}")


@prompt.command("delete")
@in_database
@click.argument("name", metavar="NAME[@VERSION]")
def prompt_delete(database: Database, name: str) -> None:
    """Delete a prompt of your own, or one version of it. Versions that a run used are kept.

    Example:
      recjudge prompt delete mine@2
    """
    from recjudge_tui.store.prompts import delete_prompt, load_shipped

    load_shipped(database)
    versions = delete_prompt(database, name)
    deleted = ", ".join(f"{name.partition('@')[0]}@{version}" for version in versions)
    narrate(f"deleted: {deleted}")


@prompt.command("try")
@click.argument("name", metavar="NAME[@VERSION]")
@click.option("--case", "case_id", type=int, required=True, metavar="ID", help="The case to ask about.")
@click.option(
    "--judge",
    "spec",
    metavar="SPEC",
    help="The judge to ask, as in “recjudge run”. Default: the judge under [run] in the settings file.",
)
@click.option("--order", type=click.Choice(("ab", "ba")), help="Pairs: which system's list comes first.")
@server_options
@database_report
def prompt_try(
    database: Database,
    name: str,
    case_id: int,
    spec: str | None,
    order: Literal["ab", "ba"] | None,
    address: JudgeAddress,
    timeout_s: float,
) -> PrintedWithExit:
    """Ask a judge about one case and print the result. Nothing is stored.

    Sends the request that a run with the protocol's default settings would send. Prints the parsed answers and
    flags, and the tokens, time and cost of the call. Exits with 1 if there is no answer.

    Example:
      recjudge prompt try pairwise-media --case 12 --judge ollama:llama3.1:8b
    """
    from recjudge_tui.prompting.trial import try_prompt
    from recjudge_tui.reports.judges import trial_table
    from recjudge_tui.store.prompts import get_prompt, load_shipped

    judge = chosen_judge(spec, address)
    load_shipped(database)
    _, version, chosen = get_prompt(database, name)
    trial = try_prompt(database, chosen, case_id, judge, order, timeout_s=timeout_s)
    table = trial_table(trial, f"{chosen.name}@{version}")
    return PrintedWithExit(table, exit_code=1 if trial.parsed is None else 0)


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
def batch_export(run_id: int, out: Path, db: str | None) -> None:
    """Write the outstanding calls of a run as a batch file (JSON lines), split into several files if needed.

    OpenAI's Batch API, “vllm run-batch”, gateways and “recjudge batch run” accept the file.

    \b
    Example:
      recjudge batch export 3 -o calls.jsonl
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.runs.batch import export_calls

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
@in_database
@run_argument
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_file)
def batch_import(database: Database, run_id: int, files: tuple[Path, ...]) -> None:
    """Store the results of a batch from its result and error files.

    The files may be incomplete and come in any order. Importing a file twice changes nothing.

    Example:
      recjudge batch import 3 results.jsonl errors.jsonl
    """
    from recjudge_tui.runs.batch import import_results

    with counting("importing", "lines") as advance:
        tally = import_results(database, run_id, files, advance)
    _report(database, run_id, tally)
    if tally.broken and not (tally.done or tally.failed or tally.again or tally.already):
        raise click.exceptions.Exit(1)


@batch.command("submit")
@in_database
@run_argument
@trust_option
def batch_submit(database: Database, run_id: int) -> None:
    """Send the outstanding calls of a run to its judge's provider as a batch. No call is sent twice.

    Works for openai:MODEL (the files and batches endpoints at its base URL) and anthropic:MODEL. You may close
    the terminal. “recjudge batch collect ID” stores the answers when they are ready, usually within 24 hours.

    Example:
      recjudge batch submit 3
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.reports.runs import cost_range
    from recjudge_tui.runs.batch import batch_estimate
    from recjudge_tui.runs.batch import submit as submit_run

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


@batch.command("status")
@run_argument
@trust_option
@database_report
def batch_status(database: Database, run_id: int) -> Table:
    """Show the progress of a run's batches at the provider.

    Example:
      recjudge batch status 3
    """
    from recjudge_tui.reports.listings import batches
    from recjudge_tui.runs.batch import update_progress

    return batches(run_id, update_progress(database, run_id, narrate))


@batch.command("collect")
@in_database
@run_argument
@click.option(
    "--give-up",
    is_flag=True,
    help="Stop waiting, so that unanswered calls can be asked again. Then cancel the batch at the provider.",
)
@trust_option
def batch_collect(database: Database, run_id: int, give_up: bool) -> None:
    """Store the answers of finished batches. You can repeat this at any time.

    Example:
      recjudge batch collect 3
    """
    from recjudge_tui.runs.batch import collect
    from recjudge_tui.runs.batch import give_up as forget

    if give_up:
        click.echo(f"run {run_id}: {forget(database, run_id)} batches given up")
        return
    done = collect(database, run_id, narrate)
    _report(database, run_id, done.results)
    if done.waiting:
        narrate(
            "1 batch has not finished yet"
            if done.waiting == 1
            else f"{done.waiting} batches have not finished yet"
        )


@batch.command("run")
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
def batch_run(
    source: Path, out: Path, address: JudgeAddress, concurrency: int | None, timeout_s: float, ray: str | None
) -> None:
    """Send every line of a batch file to your own servers and write the results. Needs no database.

    If it is interrupted, repeat the same command to continue.

    \b
    Example:
      recjudge batch run calls.jsonl -o results.jsonl --base-url http://gpu1:8000/v1 --base-url http://gpu2:8000/v1
      recjudge batch run calls.jsonl -o results.jsonl --base-url http://127.0.0.1:8000/v1 --ray head:6379
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.runs.batch_file import Servers, run_file

    address.check()
    servers = Servers(address.base_urls, address.api_key_env, timeout_s, concurrency, address.header_env)
    to_stdout = str(out) == "-"
    with _file_or_stdout(out) as target, counting("answered", "calls") as advance:
        done = run_file(source, target, servers, ray_address=ray, progress=advance)
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
