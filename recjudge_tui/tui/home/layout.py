"""The positions of the home's blocks: side by side on wide screens, below each other on narrow ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.reports.home import Home
from recjudge_tui.store.runs import ActiveRun
from recjudge_tui.tui.home import blocks
from recjudge_tui.tui.home.lines import Block, Destination, Line, stacked_blocks
from recjudge_tui.tui.kit.glyphs import Glyphs

GAP = 2
# the minimum width of a screen -> the number of columns
_COLUMNS = ((156, 3), (76, 2), (0, 1))


class Layout(NamedTuple):
    """`top` spans the whole width; below it are the columns, each `width` cells wide.

    `first` is the figure on which the cursor starts.
    """

    top: tuple[Line, ...]
    columns: tuple[tuple[Line, ...], ...]
    width: int
    first: Destination

    @property
    def height(self) -> int:
        return len(self.top) + max(map(len, self.columns), default=0)


def laid_out(
    home: Home, project: str, active: Sequence[ActiveRun], size: tuple[int, int], look: Glyphs
) -> Layout:
    """The home for a widget of this width and height."""
    across, height = size
    count = next(count for least, count in _COLUMNS if across >= least)
    width = (across - GAP * (count - 1)) // count
    steps = home.steps(project)
    spaced = height >= 30
    top: tuple[Line, ...] = ()
    first = Destination("cases")
    if steps:
        top = (*stacked_blocks([blocks.checklist(steps, across, look)], across, look, spaced=False), ())
        first = blocks.REMEDIES[next(step.remedy for step in steps if not step.done)][1]
    groups = _groups(home, active, count, width, look)
    while len(groups) < count and count > 1:
        # instead of empty columns, fewer and wider ones
        count = max(len(groups), 1)
        width = (across - GAP * (count - 1)) // count
        groups = _groups(home, active, count, width, look)
    columns = tuple(stacked_blocks(group, width, look, spaced=spaced) for group in groups)
    return Layout(top, columns, width, first)


def _groups(
    home: Home, active: Sequence[ActiveRun], count: int, width: int, look: Glyphs
) -> list[list[Block]]:
    """The blocks of each column; a single column has them in the order of importance."""
    judged = home.totals is not None and home.totals.verdicts > 0
    queue = blocks.attention(home, width, look) if judged or home.totals is None else None
    runs = blocks.runs(home, active, width, look)
    board = blocks.leaderboard(home, width, look)
    trust = blocks.trust(home, width, look) if judged else None
    flags = blocks.flags(home, width, look)
    trend = blocks.trend(home, width, look)
    data = blocks.data(home, width, look)
    wanted: list[list[Block | None]] = {
        1: [[queue, board, trust, runs, flags, trend, data]],
        2: [[queue, trust, runs, trend], [board, flags, data]],
        3: [[queue, runs], [board, trust], [flags, trend, data]],
    }[count]
    groups = [[block for block in group if block is not None] for group in wanted]
    return [group for group in groups if group]
