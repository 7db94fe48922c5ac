"""Every command of the program, and a way to run one."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from recjudge_tui.cli.app import NAMES, main, recjudge


def commands() -> Iterator[tuple[str, click.Command]]:
    def below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for word in command.list_commands(context):
                found = command.get_command(context, word)
                assert found is not None
                yield from below(f"{name} {word}", found)
        else:
            yield name, command

    for word in NAMES:
        found = recjudge.get_command(click.Context(recjudge), word)
        assert found is not None
        yield from below(word, found)


def formats_of(command: click.Command) -> tuple[str, ...]:
    for option in command.params:
        if option.name == "fmt" and isinstance(option.type, click.Choice):
            return tuple(map(str, option.type.choices))
    return ()


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as done:
        main(list(words))
    out, err = capsys.readouterr()
    return int(done.value.code or 0), out, err
