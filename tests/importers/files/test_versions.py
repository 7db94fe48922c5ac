"""A file that another program is still writing is not imported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from tests.support.importing import Load

LISTS = "user_id,system,item_id,rank\nu,s,1,1\n"


def _grown(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("u,s,2,2\n")


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(LISTS, encoding="utf-8")
    other.replace(path)


def _touched(path: Path) -> None:
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("change", [_grown, _replaced, _touched, Path.unlink])
def test_a_file_that_changes_while_it_is_read(db: Database, tmp_path: Path, change: object) -> None:
    path = tmp_path / "lists.csv"
    path.write_text(LISTS, encoding="utf-8")
    assert callable(change)
    with pytest.raises(InputError, match=r"lists.csv changed while it was being read"):
        import_files(
            db, "p", [path], "lists", progress=lambda _rows, _share: change(path) if path.exists() else None
        )
    assert db.value("SELECT count(*) FROM projects") == 0


def test_events_that_an_earlier_import_has_are_counted(load: Load) -> None:
    first = "user_id,item_id,type,timestamp\nu,1,click,2024-05-01\nv,2,view,\n"
    assert not load("events", first, "may.csv").notes
    again = load("events", first + "u,1,click,2024-06-01\nu,3,click,2024-05-01\n", "june.csv")
    assert "2 of the events of import 2 are already in import 1" in again.notes[0]
