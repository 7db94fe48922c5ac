"""`recjudge reproduce`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recjudge_tui.cli.declared import with_options
from recjudge_tui.cli.options import (
    db_option,
    format_of,
    names,
    narrate,
    open_db,
    put_page,
    put_table,
    table_options,
)
from recjudge_tui.reports.declare import K

if TYPE_CHECKING:
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.runner import Missing, Reproduction
    from recjudge_tui.store.database import Database

PAPERS = ("saer", "arena", "zhang2024")
_DIFFERS = 3


@click.command()
@click.argument("paper", type=click.Choice(PAPERS), metavar="PAPER")
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="The folder of the paper's released data (zhang2024).",
)  # fmt: skip
@click.option(
    "-p", "--project", metavar="PROJECT",
    help="Show this project's raters in the paper's tables. Default: the one that has --rater.",
)  # fmt: skip
@click.option(
    "--rater",
    "raters",
    metavar="R,...",
    help="Only these raters of the project. Default with -p: all that judge.",
)
@click.option(
    "--baseline",
    metavar="SYSTEM",
    default="",
    help="The system of the project that replaces FM, the baseline (arena).",
)
@with_options((K.but(help="Cutoff of the project's offline metrics (arena)."),))
@click.option(
    "--check",
    is_flag=True,
    help="Exit with code 3 if a recomputed figure differs, but for the faults that are known.",
)
@click.option(
    "--figure", metavar="NAME",
    help="Draw this figure of the paper, such as 5, with the project's raters to the FILE (.svg, .png or .pdf).",
)  # fmt: skip
@db_option
@table_options
def reproduce(
    paper: str,
    data: Path | None,
    project: str | None,
    raters: str | None,
    baseline: str,
    k: int,
    check: bool,
    figure: str | None,
    db: str | None,
    fmt: str | None,
    out: Path | None,
) -> None:
    """Show a paper's tables, as published and recomputed. PAPER is saer, arena or zhang2024.

    Each table is laid out as in the paper. A row whose figures were all recomputed and agree stands once (both), any other
    as published and as recomputed. saer and arena are recomputed from the printed figures, zhang2024 from the released data,
    given with --data or imported into the project. With -p or --rater your own raters stand in the same tables, and the
    paper's figures are made for them. JSON and CSV have one row per figure, with the reason where it does not follow.

    \b
    Example:
      recjudge reproduce saer
      recjudge reproduce arena -p movies --rater gpt,qwen --baseline popular --k 10
      recjudge reproduce zhang2024 --data LLMasEvaluator/data --format csv -o zhang.csv
      recjudge reproduce zhang2024 -p zhang --rater qwen --check
      recjudge reproduce arena -p movies --rater gpt --figure 5 -o figure.pdf
    """
    from recjudge_tui.cli.progress import working

    if data is not None and paper != "zhang2024":
        raise click.UsageError(f"reproduce {paper} uses the printed figures and takes no --data")
    if baseline and paper != "arena":
        raise click.UsageError(f"--baseline is for arena, not for {paper}")
    chosen = names(raters)
    if figure is not None:
        _draw(paper, figure, project, chosen, db, out)
        return
    with working(f"reproducing {paper}"):
        found = reproduced(paper, data, project, chosen, baseline, k, db)
    if format_of(fmt, out) in ("json", "csv", "parquet"):
        put_table(found.rows, fmt, out)
    else:
        put_page(found.page, fmt, out, whole=True)
    if check and (number := found.differing):
        narrate(f"{number} recomputed figures differ from the printed ones, and why is not known")
        click.get_current_context().exit(_DIFFERS)


def reproduced(
    paper: str,
    data: Path | None = None,
    project: str | None = None,
    raters: tuple[str, ...] = (),
    baseline: str = "",
    k: int = K.default,
    db: str | None = None,
) -> Reproduction:
    """A paper with its own data in a temporary database, and a project's raters if one is named or has them."""
    from recjudge_tui.files import scratch_folder
    from recjudge_tui.reports.papers.runner import Own, reproduce
    from recjudge_tui.store.schema import connect

    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder())
        paper_db = stack.enter_context(connect(scratch / "recjudge.db"))
        own = None
        if project is not None or raters:
            database = stack.enter_context(open_db(db))
            own = Own(_own_project(database, project, raters), raters, baseline, k)
        sources: dict[str, Project | Missing] = {}
        if paper == "saer":
            sources = dict(_labels(paper_db, scratch))
        elif paper == "zhang2024":
            sources = _release(paper_db, scratch, data, own and own.project)
        return reproduce(paper, sources, own)


def _own_project(database: Database, project: str | None, raters: tuple[str, ...]) -> Project:
    """The named project, else the only one that has these raters."""
    from recjudge_tui.project import Project
    from recjudge_tui.store.projects import project_names
    from recjudge_tui.store.ratings import project_raters

    if project is not None:
        return Project.named(database, project)
    holding = [
        identity
        for identity, _ in project_names(database)
        if set(raters) <= project_raters(database, identity).keys()
    ]
    if len(holding) != 1:
        number = "no project has" if not holding else f"{len(holding)} projects have"
        raise click.UsageError(f"{number} a rater {', '.join(raters)}: name the project with -p")
    return Project.numbered(database, holding[0])


def _labels(db: Database, scratch: Path) -> Iterator[tuple[str, Project]]:
    """SAER's labels rebuilt from its counts, imported and combined as anybody's."""
    from recjudge_tui.importers.load import import_files
    from recjudge_tui.project import Project
    from recjudge_tui.raters.combine import combine
    from recjudge_tui.reports.papers.runner import paper_toml, rebuilt_labels

    for labels in paper_toml("saer")["labels"]:
        name = labels["project"]
        path = scratch / f"{name}.csv"
        rows = list(rebuilt_labels(labels))
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), restval="")
            writer.writeheader()
            writer.writerows(rows)
        import_files(db, name, [path], "labels")
        made = Project.named(db, name)
        if "consensus" in labels:
            combine(db, made.id, labels["consensus"], "conservative", labels["raters"][1:])
        yield name, made


def _release(
    db: Database, scratch: Path, data: Path | None, own: Project | None
) -> dict[str, Project | Missing]:
    """Zhang et al.'s released scores, and the texts from which metrics are computed."""
    from recjudge_tui.importers.zhang2024 import import_zhang2024, left_out
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.runner import NO_MARKUP, Missing
    from recjudge_tui.reports.papers.text_metrics import with_text_metrics
    from recjudge_tui.store.imports import imported_layouts

    if data is not None:
        for kind, count in left_out(import_zhang2024(db, "zhang2024", data, scratch)).items():
            narrate(f"{count:,} × {kind}")
        release = Project.named(db, "zhang2024")
        return {"release": release, "texts": with_text_metrics(release)}
    if own is not None and "zhang2024" in {
        layout.partition(",")[0] for layout in imported_layouts(own.db, own.id)
    }:
        return {"release": own, "texts": NO_MARKUP}
    none = Missing(
        "needs --data", "give the released data with --data, or a project that was imported from it"
    )
    return {"release": none, "texts": none}


def _draw(
    paper: str, figure: str, project: str | None, raters: tuple[str, ...], db: str | None, out: Path | None
) -> None:
    from recjudge_tui.cli.data.figure import put_figure
    from recjudge_tui.domain.occasions import EVERY_OCCASION
    from recjudge_tui.reports.papers.runner import paper_toml

    known = paper_toml(paper)["figures"]
    if figure not in known:
        raise click.UsageError(f"no figure “{figure}” of {paper} can be drawn; these can: {', '.join(known)}")
    with open_db(db) as database:
        name = _own_project(database, project, raters).name
    kind, protocol = known[figure]
    put_figure(name, kind, out, db, {"protocol": protocol}, 1, True, EVERY_OCCASION, (), raters)
