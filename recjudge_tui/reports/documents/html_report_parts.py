"""The parts of a project's report: tables from other reports, pictures and prompts. Nothing is computed here."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.domain.roles import PEOPLE
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Column, Row, Table, readable
from recjudge_tui.reports.declare import table_of
from recjudge_tui.store.database import SQLITE_VERSION, Database
from recjudge_tui.version import VERSION

_PACKAGES = ("numpy", "scipy", "pydantic", "jinja2", "textual", "matplotlib")
_NO_PERSON = "No person judged anything here, so raters are compared only with each other."
NO_PICTURES = "Without pictures: Matplotlib is not installed (pip install 'recjudge[figures]')."


class Picture(NamedTuple):
    title: str
    svg: str
    caption: str


class Text(NamedTuple):
    title: str
    text: str


@dataclass(frozen=True)
class Part:
    """The content of a section: sentences, then tables, pictures and folded texts."""

    lead: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    texts: tuple[Text, ...] = ()


class SectionInput(NamedTuple):
    """The input of a section; `protocols` are those with verdicts."""

    db: Database
    project_id: int
    protocols: tuple[str, ...]
    resamples: int
    seed: int
    selection: CaseSelection
    raters: tuple[str, ...] = ()


def about(context: SectionInput) -> Part:
    """Versions and the date: everything needed to make the same report again."""
    from recjudge_tui.reports.projects.overview import project_table
    from recjudge_tui.store.migrations import known_migrations

    facts = [
        ("recjudge", VERSION),
        ("database schema", str(known_migrations()[-1].version)),
        ("Python", platform.python_version()),
        ("SQLite", SQLITE_VERSION),
        *((name, _version(name)) for name in _PACKAGES),
        ("written, UTC", datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")),
        ("systems", ", ".join(context.selection.systems) or "all"),
        ("raters", ", ".join(context.raters) or "all"),
        ("users left out one by one, at most", str(context.resamples)),
        ("seed of the groups of users", str(context.seed)),
    ]
    rows: tuple[Row, ...] = tuple({"what": what, "found": finding} for what, finding in facts)
    made_with = Table("Versions", (Column("what", "What"), Column("found", "Version or value")), rows)
    return Part(tables=(project_table(context.db, context.project_id), made_with))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def runs(context: SectionInput) -> Part:
    from recjudge_tui.reports.projects.overview import raters_table, runs_table
    from recjudge_tui.reports.projects.run_settings import run_settings_table

    db, identity = context.db, context.project_id
    tables = (runs_table(db, identity), run_settings_table(db, identity), raters_table(db, identity))
    return Part(tables=tables)


def leaderboards(context: SectionInput) -> Part:
    tables = [
        _declared(context, "leaderboard", protocol=name, method="" if compares_lists(name) else "mean")
        for name in context.protocols
    ]
    return Part(tables=_filled(tables))


def _declared(context: SectionInput, report: str, **options: Any) -> Table:
    """A declared report about the systems and raters of the page, as people read it."""
    project = Project.numbered(context.db, context.project_id)
    made = table_of(project, report, systems=context.selection.systems, raters=context.raters, **options)
    return readable(made)[0]


def agreement(context: SectionInput) -> Part:
    """Every rater against every person and consensus; every pair of raters if no person judged or was named."""
    from recjudge_tui.store.verdicts.ratings import project_raters

    raters = project_raters(context.db, context.project_id)
    people = {name for name, rater in raters.items() if rater.kind in PEOPLE}
    people &= set(context.raters) or people
    tables = [
        replace(_declared(context, "agreement", protocol=name), title=f"Agreement: {name}")
        for name in context.protocols
    ]
    lead = () if people or context.raters else (_NO_PERSON,)
    return Part(lead, _filled(tables))


def shares(context: SectionInput) -> Part:
    tables = [
        replace(
            _declared(context, "leaderboard", protocol=name, method="share"), title=f"Rating shares: {name}"
        )
        for name in context.protocols
        if protocol_facts(name).labels and not compares_lists(name)
    ]
    return Part(tables=_filled(tables))


def metrics(context: SectionInput) -> Part:
    """Offline metrics of the lists, where there are any."""
    project = Project.numbered(context.db, context.project_id)
    table = table_of(project, "metrics", systems=context.selection.systems)
    return Part(tables=_filled([readable(table)[0]]))


def flags(context: SectionInput) -> Part:
    """The items flagged in single lists, and the agreement of raters on them."""
    return Part(tables=_filled(_declared(context, "flags", agreement=agreed) for agreed in (False, True)))


def position(context: SectionInput) -> Part:
    project = Project.numbered(context.db, context.project_id)
    of_pairs = [name for name in context.protocols if compares_lists(name)]
    tables = [table_of(project, "robustness position", protocol=name, gap=False) for name in of_pairs]
    if context.raters:
        tables = [
            replace(
                table, rows=tuple(row for row in table.rows if row["rater"] in context.raters), brief=None
            )
            for table in tables
        ]
    return Part(tables=_filled(tables))


def failures(context: SectionInput) -> Part:
    from recjudge_tui.reports.projects.run_settings import failures_table

    return Part(tables=(failures_table(context.db, context.project_id),))


def cost(context: SectionInput) -> Part:
    from recjudge_tui.reports.projects.cost import cost_table

    table = cost_table(context.db, context.project_id, resamples=context.resamples, seed=context.seed)
    return Part(tables=(table,))


def pictures(context: SectionInput) -> Part:
    """Every figure for which the project has numbers; a leaderboard for each protocol."""
    if find_spec("matplotlib") is None:
        return Part((NO_PICTURES,))
    from recjudge_tui.reports.figures.declared import FIGURES

    wanted = [(name, protocol) for name in FIGURES for protocol in _drawn_of(name, context.protocols)]
    drawn, left_out = [], []
    for number, (name, protocol) in enumerate(wanted):
        try:
            drawn.append(_picture(context, name, protocol, f"p{number}-"))
        except RecjudgeError as error:
            what = f"{name} of {protocol}" if protocol else name
            left_out.append(f"Not drawn: {what} ({error.cause or error.title})")
    return Part(tuple(left_out), pictures=tuple(drawn))


def _drawn_of(name: str, protocols: Iterable[str]) -> Iterator[str | None]:
    if name == "leaderboard":
        yield from protocols
    else:
        yield None


def _picture(context: SectionInput, name: str, protocol: str | None, prefix: str) -> Picture:
    from recjudge_tui.reports.documents.html_report_svg import inline_svg
    from recjudge_tui.project import Project
    from recjudge_tui.reports.figures.declared import figure
    from recjudge_tui.reports.figures.files import draw_picture

    project, systems = Project.numbered(context.db, context.project_id), context.selection.systems
    drawn = figure(project, name, {"protocol": protocol or ""}, systems=systems, raters=context.raters)
    svg = draw_picture(drawn, "svg", 2, caption=False).content.decode("utf-8")
    return Picture(drawn.title, inline_svg(svg, prefix, drawn.title), drawn.caption)


def prompts(context: SectionInput) -> Part:
    """The texts of all prompts that runs of the project used."""
    from recjudge_tui.store.prompts.prompts import prompt_text
    from recjudge_tui.store.runs.runs import list_runs

    used = dict.fromkeys(run["prompt"] for run in reversed(list_runs(context.db, context.project_id)))
    texts = tuple(Text(name, prompt_text(context.db, name)) for name in used)
    return Part(() if texts else ("no run used a prompt",), texts=texts)


def _filled(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The tables with rows, or with a note that says why there are none."""
    return tuple(table for table in tables if table.rows or table.notes)


class Section(NamedTuple):
    title: str
    make: Callable[[SectionInput], Part]


SECTIONS: dict[str, Section] = {
    "about": Section("About", about),
    "runs": Section("Runs and raters", runs),
    "leaderboards": Section("Leaderboards", leaderboards),
    "agreement": Section("Agreement with people", agreement),
    "shares": Section("Rating shares", shares),
    "metrics": Section("Offline metrics", metrics),
    "flags": Section("Flagged items", flags),
    "position": Section("Position consistency", position),
    "failures": Section("Failures", failures),
    "cost": Section("Cost", cost),
    "pictures": Section("Pictures", pictures),
    "prompts": Section("Prompts", prompts),
}
