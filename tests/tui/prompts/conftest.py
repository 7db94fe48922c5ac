"""The project on which prompts are shown, edited and tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.app.lists import import_lists, judge


@pytest.fixture
def project(project_db: Path) -> int:
    """Lists by two systems for three users, and their pairs."""
    found = import_lists(project_db)
    judge(project_db, found)
    return found
