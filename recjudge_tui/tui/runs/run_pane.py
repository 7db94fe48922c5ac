"""The pane beside the list of runs."""

from __future__ import annotations

from functools import cached_property, partial
from typing import NamedTuple

from textual.content import Content
from textual.timer import Timer

from recjudge_tui.tui.kit.background import Background
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.host import host_of
from recjudge_tui.tui.kit.text_pane import TextPane
from recjudge_tui.tui.runs.details import RunDetails, details_content, read_details
from recjudge_tui.tui.runs.text import RunStatus

_REST_S = 0.06


class PaneRun(NamedTuple):
    """A run of the list; it is read again when one of these has changed."""

    run_id: int
    title: str
    status: RunStatus
    finished: int
    differs: tuple[str, ...]


class RunPane(TextPane):
    """Reads the run under the cursor once the cursor has come to rest; a run that the cursor leaves is read no further."""

    def __init__(self) -> None:
        super().__init__()
        self._run: PaneRun | None = None
        self._reading: PaneRun | None = None
        self._shown: PaneRun | None = None
        self._delay: Timer | None = None

    @cached_property
    def _background(self) -> Background:
        host = host_of(self)
        return Background(self, host.db_path, host.show_error)

    def show_run(self, run: PaneRun | None) -> None:
        left = self._run is not None and (run is None or run.run_id != self._run.run_id)
        self._run = run
        if left:
            self.stop_reading()
        self._read_soon()

    def stop_reading(self) -> None:
        self._reading = None
        if self._delay is not None:
            self._delay.stop()
        self._background.stop()

    def _read_soon(self) -> None:
        if not self.size.width:
            return
        if self._run is None:
            self._shown = None
            self.border_title = Content("")
            self.show(lambda _: Content.styled("no run matches", "dim"))
        elif self._reading is None and self._run != self._shown:
            self._reading = self._run
            self._delay = self.set_timer(_REST_S, partial(self._read, self._run))

    def _read(self, run: PaneRun) -> None:
        self._background.start("run", partial(read_details, run_id=run.run_id), partial(self._show_run, run))

    def _show_run(self, run: PaneRun, details: RunDetails) -> None:
        stay = self._shown is not None and self._shown.run_id == run.run_id
        self._shown, self._reading = run, None
        self.border_title = Content(run.title)
        self.show(lambda width: details_content(details, run.status, run.differs, width, glyphs()), stay=stay)
        # it may have changed while it was read
        self._read_soon()

    def on_resize(self) -> None:
        self._read_soon()

    def on_unmount(self) -> None:
        self.stop_reading()
