"""Commands that print results and are not declared reports: `outcome add`, `methods`, `report`, `reproduce`."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recjudge_tui.cli.export import put_figure
from recjudge_tui.cli.options import chosen_judge, only_with_judge
from recjudge_tui.cli.output import counting, format_of, narrate, open_db, put, working
from recjudge_tui.cli.running import tell_plans, work_through
from recjudge_tui.domain.occasions import EVERY_OCCASION, parse_time
from recjudge_tui.files import scratch_folder
from recjudge_tui.importers.folders import import_zhang2024
from recjudge_tui.importers.load import import_files
from recjudge_tui.people.raters import combine
from recjudge_tui.project import Project
from recjudge_tui.reports import methods as texts
from recjudge_tui.reports.declare import K, make
from recjudge_tui.reports.html_report import project_report
from recjudge_tui.reports.outcomes import outcome_of
from recjudge_tui.reports.papers import runner
from recjudge_tui.reports.papers.text_metrics import with_text_metrics
from recjudge_tui.runs.groups import is_finished, paper_experiment, plan_experiment
from recjudge_tui.store.data import known_systems
from recjudge_tui.store.imports import imported_layouts
from recjudge_tui.store.projects import add_outcome, project_names
from recjudge_tui.store.ratings import project_raters
from recjudge_tui.store.schema import connect

if TYPE_CHECKING:
    from recjudge_tui.cli.command import Printed
    from recjudge_tui.cli.output import Output
    from recjudge_tui.domain.judge import JudgeAddress
    from recjudge_tui.store.database import Database


def outcome_add(
    project: Project, systems: tuple[str, ...], impressions: str, clicks: str, name: str | None, **given: Any
) -> Output:
    began, ended = given["from_"], given["to"]
    start = parse_time(began, of_day=time.min) if began else ""
    end = parse_time(ended) if ended else ""
    if start and end and start > end:
        raise click.UsageError(f"--from {began} is after --to {ended}")
    users = given["users_a"], given["users_b"]
    experiment = outcome_of(systems, impressions, clicks, name, start, end, users)
    add_outcome(project.db, project.id, experiment)
    known = known_systems(project.db, project.id)
    for system in (experiment.system_a, experiment.system_b):
        if system not in known:
            narrate(f"system “{system}” is not in the project, so no rater has judged it")
    narrate(f"experiment “{experiment.name}” recorded")
    return make(project, "outcome show", name=experiment.name)


_TEXTS = ("text", "md", "latex")


def methods(project: Project, raters: tuple[str, ...], statistics: tuple[str, ...], bibtex: bool) -> Printed:
    described = texts.methods(project, raters, statistics)
    if bibtex:
        return described.bibtex

    def report(fmt: str) -> Output:
        if fmt not in _TEXTS:
            return texts.methods_page(described)
        meta = click.get_current_context().meta
        whole = bool(meta.get("recjudge.all") or meta.get("recjudge.file"))
        if fmt == "text" and not whole:
            narrate(f"{len(described.works)} works are cited: --bibtex prints them, --all both")
        return texts.methods_text(described, fmt, whole=whole)

    return report


def report(
    project: Project,
    out: Path | None,
    sections: tuple[str, ...],
    systems: tuple[str, ...],
    raters: tuple[str, ...],
) -> None:
    with counting("report", "sections") as advance:
        written = project_report(project, sections, systems, raters, advance)
    for note in written.notes:
        narrate(note)
    put(written.text.removesuffix("\n"), None, out)


_DIFFERS = 3


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
    chosen, baseline = given["raters"], given["baseline"]
    if spec is None:
        only_with_judge(given | {"address": address}, "sample", "budget_usd", "dry_run", "yes")
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
    judge = chosen_judge(spec, address)
    with open_db(db) as database:
        own = Project.named(database, project)
        with counting("planning", "cases") as advance:
            experiment, left_out = paper_experiment(
                database, own.id, runner.paper_toml(paper)["runs"], judge,
                baseline=given["baseline"], sample=given["sample"], budget=given["budget_usd"],
            )  # fmt: skip
            drafts = plan_experiment(database, experiment, dry_run=True, progress=advance)
        tell_plans(database, drafts, experiment.requests)
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
) -> runner.Reproduction:
    """A paper with its own data in a temporary database, and a project's raters if one is named or has them, all of which
    must be in it with `all_named`."""
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder())
        paper_db = stack.enter_context(connect(scratch / "recjudge.db"))
        own = None
        if project is not None or raters:
            database = stack.enter_context(open_db(db))
            own = runner.Own(_own_project(database, project, raters), raters, baseline, k, all_named)
        sources: dict[str, Project | runner.Missing] = {}
        if paper == "saer":
            sources = dict(_labels(paper_db, scratch))
        elif paper == "zhang2024":
            sources = _release(paper_db, data, own and own.project)
        return runner.reproduce(paper, sources, own)


def _own_project(database: Database, project: str | None, raters: tuple[str, ...]) -> Project:
    """The named project, else the only one that has these raters."""
    if project is not None:
        return Project.named(database, project)
    known = [identity for identity, _ in project_names(database)]
    holding = [identity for identity in known if set(raters) <= project_raters(database, identity).keys()]
    if len(holding) != 1:
        number = "no project has" if not holding else f"{len(holding)} projects have"
        raise click.UsageError(f"{number} a rater {', '.join(raters)}: name the project with -p")
    return Project.numbered(database, holding[0])


def _labels(db: Database, scratch: Path) -> Iterator[tuple[str, Project]]:
    """SAER's labels rebuilt from its counts, imported and combined as anybody's."""
    for labels in runner.paper_toml("saer")["labels"]:
        name = labels["project"]
        path = scratch / f"{name}.csv"
        rows = list(runner.rebuilt_labels(labels))
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), restval="")
            writer.writeheader()
            writer.writerows(rows)
        import_files(db, name, [path], "labels")
        made = Project.named(db, name)
        if "consensus" in labels:
            combine(db, made.id, labels["consensus"], "conservative", labels["raters"][1:])
        yield name, made


def _release(db: Database, data: Path | None, own: Project | None) -> dict[str, Project | runner.Missing]:
    """Zhang et al.'s released scores, and the texts from which metrics are computed."""
    if data is not None:
        for kind, count in import_zhang2024(db, "zhang2024", data).items():
            narrate(f"{count:,} × {kind}")
        release = Project.named(db, "zhang2024")
        return {"release": release, "texts": with_text_metrics(release)}
    if own is not None and "zhang2024" in {
        layout.partition(",")[0] for layout in imported_layouts(own.db, own.id)
    }:
        return {"release": own, "texts": runner.NO_MARKUP}
    none = runner.Missing(
        "needs data", "give the released data with --data, or a project that was imported from it"
    )
    return {"release": none, "texts": none}


def _draw(
    paper: str, figure: str, project: str | None, raters: tuple[str, ...], db: str | None, out: Path | None
) -> None:
    known = runner.paper_toml(paper)["figures"]
    if figure not in known:
        raise click.UsageError(f"no figure “{figure}” of {paper} can be drawn; these can: {', '.join(known)}")
    with open_db(db) as database:
        own = _own_project(database, project, raters)
        kind, protocol = known[figure]
        put_figure(own, kind, out, EVERY_OCCASION, (), raters, protocol=protocol)
