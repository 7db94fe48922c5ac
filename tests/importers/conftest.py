"""A short way to write a file and import it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from tests.support.importing import Load


@pytest.fixture
def load(db: Database, tmp_path: Path) -> Load:
    """`load(kind, content, name="in.csv", **options)`: writes the file, imports it into project `p`. The text of a mapping
    is written to m.toml."""

    def run(kind: ImportKind, content: str | bytes, name: str = "in.csv", **options: Any) -> ImportSummary:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if isinstance(text := options.get("mapping"), str):
            options["mapping"] = tmp_path / "m.toml"
            options["mapping"].write_text(text, encoding="utf-8")
        return import_files(db, "p", [path], kind, **options)

    return run
