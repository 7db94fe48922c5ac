"""A figure as bytes and as a file: SVG, PNG or PDF, the same bytes for the same numbers."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.errors import RecjudgeError, StoreError, UsageError
from recjudge_tui.files import whole_file
from recjudge_tui.reports.figures.data import FigureData
from recjudge_tui.reports.figures.loading import figure_marks
from recjudge_tui.reports.figures.paper.style import CAPTION_SIZE, DPI, HEIGHT, WIDTHS, settings, wrapped
from recjudge_tui.reports.figures.registry import figure_kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".svg", ".png", ".pdf")
# width and height of a character of the caption, in multiples of its font size
_WIDE, _TALL = 0.53, 1.25
_NO_GLYPH = "the fonts on this machine lack some characters of the names: they are drawn as boxes (SVG keeps the text)"
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": "recjudge"},
    "png": {"Software": "recjudge"},
    "pdf": {"CreationDate": None, "Creator": "recjudge", "Producer": "Matplotlib"},
}


class Picture(NamedTuple):
    """The content of a picture file, and notes for the user."""

    content: bytes
    notes: tuple[str, ...] = ()


def picture_format(path: Path) -> str:
    """svg, png or pdf, from the file's ending. Raises UsageError for another."""
    ending = path.suffix.lower()
    if ending not in PICTURES:
        raise UsageError(
            f"no picture format for “{path.name}”",
            "The format follows the ending of the file name.",
            f"Use {', '.join(PICTURES[:-1])} or {PICTURES[-1]}.",
        )
    return ending[1:]


def draw_picture(data: FigureData, fmt: str, columns: int = 1, *, caption: bool = True) -> Picture:
    """The figure, `columns` (1 or 2) of a page wide. Raises RecjudgeError without Matplotlib, and if every number is
    undefined."""
    _need_numbers(data)
    _need_matplotlib()
    from matplotlib import style

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with style.context(["default", settings()]):
            content = _bytes(data, fmt, columns, caption)
    notes = (_NO_GLYPH,) if any("missing from" in str(warning.message) for warning in caught) else ()
    return Picture(content, notes)


def _need_numbers(data: FigureData) -> None:
    value = figure_kind(data.name).value
    if all(row[value] is None for row in data.rows):
        reasons = dict.fromkeys(str(row.get("note") or "") for row in data.rows)
        why = "; ".join(reason for reason in reasons if reason) or "; ".join(data.notes)
        raise RecjudgeError(f"nothing to draw: every number of “{data.name}” is undefined", why)


def _need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise RecjudgeError(
            "figures are drawn with Matplotlib, which is not installed",
            next_step="Install the extra “figures”: pip install 'recjudge[figures]'.",
        ) from error


def _bytes(data: FigureData, fmt: str, columns: int, caption: bool) -> bytes:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from recjudge_tui.reports.figures.paper.render import draw

    # the resolution at which the file measures its text
    figure = Figure(figsize=(WIDTHS[columns], HEIGHT), dpi=DPI if fmt == "png" else 72)
    _canvas(figure, fmt)
    draw(figure, figure_marks(data))
    if caption:
        _write_caption(figure, data.caption)
    # arranged here, because `savefig` would draw everything once more for it
    ConstrainedLayoutEngine().execute(figure)
    out = io.BytesIO()
    figure.savefig(out, format=fmt, metadata=_METADATA[fmt])
    return out.getvalue()


def _canvas(figure: Figure, fmt: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    {"svg": FigureCanvasSVG, "png": FigureCanvasAgg, "pdf": FigureCanvasPdf}[fmt](figure)


def _write_caption(figure: Figure, words: str) -> None:
    """Write the caption below the figure and make the figure taller for it."""
    wide = int((figure.get_figwidth() - 0.1) * 72 / (CAPTION_SIZE * _WIDE))
    lines = wrapped(words, wide)
    figure.set_figheight(figure.get_figheight() + len(lines) * CAPTION_SIZE * _TALL / 72 + 0.06)
    figure.supxlabel(
        "\n".join(lines), x=0.012, ha="left", fontsize=CAPTION_SIZE, color="0.25", linespacing=1.15
    )


def save_figure(data: FigureData, path: Path, columns: int = 1, *, caption: bool = True) -> tuple[str, ...]:
    """Write the file, whole or not at all; returns notes for the user.

    Raises UsageError for an ending of another kind of file, StoreError when it cannot be written.
    """
    picture = draw_picture(data, picture_format(path), columns, caption=caption)
    try:
        with whole_file(path) as draft:
            draft.write_bytes(picture.content)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written", f"{error.strerror}.", "Choose another place with -o."
        ) from error
    return picture.notes
