"""The interface of the app that its screens and widgets use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from textual.dom import DOMNode

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ActiveRun


class Host(Protocol):
    """The app as its screens see it. `db` is the connection of the app's thread, for short reads and writes."""

    db: Database
    db_path: Path
    active: list[ActiveRun]
    # (screen, project) -> the user's choices there, until the app ends
    chosen: dict[tuple[str, int], object]

    def show_error(self, error: RecjudgeError) -> None: ...

    async def leave_project(self, error: RecjudgeError) -> None: ...

    def leave_screen(self) -> None: ...

    def check_runs(self) -> None: ...

    def lend(self, command: Sequence[str], text: str = "", draft: Path | None = None) -> int: ...


def host_of(node: DOMNode) -> Host:
    return cast("Host", node.app)
