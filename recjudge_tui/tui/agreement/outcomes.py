"""`enter` on a system of the leaderboard: the cases that it won, tied or lost."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Row
from recjudge_tui.tui.kit.click_text import DialogHint
from recjudge_tui.tui.kit.dialogs import Dialog
from recjudge_tui.tui.kit.glyphs import number
from recjudge_tui.tui.kit.key_line import key_hint
from recjudge_tui.tui.kit.option_list import Options, move_cursor


class OutcomeChoice(Dialog[str | None]):
    """Returns the filter key for the chosen cases: `won`, `tied`, `lost` or `system` (all); None when closed.

    `row` is a row of a leaderboard of pairs.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "close", key_display="esc", id="outcomes.close"),
        Binding("j", "move(1)", "down", show=False, id="outcomes.down"),
        Binding("k", "move(-1)", "up", show=False, id="outcomes.up"),
        *(
            Binding(str(at), f"choose('{term}')", does, show=False, id=f"outcomes.{does}")
            for at, (term, does) in enumerate(
                (("won", "won"), ("tied", "tied"), ("lost", "lost"), ("system", "all")), start=1
            )
        ),
    ]

    def __init__(self, row: Row) -> None:
        super().__init__()
        self._row = row

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content(f"Cases of {one_line(self._row['system'], 40)}")
            yield Options(*self._options(), compact=True)
            keys = key_hint(self.app, ("outcomes.close", "esc", "close"))
            yield DialogHint(f"enter read them   1-4 at once   {keys}")

    def _options(self) -> list[Option]:
        counts = [_count(self._row, key) for key in ("wins", "ties", "losses")]
        failed, flips = _count(self._row, "failed"), _count(self._row, "position_ties")
        lines = (
            ("won", "won", counts[0], ""),
            ("tied", "tied", counts[1], f"{number(flips)} by the order" if flips else ""),
            ("lost", "lost", counts[2], ""),
            ("system", "all", sum(counts) + failed, f"{number(failed)} failed" if failed else ""),
        )
        digits = max(cell_len(number(count)) for _, _, count, _ in lines)
        return [
            Option(
                Content.assemble(
                    (f"{at} ", "dim"), f"{name:5} {number(count):>{digits}}", (f"  {more}", "dim")
                ),
                id=term,
            )
            for at, (term, name, count, more) in enumerate(lines, start=1)
        ]

    def action_move(self, rows: int) -> None:
        move_cursor(self.query_one(Options), rows)

    def action_choose(self, outcome: str) -> None:
        self.dismiss(outcome)

    @on(OptionList.OptionSelected)
    def _chosen(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(message.option.id)


def _count(row: Row, key: str) -> int:
    value = row.get(key)
    return value if isinstance(value, int) else 0
