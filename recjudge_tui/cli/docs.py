"""`recjudge docs`: the pages of docs/, which the wheel carries, and the reference pages, which are made from the program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

import click

from recjudge_tui.errors import UsageError
from recjudge_tui.settings import data_dir

_EVENTS = """# Types of events

The type of an event decides where a judge sees it, and whether it means that the user has or knows the item. Recommending
such an item again is an issue, and adversarial pairs leave it out. Types are free text: a type belongs to the first row that
has a beginning with which the type or one of its words begins. Case, spaces and punctuation do not matter (`Add to Cart`).

{table}

- **Unknown types**: the import names them. A judge sees these events under their own name among the other events, never as
  a purchase, and they do not mean that the user has the item.
- **Held out**: types that begin with `heldout_` are never shown to a judge, nor are copies of them, nor columns of a table
  of users whose names begin with `heldout_`.
- **Values**: an event that has a value shows it (`rated 4 on a scale of 1 to 5`) where the scale is known: MovieLens,
  Amazon Reviews, Yelp.
- Impressions and unknown types do not count as activity in the preferences that are derived from recent events.
"""
_KEYS = """# Keys

`?` shows the keys of the current screen, including [your own](settings.md). These are the defaults:

{table}
"""
_LAYOUTS = """# Layouts

The layout of a file is recognised from its content; `--layout NAME` names one, and `recjudge import --show-layout NAME`
prints those that are declared as data, to copy and change ([mapping.md](mapping.md)).

{table}
"""
_COMMANDS = (
    "# Commands\n\nEach command prints this with `--help`. Names in capitals stand for your own values.\n"
)
_WIDTH = 100


def commands_page() -> str:
    from recjudge_tui.cli.app import recjudge

    parts = [_COMMANDS]
    for words, found in _commands("recjudge", recjudge):
        context = click.Context(found, info_name=words, terminal_width=_WIDTH, max_content_width=_WIDTH)
        parts.append(f"## {words}\n\n```text\n{found.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(words: str, found: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield words, found
    if isinstance(found, click.Group):
        context = click.Context(found, info_name=words)
        for name in found.list_commands(context):
            child = found.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _commands(f"{words} {name}", child)


def keys_page() -> str:
    from recjudge_tui.cli.app import checked_settings
    from recjudge_tui.config_file import SettingsFile, config_path

    rows = (
        (f"`{row.id}`", " ".join(f"`{key}`" for key in row.keys).replace("|", "\\|"), row.does, row.where)
        for row in checked_settings(SettingsFile(config_path()))[0]
    )
    return _KEYS.format(table=_table(("id", "keys", "what it does", "where"), rows))


def events_page() -> str:
    from recjudge_tui.domain.event_types import EVENT_KINDS

    shown = {"history": "history", "search": "searches", "click": "clicks", "browse": "browsed categories"}
    owned = {True: "yes", False: "no"}
    rows = (
        (x.name, ", ".join(x.stems), shown.get(x.part, "other events"), owned[x.owned]) for x in EVENT_KINDS
    )
    return _EVENTS.format(table=_table(("type", "beginnings", "shown among", "owned"), rows))


def layouts_page() -> str:
    from recjudge_tui.importers.registry import layouts

    rows = ((f"`{layout.name}`", ", ".join(layout.kinds), layout.about) for layout in layouts())
    return _LAYOUTS.format(table=_table(("layout", "kinds", "what it is"), rows))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# pages that no file holds: what makes each, and its title
MADE: dict[str, tuple[Callable[[], str], str]] = {
    "commands": (commands_page, "Commands"),
    "events": (events_page, "Types of events"),
    "keys": (keys_page, "Keys"),
    "layouts": (layouts_page, "Layouts"),
}


def page_names() -> list[str]:
    return sorted({path.stem for path in data_dir("docs").glob("*.md")} | set(MADE))


def page(name: str) -> str:
    """A page as Markdown. Raises UsageError with the names that there are."""
    if name in MADE:
        return MADE[name][0]()
    if name not in page_names():
        raise UsageError(f"there is no page “{name}”", next_step=f"The pages are: {', '.join(page_names())}.")
    return (data_dir("docs") / f"{name}.md").read_text(encoding="utf-8")


def docs(name: str | None) -> None:
    if name is None:
        click.echo("\n".join(f"{found:<18}{_title(found)}" for found in page_names()))
        return
    text = page(name.removesuffix(".md"))
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    # without styles: whether a pager shows them depends on how it is set
    console = Console(width=min(Console().width, _WIDTH), color_system=None)
    with console.capture() as shown:
        console.print(Markdown(text, hyperlinks=False))
    click.echo_via_pager(shown.get())


def _title(name: str) -> str:
    if name in MADE:
        return MADE[name][1]
    return next((line[2:] for line in page(name).splitlines() if line.startswith("# ")), "")
