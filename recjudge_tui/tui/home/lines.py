"""The home of a project as lines of cells with their texts and what they open. Contains no widget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from recjudge_tui.tui.kit.glyphs import Glyphs, fit

# styles of a cell; the widget knows their colours
TITLE, DIM, GOOD, WARN, BAD, PLAIN = "title", "dim", "good", "warn", "bad", ""


class Opens(NamedTuple):
    """The target of `enter`: a screen by name (of the registry, or `import`, `figure`), and its argument: a filter of
    verdicts, the number of a run, a kind of data, or the name of a figure.
    """

    screen: str
    argument: str = ""


class Cell(NamedTuple):
    text: str
    style: str = PLAIN
    opens: Opens | None = None

    @property
    def width(self) -> int:
        return cell_len(self.text)


Line = tuple[Cell, ...]


class Block(NamedTuple):
    """A part of the home under its title."""

    title: str
    lines: tuple[Line, ...]


def width_of(cells: Iterable[Cell]) -> int:
    return sum(cell.width for cell in cells)


def line(*cells: Cell) -> Line:
    return cells


def pushed_right(left: Sequence[Cell], right: Sequence[Cell], width: int, look: Glyphs) -> Line:
    """The cells at both ends of a line.

    If there is no room, the last cell on the left is cut; those on the right are figures and are never cut.
    """
    room = max(width - width_of(right) - (1 if right else 0), 0)
    kept = list(left)
    if width_of(kept) > room and kept:
        last = kept.pop()
        kept.append(last._replace(text=fit(last.text, max(room - width_of(kept), 0), look).rstrip()))
    gap = max(width - width_of(kept) - width_of(right), 0)
    return (*kept, Cell(" " * gap), *right)


def title_line(title: str, width: int, look: Glyphs) -> Line:
    """`─ Title ────`."""
    text = fit(title, min(cell_len(title), max(width - 4, 1)), look).rstrip()
    rest = max(width - 3 - cell_len(text), 0)
    return (Cell(f"{look.rule} ", DIM), Cell(text, TITLE), Cell(f" {look.rule * rest}", DIM))


def stacked_blocks(blocks: Sequence[Block], width: int, look: Glyphs, *, spaced: bool) -> tuple[Line, ...]:
    """The blocks below each other; `spaced` by an empty line."""
    lines: list[Line] = []
    for block in blocks:
        if lines and spaced:
            lines.append(())
        lines += [title_line(block.title, width, look), *block.lines]
    return tuple(lines)
