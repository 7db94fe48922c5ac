"""A project as one self-contained HTML file: tables, pictures, settings, versions, prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from recjudge_tui.domain.protocols import offered
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import safe_text
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.reports.common.table import TableText
from recjudge_tui.reports.documents.html_report_parts import NO_PICTURES, SECTIONS, Part, SectionInput
from recjudge_tui.store.database import Database
from recjudge_tui.version import VERSION

_NOT_MADE = "Could not be created: "
_TOLD = (_NOT_MADE, NO_PICTURES)


@dataclass(frozen=True)
class ReportOptions:
    """`sections` empty: all of SECTIONS, in its order. `systems`: those in leaderboards, agreement, shares, flags and
    pictures, and `raters`: those in the same and in position bias; all if empty."""

    sections: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()


def project_report(
    db: Database,
    project_id: int,
    options: ReportOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TableText:
    """The page, and notes for the user (for instance that it has no pictures). Loads SciPy and resamples. `progress` gets
    the number of sections made and that of all.

    Raises UsageError for an unknown section, NotFoundError for an unknown project, system or rater.
    """
    from recjudge_tui.store.data.catalogue import check_systems
    from recjudge_tui.store.projects.projects import project_name
    from recjudge_tui.store.raters.raters import rater_row

    options = options or ReportOptions()
    check_systems(db, project_id, options.systems)
    for name in options.raters:
        rater_row(db, project_id, name)
    for name in options.sections:
        if name not in SECTIONS:
            raise UsageError(f"no section “{name}”", f"Available: {', '.join(SECTIONS)}.")
    chosen = CaseSelection(systems=options.systems)
    section_input = SectionInput(db, project_id, _protocols(db, project_id), chosen, options.raters)
    wanted = [name for name in SECTIONS if not options.sections or name in options.sections]
    parts = {}
    # all sections are about the same verdicts, which are read once
    with db.one_state():
        for done, name in enumerate(wanted):
            if progress is not None:
                progress(done, len(wanted))
            parts[name] = _made(name, section_input)
    caveats = tuple(line for part in parts.values() for line in part.lead if line.startswith(_TOLD))
    return TableText(_page(project_name(db, project_id), parts), caveats)


def _made(name: str, section_input: SectionInput) -> Part:
    """A section. If it fails, the section gives the reason and the rest of the report is unaffected."""
    try:
        return SECTIONS[name].make(section_input)
    except RecjudgeError as error:
        why = " ".join(part for part in (error.cause, error.next_step) if part)
        return Part((f"{_NOT_MADE}{SECTIONS[name].title}: {error.title}. {why}".rstrip(),))


def _protocols(db: Database, project_id: int) -> tuple[str, ...]:
    from recjudge_tui.store.verdicts.ratings import project_questions

    judged = {question.protocol for question in project_questions(db, project_id)}
    return tuple(name for name in offered() if name in judged)


def _page(project: str, parts: Mapping[str, Part]) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    from recjudge_tui.reports.common.writers.html import CSP, STYLE, section

    # these two are HTML already; every text in them was escaped when they were built
    tables = {name: [Markup(section(table, "h3")) for table in part.tables] for name, part in parts.items()}
    drawings = {name: [Markup(picture.svg) for picture in part.pictures] for name, part in parts.items()}
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_safe,
    )
    template = (
        files("recjudge_tui.reports.documents").joinpath("html_report.jinja").read_text(encoding="utf-8")
    )
    return environment.from_string(template).render(
        project=project,
        parts=parts,
        titles={name: report_section.title for name, report_section in SECTIONS.items()},
        tables=tables,
        drawings=drawings,
        style=Markup(STYLE),
        csp=CSP,
        program=f"recjudge {VERSION}",
    )


def _safe(value: object) -> object:
    """Text made safe; HTML is left as it is."""
    return value if hasattr(value, "__html__") else safe_text(value)
