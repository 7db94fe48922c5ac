"""Reads homes of projects in the background of a screen, part by part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.dom import DOMNode
from textual.worker import get_current_worker

from recjudge_tui.reports.home.home import Home, with_next_part
from recjudge_tui.store.database import Database
from recjudge_tui.tui.kit.background import Background, ShowError


class HomeReader:
    """Hands the project and its home to `arrived` after each part. Reading another home interrupts the one being read."""

    def __init__(
        self,
        node: DOMNode,
        background: Background,
        arrived: Callable[[int, Home], object],
        failed: ShowError | None = None,
    ) -> None:
        self._node = node
        self._background = background
        self._arrived = arrived
        self._failed = failed
        self._project_id = 0
        self._home = Home()

    def read(self, project_id: int) -> None:
        """Read the home of this project from its first part."""
        self._project_id, self._home = project_id, Home()
        self.read_on()

    def read_on(self) -> None:
        """Read the parts that are missing."""
        if self._home.missing_part is None:
            return
        read = self._read_apart if self._home.is_read_apart else with_next_part
        job = partial(read, project_id=self._project_id, home=self._home)
        self._background.start("home", job, self._take_last, self._failed)

    def _read_apart(self, db: Database, project_id: int, home: Home) -> Home:
        from recjudge_tui.reports.home.apart import with_later_parts

        worker = get_current_worker()

        def arrived(part: Home) -> None:
            self._node.call_later(self._take, project_id, part)

        return with_later_parts(db, project_id, home, arrived=arrived, left=lambda: worker.is_cancelled)

    def _take_last(self, home: Home) -> None:
        self._take(self._project_id, home)
        self.read_on()

    def _take(self, project_id: int, home: Home) -> None:
        if project_id == self._project_id:
            self._home = home
            self._arrived(project_id, home)
