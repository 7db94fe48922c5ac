"""Reads homes of projects in the background of a screen, part by part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from recjudge_tui.reports.home import Home, with_next_part
from recjudge_tui.tui.kit.background import Background, ShowError


class HomeReader:
    """Hands the project and its home to `arrived` after each part. Reading another home interrupts the one being read."""

    def __init__(
        self,
        background: Background,
        arrived: Callable[[int, Home], object],
        failed: ShowError | None = None,
    ) -> None:
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
        job = partial(with_next_part, project_id=self._project_id, home=self._home)
        self._background.start("home", job, self._take, self._failed)

    def _take(self, home: Home) -> None:
        self._home = home
        self._arrived(self._project_id, home)
        self.read_on()
