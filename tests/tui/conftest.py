"""No test reads or writes the settings of whoever runs it, or asks the model servers and keys of that machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.judges import local_servers
from recjudge_tui.tui import app
from recjudge_tui.tui import runs as monitor


@pytest.fixture(autouse=True)
def config_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the settings; empty, and not there yet."""
    folder = tmp_path / "settings"
    monkeypatch.setenv("RECJUDGE_CONFIG", str(folder))
    return folder


@pytest.fixture(autouse=True)
def no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server and no key of the machine that runs the tests is found; a test names its own."""
    monkeypatch.setattr(local_servers, "USUAL", {})
    # the servers of tests share a busy machine
    monkeypatch.setattr(local_servers, "WITHIN_S", 20.0)
    # nothing answers at the port for discarding, which only root may open
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setattr(local_servers, "found_files", lambda *, ollama: [])


@pytest.fixture(autouse=True)
def runs_are_looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "POLL_S", 0.3)
    monkeypatch.setattr(monitor, "_OTHER_STAGE_POLL_S", 0.3)
