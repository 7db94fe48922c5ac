"""What the floors of the house may say: below the command line and the app no text names a command or an option."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import recjudge_tui

HOUSE = Path(recjudge_tui.__file__).parent
# a command in prose, or an option; dashes inside a word, as of a table's rule or of HTML, are neither
NAMED = re.compile(
    r"“recjudge [a-z]|\brecjudge (?:import|run|runs|rater|annotate|db|demo|imports|doctor) |(?<![\w-])--[a-z]"
)
# they declare options, whose help and examples are the command line's own
DECLARATIONS = {"domain/options.py", "domain/run_options.py", "domain/address.py", "reports/declare.py",
                "reports/figures/__init__.py"}  # fmt: skip


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a module but for docstrings, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.lineno, node.value


@pytest.mark.parametrize("room", ["domain", "people", "reports", "stats", "store"])
def test_no_text_below_the_surfaces_names_a_command_or_an_option(room: str) -> None:
    found = [
        f"{path.relative_to(HOUSE)}:{line}: {text}"
        for path in sorted((HOUSE / room).rglob("*.py"))
        if path.relative_to(HOUSE).as_posix() not in DECLARATIONS
        for line, text in texts(path)
        if NAMED.search(text)
    ]
    assert not found, "\n".join(found)
