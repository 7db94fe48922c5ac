"""`recjudge rater`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import report_commands
from recjudge_tui.cli.options import db_option, narrate, project_option
from recjudge_tui.cli.report_command import open_project
from recjudge_tui.domain.roles import IMPORTED
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.domain.roles import RaterKind
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.stats.text import Tokens


@click.group(commands=report_commands("rater"))
def rater() -> None:
    """List, rename, combine or delete raters."""


@rater.command()
@click.argument("name")
@project_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@db_option
def delete(name: str, project: str, yes: bool, db: str | None) -> None:
    """Delete a rater with its runs and verdicts.

    \b
    Example:
      recjudge rater delete old-judge -p movies --yes
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.runs.control.lease import refuse_when_active
    from recjudge_tui.store.raters import delete_rater, rater_row
    from recjudge_tui.store.runs import stored_runs

    with open_project(db, project) as (database, identity):
        row = rater_row(database, identity, name)
        for run in stored_runs(database, rater_id=row["id"]):
            refuse_when_active(database, run["id"])
        if not yes:
            click.confirm(f"Delete rater “{name}” with its runs and verdicts?", abort=True, err=True)
        deleted = delete_rater(database, identity, name)
    narrate(f"rater “{name}” deleted with {quantity(deleted, 'verdict')}")


@rater.command()
@click.argument("name")
@click.argument("new_name", metavar="NEW_NAME")
@project_option
@db_option
def rename(name: str, new_name: str, project: str, db: str | None) -> None:
    """Rename a rater. Its verdicts and runs, and the raters made from it, keep belonging to it.

    \b
    Example:
      recjudge rater rename gpt-4o gpt-4o-temperature-0 -p movies
    """
    from recjudge_tui.runs.control.lease import refuse_when_active
    from recjudge_tui.store.raters import rater_row, rename_rater
    from recjudge_tui.store.runs import stored_runs

    with open_project(db, project) as (database, identity):
        for run in stored_runs(database, rater_id=rater_row(database, identity, name)["id"]):
            refuse_when_active(database, run["id"])
        rename_rater(database, identity, name, new_name)
    narrate(f"rater “{name}” is now called “{new_name.strip()}”")


@rater.command()
@click.argument("name")
@click.argument("kind", type=click.Choice(IMPORTED))
@project_option
@db_option
def kind(name: str, kind: RaterKind, project: str, db: str | None) -> None:
    """Set what an imported rater is: a person, the users themselves, or a language model.

    A file of labels can say so in a column rater_kind. If it does not, a name such as gpt-4o means a judge.

    \b
    Example:
      recjudge rater kind judge-anna annotator -p movies
    """
    from recjudge_tui.store.raters import change_kind

    with open_project(db, project) as (database, identity):
        change_kind(database, identity, name, kind)
    narrate(f"rater “{name}” is of kind {kind}")


@rater.command()
@click.argument("name")
@click.argument("raters", nargs=-1, metavar="[RATER...]")
@project_option
@click.option(
    "--rule",
    type=click.Choice(["strict", "conservative", "majority", "mean", "median", "dawid-skene"]),
    required=True,
    help="strict: the harsher label (single lists); conservative: any disagreement is a tie (pairs); majority: the label"
    " of more than half of those who voted, a split vote gives no verdict; mean: the mean of the values; median: the middle"
    " vote, between two labels with names the harsher; dawid-skene: the most likely label, each rater weighted by its"
    " estimated accuracy (Dawid and Skene, 1979).",
)
@click.option(
    "--quorum",
    type=int,
    metavar="N",
    help="How many raters must have judged a case. Default: all; of dawid-skene 1.",
)
@db_option
def combine(
    name: str, raters: tuple[str, ...], project: str, rule: Rule, quorum: int | None, db: str | None
) -> None:
    """Combine raters into one, or update it. Without RATER: all annotators.

    Raters are combined on aspects that they answered on the same scale. People make a consensus, which can be the truth
    of a report; others an ensemble. A case with fewer votes than --quorum gets no verdict; failed verdicts do not count
    as votes. The output counts the cases left out and those decided without every rater. “recjudge cost --truth” shows
    which ensemble is worth its cost.

    \b
    Example:
      recjudge rater combine people --rule strict anna ben -p movies
      recjudge rater combine crowd --rule median --quorum 3 -p movies
      recjudge rater combine jury --rule dawid-skene qwen llama rules -p movies
    """
    from recjudge_tui.raters.combine import combine as combined
    from recjudge_tui.store.raters import list_raters

    with open_project(db, project) as (database, identity):
        people = [row["name"] for row in list_raters(database, identity) if row["kind"] == "annotator"]
        summary = combined(database, identity, name, rule, raters or people, quorum)
    for line in summary.lines():
        narrate(line)


@rater.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@project_option
@click.option(
    "--k",
    type=click.IntRange(min=1),
    default=TOP_K,
    show_default=True,
    help="Use the first K items of a list; auc uses all candidates.",
)
@click.option(
    "--tokens",
    type=click.Choice(["auto", "words", "jieba", "characters"]),
    default="auto",
    show_default=True,
    help="How texts are split into words. auto: at spaces, Chinese with jieba, other scripts without spaces "
    "by character.",
)
@db_option
def metric(names: tuple[str, ...], project: str, k: int, tokens: Tokens, db: str | None) -> None:
    """Make a rater from each metric, or update it.

    Texts are compared with what the user wrote: bleu-1, bleu-4, rouge-1 and rouge-l (both as F1). Lists have auc,
    ndcg, ndcg_exp, ndcg_explicit, precision, recall, map, map_min, mrr, hit_rate, err, rprec, urd, ild, novelty,
    popularity, title_ild, near_duplicates and category_coverage; of two lists, the one with the higher value wins. The
    rater of a list metric has K in its name, as in ndcg@10. Cases for which a metric is undefined get no verdict and
    are counted.

    \b
    Example:
      recjudge rater metric bleu-4 rouge-l -p movies
      recjudge rater metric ndcg urd --k 5 -p movies
      recjudge rater metric rouge-l --tokens characters -p movies
    """
    from recjudge_tui.raters.metrics import make_metric_raters

    with open_project(db, project) as (database, identity):
        summaries = make_metric_raters(database, identity, names, k=k, tokens=tokens)
    for summary in summaries:
        for line in summary.lines():
            narrate(line)
