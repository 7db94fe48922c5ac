"""A project of films that is watched: its data, a folder of lists that grows, and the file of the watch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recjudge_tui.nights.night import Night
from recjudge_tui.nights.watch import watch_night
from recjudge_tui.nights.watch_file import read_watch
from recjudge_tui.runs import start
from recjudge_tui.store.database import Database
from tests.support.runs import load

USERS = ("u00", "u01", "u02")
RULES = """
[[judge]]
spec = "rules"
name = "nightly"
protocols = ["pointwise"]
"""


class Nights:
    """The project `films` in `db`, watched by a file in `folder`; `said` is what the last night said."""

    def __init__(self, db: Database, folder: Path) -> None:
        self.db, self.folder = db, folder
        self.file = folder / "films.watch.toml"
        self.said: list[str] = []
        films = [(f"i{n}", f"Film number {n}", f"genre {n % 5}") for n in range(400)]
        load(db, "items", [("item_id", "title", "category"), *films])
        ratings = [
            (user, f"i{n + day}", "rating", f"2026-05-0{day}T12:00:00Z", 2 + day % 4)
            for n, user in enumerate(USERS)
            for day in (1, 2, 3)
        ]
        load(db, "events", [("user_id", "item_id", "type", "timestamp", "value"), *ratings])

    def describe(self, text: str = RULES) -> None:
        """Write the file of the watch: lists/*.csv are imported, and `text`."""
        entry = '[[import]]\npaths = ["lists/*.csv"]\nas = "lists"\n'
        self.file.write_text(f'project = "films"\n{entry}{text}', encoding="utf-8")

    def lists(
        self,
        name: str,
        day: str,
        start: int = 0,
        system: str = "als",
        users: Sequence[str] = USERS,
        step: int = 1,
    ) -> Path:
        """A file with a list of four films for each user, served on a day; with a step of 5, all of one genre."""
        rows = ["user_id,system,item_id,rank,served_at"]
        for at, user in enumerate(users):
            rows += [
                f"{user},{system},i{start + step * (4 * at + rank)},{rank + 1},{day}T08:00:00Z"
                for rank in range(4)
            ]
        path = self.folder / "lists" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return path

    def night(self) -> Night:
        self.said = []
        return watch_night(self.db, read_watch(self.file), self.said.append, start.work)

    def heard(self, text: str) -> bool:
        return any(text in line for line in self.said)

    def count(self, table: str) -> int:
        found: int = self.db.value(f"SELECT count(*) FROM {table}")
        return found
