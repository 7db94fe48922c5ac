"""The tests themselves: a test file stands alone, and lies where the module it tests lies."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "recjudge_tui"
# a syntax tree of every file would take 50 times as long
FROM = re.compile(r"^[ \t]*from\s+(\S+)\s+import\s+(\([^)]*\)|.*)", re.MULTILINE)


def test_no_test_file_imports_another() -> None:
    """What tests share is in tests/support or in a conftest."""
    for file in TESTS.rglob("*.py"):
        for module, names in FROM.findall(file.read_text(encoding="utf-8")):
            assert not module.startswith("."), file
            inside = module.partition(".")[0] == "tests"
            assert not (inside and re.search(r"\btest_", f"{module} {names}")), file


def test_the_folders_of_tests_are_folders_of_the_package() -> None:
    for file in TESTS.rglob("test_*.py"):
        folder = file.parent.relative_to(TESTS)
        assert folder.parts[:1] == ("support",) or (PACKAGE / folder).is_dir(), file
