"""A project as one self-contained HTML file: a list of declared reports as people read them, pictures, settings, prompts."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import quote

from recjudge_tui.domain.protocols import compares_lists, offered, protocol_facts
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError, UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports import listings
from recjudge_tui.reports.cases import case_text
from recjudge_tui.reports.common.rows import readable
from recjudge_tui.reports.common.table import Row, Table, TableText, columns, note_kind
from recjudge_tui.reports.common.writers.documents import CSP, STYLE, section
from recjudge_tui.reports.declare import REPORTS, table_of
from recjudge_tui.reports.figures.declared import FIGURES, figure
from recjudge_tui.reports.figures.files import draw_picture
from recjudge_tui.reports.home import conclusion, whole_home
from recjudge_tui.reports.passport import NOT_MEASURED
from recjudge_tui.store.data import check_systems
from recjudge_tui.store.database import SQLITE_VERSION
from recjudge_tui.store.prompts import prompt_text
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import project_questions
from recjudge_tui.store.runs import list_runs
from recjudge_tui.store.verdicts import VerdictRow
from recjudge_tui.version import VERSION

_PACKAGES = ("numpy", "scipy", "pydantic", "jinja2", "textual")
_NOT_MADE = "Could not be created: "
NO_PICTURES = "Without pictures: Matplotlib is not installed (pip install 'recjudge[figures]')."


# on the first page
_BOARD_ROWS, _CHECKS, _THEMES, _SLICES, _TO_READ = 8, 10, 5, 3, 10
_ONE_PAGE = "The first page is about the whole project; systems and raters are chosen, so it is left out."


class Part(NamedTuple):
    """A section: sentences, tables, pictures (title, SVG as a URL, caption), folded texts (title, text)."""

    lead: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[tuple[str, str, str]] = ()
    texts: Sequence[tuple[str, str]] = ()


class Page(NamedTuple):
    """What the sections are made of: `protocols` with verdicts, and the systems and raters on the page; all if empty."""

    project: Project
    systems: tuple[str, ...]
    raters: tuple[str, ...]
    protocols: tuple[str, ...]

    def report(self, name: str, **options: Any) -> Table:
        """A declared report about the systems and raters of the page, as people read it."""
        declared = REPORTS[name]
        of_page = {"systems": self.systems, "raters": self.raters}
        given = {name: value for name, value in of_page.items() if value and declared.option(name)}
        table = readable(table_of(self.project, name, **given, **options))[0]
        wanted = self.raters
        if wanted and not declared.option("raters") and any("rater" in row for row in table.rows):
            rows = tuple(row for row in table.rows if row.get("rater") in wanted)
            # the answer may be about a rater who is not of the page
            table = replace(table, rows=rows, answer=table.answer if rows == table.rows else "")
        return table


class Section(NamedTuple):
    """A section: a declared report by name, made once or, with `choose`, for each protocol with these options (None: it is
    not of it); or a function."""

    title: str
    report: str = ""
    choose: Callable[[str], dict[str, Any] | None] | None = None
    make: Callable[[Page], Part] | None = None


def _ranked(protocol: str) -> dict[str, Any]:
    return {"protocol": protocol, "method": "" if compares_lists(protocol) else "mean"}


def _shares(protocol: str) -> dict[str, Any] | None:
    labelled = protocol_facts(protocol).labels and not compares_lists(protocol)
    return {"protocol": protocol, "method": "share"} if labelled else None


def first_page(page: Page) -> Part:
    """One page to hand on: the conclusion, the board, how far to trust it, why, where, what to read, what it cost, and what
    is missing before one may act on it."""
    if page.systems or page.raters:
        return Part((_ONE_PAGE,))
    home = whole_home(page.project)
    subject, tables = home.subject, []
    lead = [*conclusion(home)] or ["There is no conclusion yet: nothing was judged."]
    if subject is not None and subject.topic is not None and subject.rater:
        asked = {"protocol": subject.topic.protocol, "aspect": subject.topic.aspect, "rater": subject.rater}
        board = page.report("leaderboard", **asked)
        tables.append(_top(board, "The board", _BOARD_ROWS, keep_answer=False))
        trust = _found(page, "passport", rater=subject.rater)
        if trust is not None:
            measured = _measured(trust, subject.topic.protocol)
            tables.append(_top(measured, "How far to trust it", _CHECKS, keep_answer=False))
        leading = [str(row["system"]) for row in (home.board.lines if home.board is not None else ())[:2]]
        for name, title, most, more in (
            ("why", "Why", _THEMES, {}), ("leaderboard", "Where it differs", _SLICES, {"slices": True}),
        ):  # fmt: skip
            found = _found(page, name, systems=tuple(leading), **asked, **more) if len(leading) == 2 else None
            if found is not None and found.rows:
                tables.append(_top(found, title, most))
            elif found is not None and found.answer:
                lead.append(f"{title}: {found.answer}")
    first = (home.first or ())[:_TO_READ]
    if first:
        rows: tuple[Row, ...] = tuple(
            {
                "case": str(one.row.case_id), "user": one.row.user_id, "systems": " and ".join(one.row.systems),
                "label": _said(one.row), "why": one.reason,
            }
            for one in first
        )  # fmt: skip
        heads = columns("case|Case", "user|User", "systems|Lists", "label|Verdict", "why|Why")
        tables.append(Table("Read these first", heads, rows, ("Their lists and reasoning stand below.",)))
    cost = page.report("cost")
    lead += [f"Cost: {cost.answer}"] if cost.answer else []
    gaps = [*(gap.text for gap in home.gaps), *(step.text for step in home.steps if not step.done)]
    gaps += [home.agreement.reason] if home.agreement is not None and home.agreement.reason else []
    lead += [f"Missing before acting on it: {'; '.join(dict.fromkeys(gaps))}."] if gaps else []
    cases = {f"Case {one.row.case_id}: {one.row.user_id}": one.row.case_id for one in first}
    texts = [(title, case_text(page.project.db, case, 100)) for title, case in cases.items()]
    return Part(lead, tables, texts=texts)


def _measured(passport: Table, protocol: str) -> Table:
    """What was measured of how well a judge judges, about the board's protocol first; its price stands elsewhere."""
    known = [
        row for row in passport.rows
        if row["value"] != NOT_MEASURED and not str(row["figure"]).startswith(("price", "latency"))
    ]  # fmt: skip
    return replace(passport, rows=tuple(sorted(known, key=lambda row: protocol not in str(row["of"]))))


def _said(verdict: VerdictRow) -> str:
    """The verdict in a word: of two lists the system that won, by its name."""
    if len(verdict.systems) == 2 and verdict.value:
        return verdict.systems[verdict.value < 0]
    return verdict.label or "failed"


def _top(table: Table, title: str, most: int, *, keep_answer: bool = True) -> Table:
    """The first rows of a report, under a heading of the page, with its warnings alone."""
    notes = tuple(note for note in table.notes if note_kind(note) == "warning")
    answer = table.answer if keep_answer else ""
    return replace(table, title=title, rows=table.rows[:most], notes=notes, answer=answer)


def _found(page: Page, name: str, **options: Any) -> Table | None:
    """A report that may have nothing to say here: None, then. Without a finding only its answer."""
    try:
        table = table_of(page.project, name, **options)
    except UsageError:
        return None
    shown = readable(table)[0]
    return shown if table.facts.get("findings", 1) else replace(shown, rows=())


def about(page: Page) -> Part:
    """Versions and the date: everything needed to make the same report again."""
    facts = {"recjudge": VERSION, "Python": platform.python_version(), "SQLite": SQLITE_VERSION}
    facts |= {name: version(name) for name in _PACKAGES}
    facts["written, UTC"] = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    facts |= {name: ", ".join(getattr(page, name)) or "all" for name in ("systems", "raters")}
    rows: tuple[Row, ...] = tuple({"what": what, "found": found} for what, found in facts.items())
    made_with = Table("Versions", columns("what|What", "found|Version or value"), rows)
    return Part(tables=(listings.project(page.project), made_with))


def runs(page: Page) -> Part:
    reports = (table for name in ("runs settings", "rater list") for table in _tables(page, name))
    return Part(tables=(listings.runs(page.project.db, page.project), *reports))


def pictures(page: Page) -> Part:
    """Every figure for which the project has numbers; a leaderboard for each protocol."""
    if find_spec("matplotlib") is None:
        return Part((NO_PICTURES,))
    wanted = ((name, p) for name in FIGURES for p in (page.protocols if name == "leaderboard" else ("",)))
    drawn, left_out = [], []
    for name, protocol in wanted:
        try:
            of = figure(page.project, name, {"protocol": protocol}, systems=page.systems, raters=page.raters)
            # an image runs no scripts and loads nothing, and its ids are its own
            svg = quote(draw_picture(of, "svg", 2, caption=False)[0], safe=" !$()*,/:;=?@[]^{|}~+")
            drawn.append((of.title, f"data:image/svg+xml,{svg}", of.caption))
        except RecjudgeError as error:
            what = f"{name} of {protocol}" if protocol else name
            left_out.append(f"Not drawn: {what} ({error.cause or error.title})")
    return Part(left_out, pictures=drawn)


def prompts(page: Page) -> Part:
    """The texts of all prompts that runs of the project used."""
    db = page.project.db
    used = dict.fromkeys(run["prompt"] for run in reversed(list_runs(db, page.project.id)))
    texts = [(name, prompt_text(db, name)) for name in used]
    return Part(() if used else ("no run used a prompt",), texts=texts)


FIRST_PAGE = "summary"
SECTIONS: dict[str, Section] = {
    FIRST_PAGE: Section("In short", make=first_page),
    "about": Section("About", make=about),
    "runs": Section("Runs and raters", make=runs),
    "leaderboards": Section("Leaderboards", "leaderboard", _ranked),
    "agreement": Section("Agreement with people", "agreement", lambda p: {"protocol": p}),
    "shares": Section("Rating shares", "leaderboard", _shares),
    "metrics": Section("Offline metrics", "metrics"),
    "flags": Section("Flagged items", "flags"),
    "position": Section(
        "Position consistency",
        "robustness position",
        lambda p: {"protocol": p} if compares_lists(p) else None,
    ),
    "biases": Section("Biases", "biases"),
    "failures": Section("Failures", "runs failures"),
    "cost": Section("Cost", "cost"),
    "pictures": Section("Pictures", make=pictures),
    "prompts": Section("Prompts", make=prompts),
}


def project_report(
    project: Project, sections: Sequence[str] = (), systems: tuple[str, ...] = (), raters: tuple[str, ...] = (),
    progress: Callable[[int, int], None] | None = None,
) -> TableText:  # fmt: skip
    """The page about these systems and raters (none: all), and notes for the user (for instance that it has no
    pictures). `sections`: some of SECTIONS, in its order; none: all. `progress` gets the number of sections made and
    that of all. Raises UsageError for an unknown section, NotFoundError for an unknown system or rater."""
    check_systems(project.db, project.id, systems)
    for name in raters:
        rater_row(project.db, project.id, name)
    check_known("section", sections, SECTIONS)
    wanted = [name for name in SECTIONS if not sections or name in sections]
    parts: dict[str, Part] = {}
    # all sections are about the same verdicts, which are read once
    with project.one_state():
        judged = {question.protocol for question in project_questions(project.db, project.id)}
        page = Page(project, systems, raters, tuple(name for name in offered() if name in judged))
        for done, name in enumerate(wanted):
            if progress is not None:
                progress(done, len(wanted))
            parts[name] = _made(page, SECTIONS[name])
    said = (line for part in parts.values() for line in part.lead)
    caveats = tuple(line for line in said if line.startswith((_NOT_MADE, NO_PICTURES)))
    return TableText(_written(project.name, parts), caveats)


def _made(page: Page, section: Section) -> Part:
    """A section. If it fails, it gives the reason and the rest of the page is unaffected."""
    try:
        if section.make is not None:
            return section.make(page)
        return Part(tables=[*_tables(page, section.report, section.choose)])
    except RecjudgeError as error:
        why = " ".join(part for part in (error.cause, error.next_step) if part)
        return Part((f"{_NOT_MADE}{section.title}: {error.title}. {why}".rstrip(),))


def _tables(
    page: Page, name: str, choose: Callable[[str], dict[str, Any] | None] | None = None
) -> Iterator[Table]:
    """The tables with rows, or with a note that says why there are none."""
    for options in [{}] if choose is None else map(choose, page.protocols):
        if options is not None:
            table = page.report(name, **options)
            if table.rows or table.notes or table.answer:
                yield table


def _written(project: str, parts: dict[str, Part]) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    # HTML already: every text in them was escaped when they were built
    tables = {name: [Markup(section(table, "h3")) for table in part.tables] for name, part in parts.items()}
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
        finalize=lambda value: value if hasattr(value, "__html__") else safe_text(value),
    )  # fmt: skip
    template = files("recjudge_tui.reports").joinpath("html_report.jinja").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        project=project, parts=parts, titles={name: of.title for name, of in SECTIONS.items()}, tables=tables,
        style=Markup(STYLE), csp=CSP, first=FIRST_PAGE, folded=FIRST_PAGE in parts, program=f"recjudge {VERSION}",
    )  # fmt: skip
