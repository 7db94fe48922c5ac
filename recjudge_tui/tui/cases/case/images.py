"""The images that a judge was shown, drawn with half blocks (two pixels per cell) in any terminal with colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import zip_longest

from textual.color import Color
from textual.content import Content
from textual.style import Style

from recjudge_tui.domain.material import ItemView
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.case_detail import CaseDetail
from recjudge_tui.tui.kit.glyphs import ASCII, Glyphs, fit

# cells of one image, and between two of them
WIDTH = 18
HEIGHT = 8
_GAP = 2
_HALF = "▀"

Drawing = tuple[Content, ...]


def images(case: CaseDetail, width: int, symbols: Glyphs, *, draw: bool) -> Iterator[Content]:
    """The images shown, each under the letter and rank and the title of its item; only the names if they cannot or
    should not be drawn.
    """
    named = list(_named(case))
    columns = max((width + _GAP) // (WIDTH + _GAP), 1)
    drawings = [_drawing(item, case.images) if draw and symbols != ASCII else () for _, item in named]
    if not any(drawings):
        for name, item in named:
            yield Content.assemble((f"{name} ", "dim"), one_line(item.title, 200))
        return
    for start in range(0, len(named), columns):
        row = named[start : start + columns]
        heads = [fit(f"{name} {one_line(item.title, WIDTH * 2)}", WIDTH, symbols) for name, item in row]
        yield Content.styled((" " * _GAP).join(heads).rstrip(), "dim")
        yield from _beside(drawings[start : start + columns])
        yield Content("")


def _named(case: CaseDetail) -> Iterator[tuple[str, ItemView]]:
    """`A2` and its item, for each item with an image; the letter only where there are two lists."""
    for letter, (_, slate) in zip("AB", case.slates, strict=False):
        for rank, item in enumerate(slate.items, 1):
            if item.image is not None:
                yield f"{letter if len(case.slates) > 1 else ''}{rank}", item
    if case.explanation is not None and case.explanation.item.image is not None:
        yield "", case.explanation.item


def _drawing(item: ItemView, contents: Mapping[str, bytes]) -> Drawing:
    content = contents.get(item.image.digest) if item.image else None
    return () if content is None else drawn(content)


@lru_cache(maxsize=128)
def drawn(content: bytes) -> Drawing:
    """The lines of an image, at most WIDTH cells wide and HEIGHT high; none without the extra “images”."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        return ()
    try:
        with Image.open(BytesIO(content), formats=("JPEG",)) as picture:
            picture.thumbnail((WIDTH, HEIGHT * 2))
            pixels = picture.convert("RGB")
    except OSError:  # the file of the database was changed by another program
        return ()
    columns, rows = pixels.size
    data = pixels.tobytes()
    colours: list[list[Color]] = [
        [Color(*data[at : at + 3]) for at in range(row * columns * 3, (row + 1) * columns * 3, 3)]
        for row in range(rows)
    ]
    below: list[list[Color]] = [*colours[1::2], []]
    return tuple(map(_line, colours[::2], below))


def _line(upper: Sequence[Color], lower: Sequence[Color]) -> Content:
    cells = [
        Content.styled(_HALF, Style(foreground=above, background=below) if below else Style(foreground=above))
        for above, below in zip_longest(upper, lower)
    ]
    return Content("").join(cells)


def _beside(drawings: Sequence[Drawing]) -> Iterator[Content]:
    for lines in zip_longest(*drawings):
        cells = [
            Content.assemble(line or "", " " * (WIDTH - (line.cell_length if line else 0))) for line in lines
        ]
        yield Content(" " * _GAP).join(cells).rstrip()
