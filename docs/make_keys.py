"""Write the table of docs/keys.md from the program: python docs/make_keys.py"""

from __future__ import annotations

import re
from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.keys import bindings_of, key_rows

PAGE = Path(__file__).resolve().parent / "keys.md"
_TABLE = re.compile(r"\| id \|.*?(?=\n\n|\Z)", re.DOTALL)


def table() -> str:
    rows, _ = key_rows([], bindings_of(RecjudgeApp))
    lines = ["| id | keys | what it does | where |", "|---|---|---|---|"]
    for row in rows:
        keys = " ".join(f"`{key}`" for key in row.keys).replace("|", "\\|")
        lines.append(f"| `{row.id}` | {keys} | {row.does} | {row.where} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """The page with the table of now in the place of the one that stands there."""
    return _TABLE.sub(lambda _: table(), page.rstrip("\n"), count=1) + "\n"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
