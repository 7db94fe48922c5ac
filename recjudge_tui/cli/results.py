"""Commands that print results and are not declared reports: `outcome`, `methods`, `passport`, `report`, `reproduce`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.command import in_project, project_report, report_commands
from recjudge_tui.cli.options import (
    address_options,
    db_option,
    output_option,
    setting_options,
    split_names,
    table_options,
    with_options,
)
from recjudge_tui.cli.output import counting, format_of, narrate, open_db, put, working
from recjudge_tui.domain.options import RATERS, SYSTEMS, Option
from recjudge_tui.reports.declare import K

if TYPE_CHECKING:
    from recjudge_tui.cli.command import Printed
    from recjudge_tui.cli.output import Output
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.runner import Missing, Reproduction
    from recjudge_tui.store.database import Database


_RATERS = RATERS.but(help="Only these raters. Default: all.")


@click.group(commands=report_commands("outcome"))
def outcome() -> None:
    """Record live experiments, and compare judges with them. Shows whether the judges predicted their results."""


@outcome.command("add")
@project_report
@with_options((
    Option(
        "systems", tuple, "The two systems; the lift is that of A over B.", flag="--systems", metavar="A,B", required=True,
    ),
    Option(
        "impressions", str, "How often each was shown, in the same order.", flag="--impressions", metavar="N,N",
        required=True,
    ),
    Option(
        "clicks", str, "How many of those were clicked, or the rates: 0.619%,0.523%.", flag="--clicks", metavar="N,N",
        required=True,
    ),
    Option("from_", str, "The day (UTC) or time when it began.", "", flag="--from", metavar="T"),
    Option("to", str, "The day (UTC) or time when it ended.", "", flag="--to", metavar="T"),
    *(
        Option(f"users_{x}", int, f"How many customers were shown {x.upper()}.", None, {"ge": 1}, flag=f"--users-{x}",
               metavar="N")
        for x in "ab"
    ),
    Option(
        "name", str, "A name not used before in the project. Default: “A vs B”.", flag="--name", metavar="EXPERIMENT",
    ),
))  # fmt: skip
def outcome_add(project: Project, **given: Any) -> Output:
    """Record the result of a live experiment with two systems, and compare it with the judges' verdicts.

    Rates have the exact interval of Clopper and Pearson. The lift, rate A / rate B - 1, has the log interval of Katz
    et al. (1978). z and the two-sided p are those of two pooled proportions (Fleiss, Levin and Paik 2003). All assume
    independent impressions. A system that is not in the project yet is accepted with a warning.

    Example:
      recjudge outcome add -p shop --systems new,old --impressions 5000000,5000000 --clicks 30950,26150 --name june
      recjudge outcome add -p shop --systems new,old --impressions 5e6,5e6 --clicks 0.619%,0.523% --from 2025-06-01
        --to 2025-06-28 --users-a 410000 --users-b 408000
    """
    from recjudge_tui.domain.occasions import parse_time
    from recjudge_tui.reports.declare import make
    from recjudge_tui.reports.outcomes import outcome_of
    from recjudge_tui.store.data import known_systems
    from recjudge_tui.store.projects import add_outcome

    began, ended = given["from_"], given["to"]
    start = parse_time(began, of_day=time.min) if began else ""
    end = parse_time(ended) if ended else ""
    if start and end and start > end:
        raise click.UsageError(f"--from {began} is after --to {ended}")
    users = given["users_a"], given["users_b"]
    what = (given["systems"], given["impressions"], given["clicks"], given["name"])
    experiment = outcome_of(*what, start, end, users)
    add_outcome(project.db, project.id, experiment)
    known = known_systems(project.db, project.id)
    for system in (experiment.system_a, experiment.system_b):
        if system not in known:
            narrate(f"system “{system}” is not in the project, so no rater has judged it")
    narrate(f"experiment “{experiment.name}” recorded")
    return make(project, "outcome show", name=experiment.name)


@outcome.command("delete")
@in_project
@click.argument("name")
def outcome_delete(project: Project, name: str) -> None:
    """Delete an experiment that was recorded by mistake.

    Example:
      recjudge outcome delete june -p shop
    """
    from recjudge_tui.store.projects import delete_outcome

    delete_outcome(project.db, project.id, name)
    narrate(f"experiment “{name}” deleted")


_TEXTS = ("text", "md", "latex")


@click.command()
@project_report
@with_options((_RATERS,))
@click.option(
    "--statistics",
    metavar="NAME,...",
    callback=split_names,
    help="Also define these, such as bt, alpha_ordinal or recall; all: every one that this project's data allow.",
)
@click.option("--bibtex", is_flag=True, help="Only the works cited, for a .bib file.")
def methods(project: Project, raters: tuple[str, ...], statistics: tuple[str, ...], bibtex: bool) -> Printed:
    """Write the methods paragraphs of a paper.

    They state the judges with their served models and dates, the prompts with version and hash, what was shown and how
    replies were sampled, cases, users and occasions, failures and how they count, the people, and the statistics
    with their settings. Works are cited in the form of the format: Pandoc's in md, natbib's in latex. JSON, CSV and HTML
    also have a table of the runs.

    Example:
      recjudge methods -p movies
      recjudge methods -p movies --raters qwen,anna,ben -o methods.tex
      recjudge methods -p movies --statistics bt,alpha_ordinal
      recjudge methods -p movies --bibtex -o references.bib
    """
    from recjudge_tui.reports.methods import methods as methods_of
    from recjudge_tui.reports.methods import methods_page, methods_text

    described = methods_of(project.db, project.id, raters, statistics)
    if bibtex:
        return described.bibtex

    def report(fmt: str) -> Output:
        if fmt not in _TEXTS:
            return methods_page(described)
        meta = click.get_current_context().meta
        whole = bool(meta.get("recjudge.all") or meta.get("recjudge.file"))
        if fmt == "text" and not whole:
            narrate(f"{len(described.works)} works are cited: --bibtex prints them, --all both")
        return methods_text(described, fmt, whole=whole)

    return report


_SECTIONS = (
    "about", "runs", "leaderboards", "agreement", "shares", "metrics", "flags", "position", "biases", "failures",
    "cost", "pictures", "prompts",
)  # fmt: skip


@click.command()
@in_project
@output_option("FILE.html", required=True)
@click.option(
    "--section",
    "sections",
    multiple=True,
    type=click.Choice(_SECTIONS),
    help="Only this section; repeatable. Default: all.",
)
@with_options((SYSTEMS, _RATERS))
def report(
    project: Project,
    out: Path | None,
    sections: tuple[str, ...],
    systems: tuple[str, ...],
    raters: tuple[str, ...],
) -> None:
    """Write a project report as one HTML file.

    It contains settings and versions, leaderboards, agreement with people, shares of labels, position bias,
    failures, cost, pictures and prompts. The file loads no other file, runs no scripts, and prints well. Pictures
    need the extra “figures” (pip install 'recjudge[figures]'); without it, the report says so.
    --systems is for leaderboards, agreement, shares of labels, flags and pictures; --raters is for these and position
    bias.

    Example:
      recjudge report -p movies -o movies.html
      recjudge report -p movies --raters qwen,anna,ben -o qwen.html
      recjudge report -p movies --section leaderboards --section agreement -o boards.html
    """
    from recjudge_tui.reports.html_report import project_report

    with counting("report", "sections") as advance:
        written = project_report(project, sections, systems, raters, advance)
    for note in written.notes:
        narrate(note)
    put(written.text.removesuffix("\n"), None, out)


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
@with_options((
    Option(
        "raters", tuple, "Only these raters of the project. Default with -p: all that judge.", flag="--rater",
        metavar="R,...",
    ),
    Option(
        "baseline", str, "The system of the project that replaces FM, the baseline (arena).", "", flag="--baseline",
        metavar="SYSTEM",
    ),
    K.but(help="Cutoff of the project's offline metrics (arena)."),
    Option(
        "check", bool, "Exit with code 3 if a recomputed figure differs, but for the faults that are known.", False,
        flag="--check",
    ),
    Option(
        "figure", str, "Draw this figure of the paper, such as 5, with the project's raters to the FILE (.svg, .png or"
        " .pdf).", flag="--figure", metavar="NAME",
    ),
))  # fmt: skip
@click.option(
    "--judge", "spec", metavar="SPEC", help="Run the paper's whole experiment with this judge first."
)
@address_options
@setting_options("sample", "budget_usd")
@click.option("--dry-run", is_flag=True, help="With --judge: print the estimate and stop.")
@click.option("--yes", is_flag=True, help="With --judge: do not ask before it starts.")
@db_option
@table_options
def reproduce(
    paper: str,
    data: Path | None,
    project: str | None,
    db: str | None,
    fmt: str | None,
    out: Path | None,
    spec: str | None,
    address: JudgeAddress,
    **given: Any,
) -> None:
    """Show a paper's tables, as published and recomputed. PAPER is saer, arena or zhang2024.

    Each table is laid out as in the paper. A row whose figures were all recomputed and agree stands once (both), any other
    as published and as recomputed. saer and arena are recomputed from the printed figures, zhang2024 from the released data,
    given with --data or imported into the project. With -p or --rater your own raters stand in the same tables, and the
    paper's figures are made for them. With --judge all runs that the paper's tables need and the project can feed are
    planned, estimated, asked for once, and resumed where they stopped; what it cannot feed is named. JSON and CSV have one
    row per figure, with the reason where it does not follow.

    \b
    Example:
      recjudge reproduce saer
      recjudge reproduce arena -p movies --rater gpt,qwen --baseline popular --k 10
      recjudge reproduce zhang2024 --data LLMasEvaluator/data --format csv -o zhang.csv
      recjudge reproduce zhang2024 -p zhang --rater qwen --check
      recjudge reproduce arena -p movies --rater gpt --figure 5 -o figure.pdf
      recjudge reproduce saer -p movies --judge ollama:llama3.1:8b --sample 50
    """

    chosen, baseline = given["raters"], given["baseline"]
    for name in ("sample", "budget_usd", "dry_run", "yes"):
        if spec is None and given[name]:
            raise click.UsageError(f"--{name.removesuffix('_usd').replace('_', '-')} is for --judge")
    if data is not None and paper != "zhang2024":
        raise click.UsageError(f"reproduce {paper} uses the printed figures and takes no --data")
    if baseline and paper != "arena":
        raise click.UsageError(f"--baseline is for arena, not for {paper}")
    if given["figure"] is not None:
        _draw(paper, given["figure"], project, chosen, db, out)
        return
    if spec is not None:
        if project is None:
            raise click.UsageError("--judge needs the project whose lists or texts it judges: -p PROJECT")
        judged = _run_paper(paper, project, spec, address, db, given)
        if judged is None:
            return
        chosen = tuple(dict.fromkeys((*chosen, *judged)))
    with working(f"reproducing {paper}"):
        found = reproduced(paper, data, project, chosen, baseline, given["k"], db, all_named=spec is None)
    if format_of(fmt, out) in ("json", "csv", "parquet"):
        put(found.rows, fmt, out)
    else:
        put(found.page, fmt, out, whole=True)
    if given["check"] and (number := found.differing):
        narrate(f"{number} recomputed figures differ from the printed ones, and why is not known")
        click.get_current_context().exit(_DIFFERS)


def _run_paper(
    paper: str, project: str, spec: str, address: JudgeAddress, db: str | None, given: dict[str, Any]
) -> list[str] | None:
    """Run the paper's experiment with a judge; its raters, None after a dry run. Exit 1 if it is not to be started."""
    from recjudge_tui.cli.options import chosen_judge
    from recjudge_tui.cli.running import tell_plans, work_through
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.runner import paper_toml
    from recjudge_tui.runs.experiment import paper_experiment, plan_experiment
    from recjudge_tui.runs.saer import is_finished

    judge = chosen_judge(spec, address)
    with open_db(db) as database:
        own = Project.named(database, project)
        with counting("planning", "cases") as advance:
            experiment, left_out = paper_experiment(
                database, own.id, paper_toml(paper)["runs"], judge,
                baseline=given["baseline"], sample=given["sample"], budget=given["budget_usd"],
            )  # fmt: skip
            drafts = plan_experiment(database, experiment, dry_run=True, progress=advance)
        tell_plans(database, experiment, drafts)
        for line in left_out:
            narrate(f"left out: {line}")
        if given["dry_run"]:
            return None
        outstanding = [x for x in drafts if x.run_id is None or not is_finished(database, x.run_id)]
        if outstanding and not given["yes"] and sys.stdin.isatty():
            click.confirm(f"Start {len(outstanding)} runs?", abort=True, err=True)
        plans = plan_experiment(database, experiment, dry_run=False)
        work_through(database, experiment, plans)
        return list(dict.fromkeys(plan.rater for plan in plans))


def reproduced(
    paper: str,
    data: Path | None = None,
    project: str | None = None,
    raters: tuple[str, ...] = (),
    baseline: str = "",
    k: int = K.default,
    db: str | None = None,
    *,
    all_named: bool = True,
) -> Reproduction:
    """A paper with its own data in a temporary database, and a project's raters if one is named or has them, all of which
    must be in it with `all_named`."""
    from recjudge_tui.files import scratch_folder
    from recjudge_tui.reports.papers.runner import Own, reproduce
    from recjudge_tui.store.schema import connect

    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder())
        paper_db = stack.enter_context(connect(scratch / "recjudge.db"))
        own = None
        if project is not None or raters:
            database = stack.enter_context(open_db(db))
            own = Own(_own_project(database, project, raters), raters, baseline, k, all_named)
        sources: dict[str, Project | Missing] = {}
        if paper == "saer":
            sources = dict(_labels(paper_db, scratch))
        elif paper == "zhang2024":
            sources = _release(paper_db, data, own and own.project)
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
    from recjudge_tui.people.raters import combine
    from recjudge_tui.project import Project
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


def _release(db: Database, data: Path | None, own: Project | None) -> dict[str, Project | Missing]:
    """Zhang et al.'s released scores, and the texts from which metrics are computed."""
    from recjudge_tui.importers.folders import import_zhang2024
    from recjudge_tui.project import Project
    from recjudge_tui.reports.papers.runner import NO_MARKUP, Missing
    from recjudge_tui.reports.papers.text_metrics import with_text_metrics
    from recjudge_tui.store.imports import imported_layouts

    if data is not None:
        for kind, count in import_zhang2024(db, "zhang2024", data).items():
            narrate(f"{count:,} × {kind}")
        release = Project.named(db, "zhang2024")
        return {"release": release, "texts": with_text_metrics(release)}
    if own is not None and "zhang2024" in {
        layout.partition(",")[0] for layout in imported_layouts(own.db, own.id)
    }:
        return {"release": own, "texts": NO_MARKUP}
    none = Missing("needs data", "give the released data with --data, or a project that was imported from it")
    return {"release": none, "texts": none}


def _draw(
    paper: str, figure: str, project: str | None, raters: tuple[str, ...], db: str | None, out: Path | None
) -> None:
    from recjudge_tui.cli.export import put_figure
    from recjudge_tui.domain.occasions import EVERY_OCCASION
    from recjudge_tui.reports.papers.runner import paper_toml

    known = paper_toml(paper)["figures"]
    if figure not in known:
        raise click.UsageError(f"no figure “{figure}” of {paper} can be drawn; these can: {', '.join(known)}")
    with open_db(db) as database:
        own = _own_project(database, project, raters)
        kind, protocol = known[figure]
        put_figure(own, kind, out, {"protocol": protocol}, 1, True, EVERY_OCCASION, (), raters)
