"""Names from the database: the project to use when none is given, and what a shell completes.

A completion that cannot be made is empty: a shell has nowhere to show an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import click

from recjudge_tui.errors import RecjudgeError

if TYPE_CHECKING:
    from recjudge_tui.store.database import Database

Name = TypeVar("Name")
PROJECT_VARIABLE = "RECJUDGE_PROJECT"


def default_project() -> str | None:
    """RECJUDGE_PROJECT, else the only project, whose name is then printed on stderr.

    Raises click.UsageError if there is no project, or several, which it names.
    """
    ctx = click.get_current_context()
    project, projects = _named_or_only("", lambda: [] if ctx.resilient_parsing else _read(ctx, _projects))
    if len(projects) > 1:
        raise click.UsageError(
            f"name the project with -p, or in {PROJECT_VARIABLE}; available: {', '.join(projects)}", ctx
        )
    if not project and not ctx.resilient_parsing:
        raise click.UsageError(
            "there is no project yet; “recjudge import FILE -p NAME --as items” creates one", ctx
        )
    if projects:
        from recjudge_tui.domain.text import safe_text

        click.echo(f"project: {safe_text(project)}, the only one", err=True)
    return project or None


def complete_project(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    return _beginning(incomplete, _completed(ctx, _projects))


def complete_raters(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The raters of the project; of `A,B,...` the last one."""
    from recjudge_tui.store.raters.raters import list_raters

    return _last_of_list(
        incomplete, _of_project(ctx, lambda db, project: [r["name"] for r in list_raters(db, project)])
    )


def complete_systems(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The systems of the project; of `A,B,...` the last one."""
    from recjudge_tui.store.data.catalogue import systems

    return _last_of_list(incomplete, _of_project(ctx, lambda db, project: list(systems(db, project))))


def complete_prompt(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The prompts by name, and with their versions after an @."""
    from recjudge_tui.store.prompts.prompts import list_prompts, load_shipped

    def read(db: Database) -> list[tuple[str, int]]:
        load_shipped(db)
        return [(row["name"], row["version"]) for row in list_prompts(db)]

    rows = _completed(ctx, read)
    if "@" in incomplete:
        return _beginning(incomplete, (f"{name}@{version}" for name, version in rows))
    return _beginning(incomplete, dict.fromkeys(name for name, _ in rows))


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The ids of the runs, newest first."""
    from recjudge_tui.store.runs.runs import list_runs

    return _beginning(incomplete, _completed(ctx, lambda db: [str(row["id"]) for row in list_runs(db)]))


def _named_or_only(option: str, projects: Callable[[], list[str]]) -> tuple[str, list[str]]:
    """The option, else RECJUDGE_PROJECT, else the only project ("" if there is none or several); and the names of all
    projects, empty if one was named."""
    if named := option or os.environ.get(PROJECT_VARIABLE):
        return named, []
    names = projects()
    return names[0] if len(names) == 1 else "", names


def _projects(db: Database) -> list[str]:
    from recjudge_tui.store.projects.projects import project_names

    return [name for _, name in project_names(db)]


def _of_project(ctx: click.Context, names: Callable[[Database, int], list[str]]) -> list[str]:
    from recjudge_tui.store.projects.projects import find_project

    def read(db: Database) -> list[str]:
        name, _ = _named_or_only(ctx.params.get("project") or "", lambda: _projects(db))
        identity = find_project(db, name)
        return [] if identity is None else names(db, identity)

    return _completed(ctx, read)


def _completed(ctx: click.Context, read: Callable[[Database], list[Name]]) -> list[Name]:
    try:
        return _read(ctx, read)
    except (RecjudgeError, OSError):
        return []


def _read(ctx: click.Context, read: Callable[[Database], list[Name]]) -> list[Name]:
    """`read` of the database that the command line names; nothing where there is no file."""
    from recjudge_tui.settings import database_path
    from recjudge_tui.store.opening import connect

    path = database_path(ctx.params.get("db") or ctx.find_root().params.get("db"))
    if not path.exists():
        return []
    with connect(path) as db:
        return read(db)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _last_of_list(incomplete: str, names: list[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in taken]
