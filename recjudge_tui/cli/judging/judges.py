"""`recjudge judge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import db_option, open_db, put_table, server_options, table_options
from recjudge_tui.cli.report_command import report_command

if TYPE_CHECKING:
    from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database


@click.group()
def judge() -> None:
    """List or test judges."""


@judge.command("list")
@click.option("--base-url", metavar="URL", default="", help="The Ollama server to ask.")
@report_command
def list_(database: Database, base_url: str) -> Table:
    """List the judges available here: built in, on Ollama and other servers of this machine, and used before.

    For an API key, it shows the variable's name and whether it is set, never the key.

    \b
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
def test(
    spec: str,
    address: JudgeAddress,
    timeout_s: float,
    db: str | None,
    fmt: str | None,
    out: Path | None,
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
    from recjudge_tui.cli.judging.judge_choice import chosen_judge
    from recjudge_tui.errors import JudgeError
    from recjudge_tui.prompting.probe import probe
    from recjudge_tui.reports.judges import probe_table
    from recjudge_tui.store.runs import save_capabilities

    judge_spec = chosen_judge(spec, address)
    with open_db(db) as database:
        try:
            capabilities = probe(judge_spec, timeout_s)
        except JudgeError:
            put_table(probe_table(spec, None, ""), fmt, out)
            raise
        save_capabilities(database, judge_spec, capabilities)
        put_table(probe_table(spec, capabilities, _price(judge_spec)), fmt, out)


def _price(judge_spec: JudgeSpec) -> str:
    from recjudge_tui.runs.prices import price_of

    price = price_of(judge_spec)
    if price is None:
        return "unknown; add it to prices.toml"
    if price.source == "local":
        return "none (local server)"
    return f"${price.input:g} in, ${price.output:g} out per million tokens ({price.source})"
