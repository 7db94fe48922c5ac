"""Write docs/commands.md, the page of all commands, from the program: python docs/make_commands.py

The page is not kept in the repository: it is made anew each time the site is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from recjudge_tui.cli.app import recjudge

PAGE = Path(__file__).resolve().parent / "commands.md"
_HEAD = "# Commands\n\nEach command prints this with `--help`. Names in capitals stand for your own values.\n"


def page() -> str:
    parts = [_HEAD]
    for words, command in _commands("recjudge", recjudge):
        context = click.Context(command, info_name=words, terminal_width=100, max_content_width=100)
        parts.append(f"## {words}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _commands(f"{words} {name}", child)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
