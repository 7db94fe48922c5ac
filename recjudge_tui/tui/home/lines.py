"""The home of a project as lines of cells with their texts and what they open. Contains no widget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from recjudge_tui.tui.kit.glyphs import Glyphs, fit, wrapped

# styles of a cell; the widget knows their colours
TITLE, DIM, GOOD, WARN, BAD, KEY, PLAIN = "title", "dim", "good", "warn", "bad", "key", ""


class Destination(NamedTuple):
    """The target of `enter`: a screen by name (of the registry, or `import`, `figure`), and its argument: a filter of
    verdicts, the number of a run, a kind of data, or the name of a figure.
    """

    screen: str
    argument: str = ""


class Cell(NamedTuple):
    text: str
    style: str = PLAIN
    destination: Destination | None = None

    @property
    def width(self) -> int:
        return cell_len(self.text)


Line = tuple[Cell, ...]


class Block(NamedTuple):
    """A part of the home under its title. `about` stands behind the title, or below it where the line is too short."""

    title: str
    lines: tuple[Line, ...]
    about: str = ""


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


def wrapped_text(left: Sequence[Cell], text: Cell, right: Sequence[Cell], width: int) -> tuple[Line, ...]:
    """The text between the cells at both ends, on as many lines as it needs, each below the first word."""
    start = width_of(left)
    parts = wrapped(text.text, max(width - start - width_of(right) - (1 if right else 0), 8))
    first, *others = [text._replace(text=part.rstrip()) for part in parts] or [text]
    gap = Cell(" " * max(width - start - first.width - width_of(right), 0))
    indent = Cell(" " * start)
    # only the first line is a place for the cursor
    return ((*left, first, gap, *right), *((indent, part._replace(destination=None)) for part in others))


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
        title = f"{block.title}: {block.about}" if block.about else block.title
        if not block.about or cell_len(title) <= width - 4:
            lines.append(title_line(title, width, look))
        else:
            lines.append(title_line(block.title, width, look))
            lines += wrapped_text([Cell(" ")], Cell(block.about, DIM), [], width)
        lines += block.lines
    return tuple(lines)
