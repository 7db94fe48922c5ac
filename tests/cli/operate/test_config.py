from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "settings"))
    (tmp_path / "settings").mkdir()
    return tmp_path / "settings"


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(recjudge, words)
    return result.exit_code, result.stdout, result.stderr


def test_show_prints_the_settings_in_effect_and_their_source(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, said, _ = run("config", "show", "--format", "json")
    assert json.loads(said)["rows"] == [
        {"setting": "theme", "value": "recjudge", "from": "shipped"},
        {"setting": "reader", "value": "reader", "from": "shipped"},
        {"setting": "judge", "value": "none", "from": "shipped"},
    ]
    assert "which does not exist yet" in said
    text = (
        '[app]\ntheme = "recjudge-light"\nreader = "Ada"\n[run]\njudge = "rules"\n[keys]\ncases.sort = "f8"\n'
    )
    (folder / "config.toml").write_text(text, encoding="utf-8")
    code, said, _ = run("config", "show", "--format", "json")
    assert code == 0
    assert json.loads(said)["rows"] == [
        {"setting": "theme", "value": "recjudge-light", "from": "config.toml:2"},
        {"setting": "reader", "value": "Ada", "from": "config.toml"},
        {"setting": "judge", "value": "rules", "from": "config.toml:5"},
        {"setting": "cases.sort", "value": "f8", "from": "config.toml:7"},
    ]
    monkeypatch.setenv("RECJUDGE_READER", "Bea")
    _, said, _ = run("config", "show", "--format", "json")
    assert json.loads(said)["rows"][1] == {"setting": "reader", "value": "Bea", "from": "RECJUDGE_READER"}


def test_keys_lists_every_binding_and_where_it_is_changed(folder: Path) -> None:
    code, said, _ = run("config", "keys", "--format", "json")
    rows = {row["id"]: row for row in json.loads(said)["rows"]}
    assert code == 0
    assert len(rows) > 100
    assert rows["cases.filter"]["keys"] == "/"
    assert rows["app.back"]["where"] == "every screen"
    (folder / "config.toml").write_text('[keys]\ncases.sort = "f8, f9"\n', encoding="utf-8")
    code, said, _ = run("config", "keys", "--changed", "--format", "json")
    (row,) = json.loads(said)["rows"]
    assert (row["id"], row["keys"], row["changed"]) == ("cases.sort", "f8, f9", "config.toml:2, shipped s")
