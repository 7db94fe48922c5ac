"""`recjudge reproduce`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.options import db_option, narrate, open_db, put_table, table_options

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table
    from recjudge_tui.store.database import Database

PAPERS = ("saer", "arena", "zhang2024")


def _score(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not 0 <= value <= 5:
        raise click.BadParameter(f"{value:g} is not between 0 and 5")
    return value


@click.command()
@click.argument("paper", type=click.Choice(PAPERS), metavar="PAPER")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the paper's released data (zhang2024).",
)
@click.option(
    "-p", "--project", metavar="PROJECT",
    help="Add this project's raters (zhang2024, arena). Default: the one that has --rater.",
)  # fmt: skip
@click.option(
    "--rater", "raters", multiple=True, metavar="R",
    help="Add this rater of the project to the printed table; repeat for several. Default with -p: all that judge.",
)  # fmt: skip
@click.option(
    "--baseline",
    metavar="SYSTEM",
    default="",
    help="The system of the project that replaces FM as the baseline (arena).",
)
@click.option("--aspect", metavar="A", help="Only this aspect of Table 1 (zhang2024), “average” included.")
@click.option(
    "--level", type=click.Choice(("dataset", "user", "pair")), help="Only this level of Table 1 (zhang2024)."
)
@click.option(
    "--missing-truth", type=float, callback=_score, default=3.0, show_default=True, metavar="X",
    help="The value of a missing user score, as in the paper.",
)  # fmt: skip
@click.option(
    "--missing-judge", type=float, callback=_score, default=0.0, show_default=True, metavar="X",
    help="The value of a failed judge score, as in the paper.",
)  # fmt: skip
@db_option
@table_options
def reproduce(
    paper: str,
    data: Path | None,
    project: str | None,
    raters: tuple[str, ...],
    baseline: str,
    aspect: str | None,
    level: str | None,
    missing_truth: float,
    missing_judge: float,
    db: str | None,
    fmt: str | None,
    out: Path | None,
) -> None:
    """Show a paper's figures beside recomputed ones. PAPER is saer, arena or zhang2024.

    Every figure of the paper's tables is a row: as printed, as recomputed, whether the two agree, and if not, why.
    saer and arena are recomputed from the printed figures; zhang2024 from the released data, given with --data or
    imported into a project. With --rater, a judge of your own is shown below the printed ones. The exit code is 0
    whether they agree or not.

    \b
    Example:
      recjudge reproduce saer
      recjudge reproduce arena
      recjudge reproduce zhang2024 --data LLMasEvaluator/data --format csv -o zhang.csv
      recjudge reproduce zhang2024 -p zhang --rater qwen --aspect average --level pair
    """
    from recjudge_tui.cli.progress import working

    if data is not None and paper != "zhang2024":
        raise click.UsageError(f"reproduce {paper} uses the printed figures and takes no --data")
    if (aspect or level) and paper != "zhang2024":
        raise click.UsageError(f"--aspect and --level are for zhang2024, not for {paper}")
    if baseline and paper != "arena":
        raise click.UsageError(f"--baseline is for arena, not for {paper}")
    if paper == "saer" and (project is not None or raters):
        raise click.UsageError(
            "SAER's data are not released, so a judge of your own cannot be shown beside its figures;"
            " “recjudge run saer” makes the same tables for your data"
        )
    with working(f"reproducing {paper}"):
        if paper == "saer":
            table = saer_printed()
        elif paper == "arena":
            table = _arena(project, raters, baseline, db)
        else:
            whole = _zhang(data, project, raters, db, (missing_truth, missing_judge))
            table = _only(whole, aspect, level)
    put_table(table, fmt, out)


def saer_printed() -> Table:
    """SAER's tables, from labels rebuilt in a temporary database."""
    from recjudge_tui.files import scratch_folder
    from recjudge_tui.importers.load import import_files
    from recjudge_tui.raters.combine import combine
    from recjudge_tui.reports.papers.saer_printed import saer_table
    from recjudge_tui.reports.papers.saer_rebuilt import MERGED, PEOPLE, PROJECTS, rebuilt_labels
    from recjudge_tui.store.projects.projects import project_id
    from recjudge_tui.store.schema import connect

    with scratch_folder() as scratch, connect(scratch / "recjudge.db") as db:
        for name in PROJECTS:
            labels = scratch / f"{name}.csv"
            labels.write_text(rebuilt_labels(name), encoding="utf-8")
            import_files(db, name, [labels], "labels")
        pairs = project_id(db, PROJECTS[0])
        combine(db, pairs, MERGED, "conservative", PEOPLE)
        return saer_table(db, {name: project_id(db, name) for name in PROJECTS})


def _arena(project: str | None, raters: tuple[str, ...], baseline: str, db: str | None) -> Table:
    from recjudge_tui.reports.papers.arena import arena_table

    if project is None and not raters:
        return arena_table()
    from recjudge_tui.reports.papers.arena_own import OwnSystems, own_rows
    from recjudge_tui.runs.plan.domain import project_domain

    with open_db(db) as database:
        name, identity = _own_project(database, project, raters)
        own = OwnSystems(database, identity, name, baseline, project_domain(database, identity))
        return arena_table(own=own_rows(own, raters))


def _own_project(database: Database, project: str | None, raters: tuple[str, ...]) -> tuple[str, int]:
    """The named project, else the only one that has these raters."""
    from recjudge_tui.store.projects.projects import project_id, project_names
    from recjudge_tui.store.verdicts.ratings import project_raters

    if project is not None:
        return project, project_id(database, project)
    holding = [
        (name, identity)
        for identity, name in project_names(database)
        if set(raters) <= project_raters(database, identity).keys()
    ]
    if len(holding) != 1:
        number = "no project has" if not holding else f"{len(holding)} projects have"
        raise click.UsageError(f"{number} a rater {', '.join(raters)}: name the project with -p")
    return holding[0]


def _zhang(
    data: Path | None,
    project: str | None,
    raters: tuple[str, ...],
    db: str | None,
    missing: tuple[float, float],
) -> Table:
    from recjudge_tui.files import scratch_folder
    from recjudge_tui.importers.zhang2024 import import_zhang2024, left_out
    from recjudge_tui.reports.papers.zhang2024 import PAPER, ScoresSource, holds_release, zhang_table
    from recjudge_tui.reports.papers.zhang_evaluators import FillValues
    from recjudge_tui.store.projects.projects import project_id
    from recjudge_tui.store.schema import connect

    with ExitStack() as stack:
        own = released = None
        if project is not None or raters:
            database = stack.enter_context(open_db(db))
            name, identity = _own_project(database, project, raters)
            own = ScoresSource(database, identity, name)
            released = own if holds_release(own) else None
        if data is not None:
            scratch = stack.enter_context(scratch_folder())
            paper_db = stack.enter_context(connect(scratch / "recjudge.db"))
            summaries = import_zhang2024(paper_db, PAPER, data, scratch)
            for kind, count in left_out(summaries).items():
                narrate(f"{count:,} × {kind}")
            released = ScoresSource(paper_db, project_id(paper_db, PAPER), PAPER, markup=True)
        return zhang_table(released, FillValues(*missing), own, raters)


def _only(table: Table, aspect: str | None, level: str | None) -> Table:
    """The rows of an aspect and a level."""
    rows = table.rows
    if aspect is not None:
        known = dict.fromkeys(str(row["aspect"]) for row in rows)
        if aspect not in known:
            raise click.UsageError(f"no aspect “{aspect}”: there are {', '.join(known)}")
        rows = tuple(row for row in rows if row["aspect"] == aspect)
    if level is not None:
        rows = tuple(row for row in rows if row.get("level") == level)
    return replace(table, rows=rows)
