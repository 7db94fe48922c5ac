"""`--db` before a command's name means the same as after it."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from recjudge_tui.cli.app import recjudge
from tests.support.commands import commands, ran

WITH_DATABASE = [
    (name, command) for name, command in commands() if any(p.name == "db" for p in command.params)
]


@pytest.mark.parametrize("command", [c for _, c in WITH_DATABASE], ids=[n for n, _ in WITH_DATABASE])
def test_every_command_takes_the_file_named_before_it(command: click.Command) -> None:
    before = click.Context(recjudge, info_name="recjudge")
    before.params = {"db": "before.db"}
    option = next(p for p in command.params if p.name == "db")
    with click.Context(command, parent=before) as context:
        assert option.consume_value(context, {})[0] == "before.db"
        assert option.consume_value(context, {"db": "after.db"})[0] == "after.db"


def test_nothing_is_written_elsewhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, named = tmp_path / "elsewhere.db", tmp_path / "named.db"
    monkeypatch.setenv("RECJUDGE_DB", str(elsewhere))
    assert ran(capsys, "--db", str(named), "project", "new", "films")[0] == 0
    assert "films" in ran(capsys, "--db", str(named), "project", "list")[1]
    assert not elsewhere.exists()
    assert ran(capsys, "--db", str(elsewhere), "project", "list", "--db", str(named))[1].count("films") == 1
