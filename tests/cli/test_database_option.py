"""`--db` before a command's name means the same as after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import ran


def test_nothing_is_written_elsewhere(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, named = tmp_path / "elsewhere.db", tmp_path / "named.db"
    monkeypatch.setenv("RECJUDGE_DB", str(elsewhere))
    assert ran(capsys, "--db", str(named), "project", "new", "films")[0] == 0
    assert "films" in ran(capsys, "--db", str(named), "project", "list")[1]
    assert not elsewhere.exists()
    assert ran(capsys, "--db", str(elsewhere), "project", "list", "--db", str(named))[1].count("films") == 1
