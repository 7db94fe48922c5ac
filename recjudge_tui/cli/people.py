"""Commands about people and other raters: `verdicts`, `rater`, `annotate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from recjudge_tui.cli.app import has_terminal, open_adjudication, open_annotation, refuse_dumb_terminal
from recjudge_tui.cli.command import in_database, in_project, project_report, report_commands
from recjudge_tui.cli.options import ProtocolChoice, output_option, with_options
from recjudge_tui.cli.output import narrate
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.options import SEED as DRAWN
from recjudge_tui.domain.options import SYSTEMS, Option
from recjudge_tui.domain.roles import IMPORTED
from recjudge_tui.domain.run_options import SEED
from recjudge_tui.stats.defaults import TOP_K

if TYPE_CHECKING:
    from recjudge_tui.domain.roles import RaterKind
    from recjudge_tui.people.task_files import TaskFormat
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.stats.text import Tokens
    from recjudge_tui.store.database import Database


@click.group(commands=report_commands("verdicts"))
def verdicts() -> None:
    """List verdicts, or accept, override, note or tag them."""


@verdicts.command("decide")
@in_database
@click.argument("verdict_id", metavar="ID", type=int)
@click.argument("action", type=click.Choice(("accept", "dismiss", "override", "note", "tag")))
@click.option("--to", "label", metavar="LABEL", help="The label or number to use instead.")
@click.option("--text", default="", metavar="TEXT", help="The text of a note or tag.")
def verdicts_decide(
    database: Database,
    verdict_id: int,
    action: Literal["accept", "dismiss", "override", "note", "tag"],
    label: str | None,
    text: str,
) -> None:
    """Accept, dismiss, override, note or tag one verdict, like the keys c x v w t of the app.

    An override makes you a rater. Your name comes from `recjudge config` or RECJUDGE_READER.

    Example:
      recjudge verdicts decide 812 override --to Tie
    """
    from recjudge_tui.config_file import reader_name
    from recjudge_tui.store.triage import parse_choice, record

    if (action == "override") != (label is not None):
        raise click.UsageError("override needs --to LABEL, and no other action takes it")
    chosen, value = ("", None) if label is None else parse_choice(database, verdict_id, label)
    record(database, verdict_id, reader_name(), action, text=text, label=chosen, value=value)
    narrate(f"done: {action} verdict {verdict_id}; to undo: recjudge verdicts undo -p PROJECT")


@verdicts.command("undo")
@in_project
def verdicts_undo(project: Project) -> None:
    """Undo your last action on a verdict of the project.

    Example:
      recjudge verdicts undo -p movies
    """
    from recjudge_tui.config_file import reader_name
    from recjudge_tui.store.triage import undo_last

    entry = undo_last(project.db, project.id, reader_name())
    if entry is None:
        narrate(f"“{reader_name()}” has nothing to undo")
    else:
        narrate(f"undone: {entry.action}, case {entry.case_id}, rater {entry.rater}")


@click.group(commands=report_commands("rater"))
def rater() -> None:
    """List, rename, combine or delete raters."""


@rater.command("delete")
@in_project
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def rater_delete(project: Project, name: str, yes: bool) -> None:
    """Delete a rater with its runs and verdicts.

    Example:
      recjudge rater delete old-judge -p movies --yes
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.runs.lease import refuse_when_active
    from recjudge_tui.store.raters import delete_rater, rater_row
    from recjudge_tui.store.runs import stored_runs

    row = rater_row(project.db, project.id, name)
    for run in stored_runs(project.db, rater_id=row["id"]):
        refuse_when_active(project.db, run["id"])
    if not yes:
        click.confirm(f"Delete rater “{name}” with its runs and verdicts?", abort=True, err=True)
    deleted = delete_rater(project.db, project.id, name)
    narrate(f"rater “{name}” deleted with {quantity(deleted, 'verdict')}")


@rater.command("rename")
@in_project
@click.argument("name")
@click.argument("new_name", metavar="NEW_NAME")
def rater_rename(project: Project, name: str, new_name: str) -> None:
    """Rename a rater. Its verdicts and runs, and the raters made from it, keep belonging to it.

    Example:
      recjudge rater rename gpt-4o gpt-4o-temperature-0 -p movies
    """
    from recjudge_tui.runs.lease import refuse_when_active
    from recjudge_tui.store.raters import rater_row, rename_rater
    from recjudge_tui.store.runs import stored_runs

    for run in stored_runs(project.db, rater_id=rater_row(project.db, project.id, name)["id"]):
        refuse_when_active(project.db, run["id"])
    rename_rater(project.db, project.id, name, new_name)
    narrate(f"rater “{name}” is now called “{new_name.strip()}”")


@rater.command("kind")
@in_project
@click.argument("name")
@click.argument("kind", type=click.Choice(IMPORTED))
def rater_kind(project: Project, name: str, kind: RaterKind) -> None:
    """Set what an imported rater is: a person, the users themselves, or a language model.

    A file of labels can say so in a column rater_kind. If it does not, a name such as gpt-4o means a judge.

    Example:
      recjudge rater kind judge-anna annotator -p movies
    """
    from recjudge_tui.store.raters import change_kind

    change_kind(project.db, project.id, name, kind)
    narrate(f"rater “{name}” is of kind {kind}")


@rater.command("combine")
@in_project
@click.argument("name")
@click.argument("raters", nargs=-1, metavar="[RATER...]")
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
def rater_combine(
    project: Project, name: str, raters: tuple[str, ...], rule: Rule, quorum: int | None
) -> None:
    """Combine raters into one, or update it. Without RATER: all annotators.

    Raters are combined on aspects that they answered on the same scale. People make a consensus, which can be the truth
    of a report; others an ensemble. A case with fewer votes than --quorum gets no verdict; failed verdicts do not count
    as votes. The output counts the cases left out and those decided without every rater. “recjudge cost --truth” shows
    which ensemble is worth its cost.

    Example:
      recjudge rater combine people --rule strict anna ben -p movies
      recjudge rater combine crowd --rule median --quorum 3 -p movies
      recjudge rater combine jury --rule dawid-skene qwen llama rules -p movies
    """
    from recjudge_tui.people.raters import combine as combined
    from recjudge_tui.store.raters import list_raters

    people = [row["name"] for row in list_raters(project.db, project.id) if row["kind"] == "annotator"]
    summary = combined(project.db, project.id, name, rule, raters or people, quorum)
    for line in summary.lines():
        narrate(line)


@rater.command("metric")
@in_project
@click.argument("names", nargs=-1, metavar="NAME...")
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
def rater_metric(project: Project, names: tuple[str, ...], k: int, tokens: Tokens) -> None:
    """Make a rater from each metric, or update it.

    Texts are compared with what the user wrote: bleu-1, bleu-4, rouge-1 and rouge-l (both as F1). Lists have auc,
    ndcg, ndcg_exp, ndcg_explicit, precision, recall, map, map_min, mrr, hit_rate, err, rprec, urd, ild, novelty,
    popularity, title_ild, near_duplicates and category_coverage; of two lists, the one with the higher value wins. The
    rater of a list metric has K in its name, as in ndcg@10. Cases for which a metric is undefined get no verdict and
    are counted.

    Example:
      recjudge rater metric bleu-4 rouge-l -p movies
      recjudge rater metric ndcg urd --k 5 -p movies
      recjudge rater metric rouge-l --tokens characters -p movies
    """
    from recjudge_tui.people.raters import make_metric_raters

    summaries = make_metric_raters(project.db, project.id, names, k=k, tokens=tokens)
    for summary in summaries:
        for line in summary.lines():
            narrate(line)


_BESIDE = {"csv": "guidelines", "label-studio": "labelling interface", "argilla": "settings"}
_protocol = click.option(
    "--protocol", type=ProtocolChoice(), required=True, help="What the annotators judge."
)


@click.group()
def annotate() -> None:
    """Let people judge cases blind, and settle disagreements."""


_ASSIGNED = (
    Option(
        "prompt", str, "The prompt with the guidelines. Default: the prompt of the protocol's newest run.", "",
        flag="--prompt", metavar="NAME[@VERSION]",
    ),
    Option(
        "sample", int, "Only N cases: one per user first, and first those that a judge has judged.", bounds={"ge": 1},
        flag="--sample", metavar="N",
    ),
    Option("per_case", int, "Annotators per case. Default: 2.", bounds={"ge": 1}, flag="--per-case", metavar="K"),
    Option(
        "overlap", float,
        "All annotators judge this share of the cases. Each of the other cases goes to one annotator.",
        bounds={"ge": 0, "le": 1}, flag="--overlap", metavar="SHARE",
    ),
    DRAWN.but(help="Seed for drawing cases, annotators and orders.", default=SEED),
    SYSTEMS.but(help="Only lists or texts of these systems."),
    Option(
        "stratify", str, "Draw the sample's users evenly from 4 levels of activity.", "none", choices=("none", "activity"),
        flag="--stratify",
    ),
)  # fmt: skip


@annotate.command("plan")
@in_project
@click.option(
    "--protocol",
    type=ProtocolChoice(ADVERSARIAL),
    required=True,
    help="What the annotators judge; adversarial: a user's own list against one made for somebody else.",
)
@click.option("--annotators", required=True, metavar="ANA,BEN,...", help="Annotator names.")
@with_options(_ASSIGNED)
def annotate_plan(project: Project, annotators: str, **chosen: Any) -> None:
    """Assign cases to annotators evenly. Earlier assignments stay.

    The same seed gives the same plan. Which list comes first is drawn once for each person and case. A person
    judges a case under one protocol only.

    Example:
      recjudge annotate plan -p movies --protocol pairwise --annotators ana,ben --sample 80
      recjudge annotate plan -p movies --protocol explanation --annotators ana,ben,cy --overlap 0.3
      recjudge annotate plan -p movies --protocol adversarial --annotators ana,ben --sample 30 --stratify activity
    """
    from recjudge_tui.people.annotation import AssignmentRequest, plan_annotation

    request = AssignmentRequest(annotators=tuple(annotators.split(",")), **chosen)
    planned = plan_annotation(project.db, project.id, request)
    for line in planned.lines():
        narrate(line)
    narrate(
        f"each annotator starts with: recjudge annotate open -p {project.name} --as {next(iter(planned.assigned))}"
    )


@annotate.command("status")
@project_report
def annotate_status(project: Project) -> Table:
    """Show each annotator's progress, the time per case, and the agreement on shared cases.

    The time runs from when the case is shown until the verdict, without pauses of more than two minutes.

    Example:
      recjudge annotate status -p movies
    """
    from recjudge_tui.reports.annotation import annotation_table

    return annotation_table(project.db, project.id)


@annotate.command("open")
@in_project
@click.option("--as", "annotator", required=True, metavar="NAME", help="Who judges.")
@click.option(
    "--protocol", type=ProtocolChoice(), help="Required if the person has tasks of several protocols."
)
def annotate_open(project: Project, annotator: str, protocol: str | None) -> None:
    """Judge your cases in the app, which shows nothing else.

    Example:
      recjudge annotate open -p movies --as ana
    """
    from recjudge_tui.domain.text import quantity
    from recjudge_tui.store.people import chosen_assignment, rater_assignment

    assignment = chosen_assignment(project.db, project.id, annotator, protocol)
    _need_terminal()
    open_annotation(project.db.path, project.id, assignment.rater_id, assignment.protocol)
    left = rater_assignment(project.db, assignment.rater_id, assignment.protocol).open
    narrate(f"{quantity(left, 'case')} left; your verdicts are stored")


@annotate.command("export")
@in_project
@click.option("--as", "annotator", required=True, metavar="NAME", help="Whose open tasks to export.")
@click.option("--protocol", type=ProtocolChoice(), help="Required if the person has tasks of several.")
@click.option(
    "--format",
    "fmt",
    type=click.Choice(tuple(_BESIDE)),
    default="csv",
    show_default=True,
    help="csv: a sheet with a row for each question. The others: tasks in the tool's own format.",
)
@output_option()
def annotate_export(
    project: Project, annotator: str, protocol: str | None, fmt: TaskFormat, out: Path | None
) -> None:
    """Export an annotator's open tasks, to be judged in a spreadsheet or a labelling tool.

    As in the app, the names of systems are hidden, and lists come in the order of the assignment. A second file next
    to FILE has the guidelines (csv), the labelling interface (label-studio) or the settings (argilla). “recjudge
    import --as labels” reads the answers (recjudge docs annotating).

    Example:
      recjudge annotate export -p movies --as ana -o ana.csv
      recjudge annotate export -p movies --as ana --format label-studio -o ana.json
    """
    from recjudge_tui.people.task_files import open_tasks, write_tasks

    tasks = open_tasks(project.db, project.id, annotator, protocol)
    beside = write_tasks(tasks, fmt, out or sys.stdout)
    narrate(
        f"{len(tasks.tasks):,} tasks of {annotator} ({tasks.protocol}) written"
        + (f" to {out}" if out else "")
    )
    if beside is not None:
        narrate(f"{_BESIDE[fmt]} written to {beside}")


@annotate.command("adjudicate")
@in_project
@_protocol
@click.option(
    "--rule",
    type=click.Choice(["strict", "conservative"]),
    help="strict: the harsher label (lists, texts); conservative: any disagreement is a tie (pairs). Without a rule,"
    " a third person decides in the app.",
)
@click.option("--name", default="adjudicated", show_default=True, metavar="NAME", help="The consensus rater.")
def annotate_adjudicate(project: Project, protocol: str, rule: Rule | None, name: str) -> None:
    """Settle disagreements between annotators: all at once by a rule, or one by one by a third person.

    The consensus also contains the verdicts on which two or more annotators agree. The third person does not see
    who gave which answer, and can stop and continue later.

    Example:
      recjudge annotate adjudicate -p movies --protocol pairwise --rule conservative --name people
      recjudge annotate adjudicate -p movies --protocol pairwise --name cy
    """
    from recjudge_tui.people.annotation import adjudicate_by_rule, start_adjudication

    if rule is not None:
        for line in adjudicate_by_rule(project.db, project.id, protocol, rule, name).lines():
            narrate(line)
        return
    _need_terminal()
    rater_id = start_adjudication(project.db, project.id, protocol, name)
    open_adjudication(project.db.path, project.id, rater_id, protocol)


def _need_terminal() -> None:
    if not has_terminal():
        raise click.UsageError("annotating needs a terminal")
    refuse_dumb_terminal()
