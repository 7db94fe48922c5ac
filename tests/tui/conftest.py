"""No test reads or writes the settings of whoever runs it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def config_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the settings; empty, and not there yet."""
    folder = tmp_path / "settings"
    monkeypatch.setenv("RECJUDGE_CONFIG", str(folder))
    monkeypatch.delenv("RECJUDGE_READER", raising=False)
    return folder
