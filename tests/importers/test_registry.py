"""Layouts of other packages, found by their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.layout import Layout, Request
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.registry import layouts
from recjudge_tui.importers.values import Row
from recjudge_tui.store.database import Database


def _nothing_right(_request: Request) -> Iterator[Row]:
    yield 1, {"user_id": "u", "system": "s"}


BROKEN = Layout("broken", ("events", "lists"), "lacks columns", lambda sample, kind: False, _nothing_right)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with a layout, as pip would leave it; returns a folder for files."""
    site = tmp_path / "site"
    info = site / "other_importers-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-importers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[recjudge.importers]\nbroken = other_importers:BROKEN\n")
    monkeypatch.syspath_prepend(str(site))
    module = type(pytest)("other_importers")
    module.__dict__.update(BROKEN=BROKEN, NOT_ONE="text")
    monkeypatch.setitem(__import__("sys").modules, "other_importers", module)
    return tmp_path


def test_a_layout_whose_rows_lack_a_column(installed: Path, db: Database) -> None:
    file = installed / "log.txt"
    file.write_text("anything\n")
    with pytest.raises(InputError, match="does not have type, item_id"):
        import_files(db, "p", [file], "events", layout="broken")


@pytest.mark.parametrize(
    ("target", "says"), [("other_importers:NOPE", "cannot be loaded"), ("other_importers:NOT_ONE", "is not a recjudge")]
)  # fmt: skip
def test_a_broken_package_is_left_out(installed: Path, db: Database, target: str, says: str) -> None:
    points = installed / "site" / "other_importers-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[recjudge.importers]\nbad = {target}\n")
    assert "bad" not in {layout.name for layout in layouts()}
    with pytest.raises(UsageError, match=says):
        import_files(db, "p", [points], "events", layout="bad")
