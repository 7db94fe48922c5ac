"""`recjudge demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from recjudge_tui.cli.options import db_option, narrate, open_db
from recjudge_tui.domain.protocols import OVERALL

if TYPE_CHECKING:
    from recjudge_tui.domain.records import ImportKind
    from recjudge_tui.stats.combining import Rule
    from recjudge_tui.store.database import Database

PROJECTS = {"synthetic-shop": "shop", "synthetic-films": "films"}
ANNOTATORS = ("annotator_1", "annotator_2")
_EXAMPLE = "synthetic-shop"
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


@click.command()
@click.option("--tables", is_flag=True, help="Print every leaderboard and agreement table.")
@click.option("--no-tui", is_flag=True, help="Only print, even on a terminal.")
@db_option
def demo(tables: bool, no_tui: bool, db: str | None) -> None:
    """Judge the sample data, then open the app.

    The data is synthetic and the judge is built in. The results are printed first.

    Creates the projects synthetic-shop and synthetic-films. If you run it again, nothing is judged twice. The built-in
    judge “rules” is not a language model; it is the published list guidelines written as code.

    \b
    Example:
      recjudge demo
    """
    with open_db(db) as database:
        for project, folder in PROJECTS.items():
            narrate(f"{project}: importing and judging …")
            _load(database, project, folder)
            _judge(database, project)
        if tables:
            for project in PROJECTS:
                _print_tables(database, project)
        else:
            _print_summary(database)
    if not no_tui and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty():
        from recjudge_tui.cli.app import open_app

        open_app(db)


def _load(database: Database, project: str, folder: str) -> None:
    from recjudge_tui.importers.load import import_files
    from recjudge_tui.settings import data_dir

    home: Path = data_dir("sample_data") / folder
    for kind, files in _FILES:
        paths = [home / file for file in files]
        import_files(database, project, paths, kind, layout=None, mapping=None, system=None)


def _judge(database: Database, project: str) -> None:
    from recjudge_tui.domain.judge import JudgeSpec
    from recjudge_tui.raters.combine import combine
    from recjudge_tui.runs import start
    from recjudge_tui.runs.plan.plan import RunRequest
    from recjudge_tui.runs.plan.settings import settings_for
    from recjudge_tui.store.projects import project_id
    from recjudge_tui.store.runs import list_runs

    identity = project_id(database, project)
    done = {row["protocol"] for row in list_runs(database, identity) if row["state"] == "done"}
    for name, shown in _SHOWN.items():
        if name not in done:
            settings = settings_for(name, history=shown.history)
            request = RunRequest(identity, JudgeSpec(spec="rules"), settings, shown.rater)
            (plan,) = start.plan(database, [request])
            assert plan.run_id is not None
            start.work(database, plan.run_id)
    for consensus, rule in _CONSENSUS.items():
        combine(database, identity, consensus, rule, ANNOTATORS)


def _print_summary(database: Database) -> None:
    """Print what was judged, a leaderboard, the agreement of the judge and of people, and the next steps."""
    from dataclasses import replace

    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import readable, write_table
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.store.projects import project_id
    from recjudge_tui.store.runs import list_runs

    click.echo("Synthetic data, judged by “rules”, which is not a language model.")
    for project in PROJECTS:
        runs = list_runs(database, project_id(database, project))
        names = ", ".join(run["protocol"] for run in reversed(runs))
        click.echo(f"  {project}: {sum(run['calls'] for run in runs):,} calls ({names})")
    click.echo()
    identity = project_id(database, _EXAMPLE)
    people = _SHOWN["pairwise"].consensus
    board = table_of(Project(database, identity, _EXAMPLE), "leaderboard", protocol="pairwise", rater="rules")
    shown, _ = readable(board, notes="none")
    write_table(replace(shown, title=f"{shown.title} · {_EXAMPLE}"))
    click.echo(click.wrap_text(f"\n{_agreement_line(database, identity, people)}", 80))
    click.echo(_NEXT)


def _agreement_line(database: Database, project: int, people: str) -> str:
    from recjudge_tui.project import Project
    from recjudge_tui.reports.declare import table_of

    opened, asked = Project.numbered(database, project), {"protocol": "pairwise", "aspect": OVERALL}
    return table_of(opened, "agreement", raters=("rules",), truth=people, **asked).answer


def _print_tables(database: Database, project: str) -> None:
    from dataclasses import replace

    from recjudge_tui.domain.protocols import with_unit
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import write_table
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.store.projects import project_id

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
        write_table(
            replace(table, title=f"{table.title} · {project} (synthetic data; rules is not a language model)")
        )
        click.echo()
