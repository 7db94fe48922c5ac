"""Which question and which statistic the agreement screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Label, Static

from recjudge_tui.model.text import one_line
from recjudge_tui.tui.figure_text import STAT_NAMES
from recjudge_tui.tui.figures import Topic
from recjudge_tui.tui.widgets.choice import Choice


class FigureChoice(ModalScreen[tuple[Topic, str] | None]):
    """Gives (topic, statistic), or None when it was given up."""

    CSS = """
    FigureChoice .row { height: 1; }
    FigureChoice .row Label { width: 12; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "show it", id="figures.accept"),
        Binding("down,j", "app.focus_next", "next", show=False, id="figures.down"),
        Binding("up,k", "app.focus_previous", "previous", show=False, id="figures.up"),
        Binding("escape,q,m", "dismiss(None)", "cancel", key_display="esc", id="figures.cancel"),
    ]

    def __init__(self, topics: Sequence[Topic], topic: Topic, stat: str) -> None:
        super().__init__()
        self._topics, self._topic, self._stat = topics, topic, stat

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Shown")
            topics = [(str(at), one_line(topic.words(), 44)) for at, topic in enumerate(self._topics)]
            stats = list(STAT_NAMES.items())
            with Horizontal(classes="row"):
                yield Label(Content("question"))
                yield Choice(topics, str(self._topics.index(self._topic)), field_id="shown-topic")
            with Horizontal(classes="row"):
                yield Label(Content("statistic"))
                yield Choice(stats, self._stat, field_id="shown-stat")
            yield Static(Content("← → choose   ↑ ↓ field   enter show   esc cancel"), classes="dialog-hint")

    def action_accept(self) -> None:
        topic = self._topics[int(self.query_one("#shown-topic", Choice).value)]
        self.dismiss((topic, self.query_one("#shown-stat", Choice).value))
