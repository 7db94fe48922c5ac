"""The title of a part of a pane."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content

from recjudge_tui.tui.kit.glyphs import Glyphs


def title_rule(title: str, width: int, symbols: Glyphs) -> Content:
    """`─ Title ────`, `width` cells wide."""
    rest = max(width - cell_len(title) - 3, 0)
    return Content.assemble(
        (f"{symbols.rule} ", "dim"), (title, "bold $accent"), (f" {symbols.rule * rest}"[: rest + 1], "dim")
    )
