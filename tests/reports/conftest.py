"""What many tests of reports begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.verdicts import Project, new_project


@pytest.fixture
def project(project_db: Path) -> Project:
    """An empty project."""
    return new_project(project_db)
