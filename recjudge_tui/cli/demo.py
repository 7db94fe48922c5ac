"""The command `demo`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import click

from recjudge_tui.cli.app import has_terminal, open_app
from recjudge_tui.cli.options import chosen_judge
from recjudge_tui.cli.output import narrate
from recjudge_tui.cli.running import plan_and_print, work_on
from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
from recjudge_tui.domain.protocols import OVERALL, with_unit
from recjudge_tui.importers.load import import_files
from recjudge_tui.people.raters import combine
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import readable
from recjudge_tui.reports.common.table import write
from recjudge_tui.reports.declare import table_of
from recjudge_tui.runs import start
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import AlreadyJudgedError, settings_for
from recjudge_tui.settings import data_dir
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.runs import list_runs

if TYPE_CHECKING:
    from recjudge_tui.domain.records import ImportKind
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.store.database import Database


PROJECTS = {"synthetic-shop": "shop", "synthetic-films": "films"}
ANNOTATORS = ("annotator_1", "annotator_2")
_EXAMPLE = "synthetic-shop"
# the pairs that another judge is asked about, each in both orders
_ASKED = 5
_NEXT = """
next:
  recjudge                                 the app; ? lists the keys of a screen
  recjudge demo --tables                   every leaderboard and agreement table
  recjudge import FILE... -p NAME          your own data
  recjudge project delete synthetic-shop   and synthetic-films: delete the demo"""


class _ProtocolSummary(NamedTuple):
    """How the demo shows a protocol: the consensus of its labels, the rater of its run (empty: the judge's name), the
    aspect of its leaderboard (None: all), and how much history its run shows (None: the protocol's default)."""

    consensus: str = ""
    rater: str = ""
    aspect: str | None = None
    history: int | None = None


# a rater gives one verdict per case, and pairs are judged twice; all aspects of two projects would fill the screen,
# “recjudge leaderboard” prints them; the built-in judge reads no meaning: without a history it has no evidence
_SHOWN = {
    "pointwise": _ProtocolSummary("people-strict"),
    "pairwise": _ProtocolSummary("people-conservative"),
    "arena": _ProtocolSummary("people-conservative", rater="rules-arena", aspect=OVERALL),
    "absolute": _ProtocolSummary(),
    "explanation": _ProtocolSummary(aspect="satisfaction", history=100),
}
# consensus -> its rule
_CONSENSUS: dict[str, Rule] = {"people-strict": "strict", "people-conservative": "conservative"}
_FILES: tuple[tuple[ImportKind, tuple[str, ...]], ...] = (
    ("items", ("items.csv",)),
    ("users", ("users.csv",)),
    ("events", ("events.csv", "heldout_events.csv")),
    ("lists", ("lists_cooccurrence.csv", "lists_text.csv")),
    ("explanations", ("explanations.csv",)),
    ("labels", ("labels_pointwise.csv", "labels_pairwise.csv", "labels_explanations.csv")),
)


def demo(database: Database, spec: str | None, tables: bool, no_tui: bool) -> None:
    for project, folder in PROJECTS.items():
        narrate(f"{project}: importing and judging …")
        for kind, files in _FILES:
            import_files(database, project, [data_dir("sample_data") / folder / file for file in files], kind)
        _judge(database, project)
    if spec is not None:
        _ask_model(database, spec)
    if tables:
        for project in PROJECTS:
            _print_tables(database, project)
    else:
        _print_summary(database)
    if not no_tui and has_terminal():
        open_app(str(database.path))


def _judge(database: Database, project: str) -> None:
    identity = project_id(database, project)
    done = {row["protocol"] for row in list_runs(database, identity) if row["state"] == "done"}
    for name, shown in _SHOWN.items():
        if name not in done:
            settings = settings_for(name, history=shown.history)
            request = RunRequest(identity, JudgeSpec(spec="rules"), settings, shown.rater)
            (plan,) = start.plan(database, [request])
            assert plan.run_id is not None
            work(database.path, plan.run_id)
    for consensus, rule in _CONSENSUS.items():
        combine(database, identity, consensus, rule, ANNOTATORS)


def _ask_model(database: Database, spec: str) -> None:
    """Ask a model about a few pairs with short lists, and show it beside the built-in judge and people."""
    identity = project_id(database, _EXAMPLE)
    judge = chosen_judge(spec, JudgeAddress())
    settings = settings_for("pairwise", sample=_ASKED, history=5, top_k=5, max_tokens=400)
    try:
        (plan,) = plan_and_print(database, [RunRequest(identity, judge, settings)], dry_run=False)
    except AlreadyJudgedError as error:
        narrate(error.title)
        return
    assert plan.run_id is not None
    work_on(database, plan.run_id, narrate)
    opened, people = Project(database, identity, _EXAMPLE), _SHOWN["pairwise"].consensus
    asked = {"protocol": "pairwise", "aspect": OVERALL, "raters": (plan.rater, "rules"), "truth": people}
    write(table_of(opened, "agreement", **asked))


def _print_summary(database: Database) -> None:
    """Print what was judged, a leaderboard, the agreement of the judge and of people, and the next steps."""

    click.echo("Synthetic data, judged by “rules”, which is not a language model.")
    for project in PROJECTS:
        runs = list_runs(database, project_id(database, project))
        names = ", ".join(run["protocol"] for run in reversed(runs))
        click.echo(f"  {project}: {sum(run['calls'] for run in runs):,} calls ({names})")
    click.echo()
    opened, people = Project.named(database, _EXAMPLE), _SHOWN["pairwise"].consensus
    board = table_of(opened, "leaderboard", protocol="pairwise", rater="rules")
    shown, _ = readable(board, notes="none")
    write(replace(shown, title=f"{shown.title} · {_EXAMPLE}"))
    asked = {"protocol": "pairwise", "aspect": OVERALL, "raters": ("rules",), "truth": people}
    click.echo(click.wrap_text(f"\n{table_of(opened, 'agreement', **asked).answer}", 80))
    click.echo(_NEXT)


def _print_tables(database: Database, project: str) -> None:

    opened = Project(database, project_id(database, project), project)
    tables = [
        table_of(opened, "leaderboard", protocol=name, aspect=shown.aspect) for name, shown in _SHOWN.items()
    ]
    for name, shown in _SHOWN.items():
        if shown.consensus:
            raters = (*ANNOTATORS, shown.consensus, shown.rater or "rules")
            tables.append(table_of(opened, "agreement", protocol=name, aspect=OVERALL, raters=raters))
    explained = with_unit("explanation")[0]
    tables.append(
        table_of(opened, "agreement", protocol=explained, truth="user", raters=(*ANNOTATORS, "rules"))
    )
    for table in tables:
        write(
            replace(table, title=f"{table.title} · {project} (synthetic data; rules is not a language model)")
        )
        click.echo()
