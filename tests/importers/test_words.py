"""The sentences of an import: each is used, and is given the facts that it names."""

from __future__ import annotations

import ast
import string
from pathlib import Path

from recjudge_tui import importers
from recjudge_tui.files import parse_toml

ROOM = Path(importers.__file__).parent
TABLES = {
    "refusal": "errors", "stop_if": "errors", "misuse": "usage",
    "RowFault": "rows", "refuse": "rows", "skip": "rows", "warn": "rows", "remark": "remarks",
}  # fmt: skip


def test_every_sentence_is_used_and_given_its_facts() -> None:
    words = parse_toml((ROOM / "words.toml").read_text("utf-8"))
    used = set()
    for path in ROOM.glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        used |= {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            table = TABLES.get(ast.unparse(call.func).rpartition(".")[2], "")
            names = [
                arg.value
                for arg in call.args
                if isinstance(arg, ast.Constant) and arg.value in words.get(table, ())
            ]
            facts = {keyword.arg for keyword in call.keywords}
            for name in names if table and None not in facts and len(call.args) <= 2 else ():
                sentences = words[table][name]
                for sentence in [sentences] if isinstance(sentences, str) else sentences:
                    fields = [field for _, field, _, _ in string.Formatter().parse(sentence) if field]
                    assert {field.partition(".")[0].partition("[")[0] for field in fields} <= facts, name
    assert {name for table in TABLES.values() for name in words[table] if name not in used} <= {
        "unknown user"
    }
