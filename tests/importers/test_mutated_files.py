"""Files changed by chance are stored or refused with a reason; benchmarks/files.py tries 3,000 of each family."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.store.database import Database
from tests.support.mutated_files import FAMILIES, import_mutated


@pytest.mark.parametrize("family", FAMILIES)
def test_a_changed_file_is_stored_or_refused(db: Database, tmp_path: Path, family: str) -> None:
    result = import_mutated(db, tmp_path, family, 8, seed=18)
    assert not result.wrong
    assert result.ends["refused"]
