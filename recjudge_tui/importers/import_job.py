"""The state of storing one file: what is known about the project, and the counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from recjudge_tui.domain.scales import Scale
from recjudge_tui.importers.files.layout import Record
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.item_images import ItemImages
from recjudge_tui.importers.preview import SHOWN
from recjudge_tui.store.imports import LabelledCase, Target, known_ids


@dataclass
class ProjectCache:
    """A cache of project data for the files of one command, filled on first use.

    `content`: id -> (fingerprint, import) of items or users. `items`, `users`: the known ids. `raters` and `cases`:
    those named by labels so far. `scales`: (protocol, aspect) -> the scale of its own that it has; `scaled`: those given so
    far, by import.
    """

    content: dict[str, tuple[int, int]] | None = None
    items: set[str] | None = None
    users: set[str] | None = None
    raters: dict[tuple[str, str | None], int] = field(default_factory=dict)
    cases: dict[tuple[str, ...], LabelledCase] = field(default_factory=dict)
    scales: dict[tuple[str, str], Scale] | None = None
    scaled: set[tuple[int, str, str]] = field(default_factory=set)
    no_items_noted: bool = False


@dataclass
class Counts:
    """`records` counts records of the file; `stored` and `unchanged` count rows, `repeats` votes on a case that the same
    rater answered earlier in the command, `tasks` answers to exported tasks. `answered` counts other answers to tasks
    that have one already, by the import of that one (None: it was given in the app). `examples` are the first stored,
    `event_types` the types of events that a judge may see, `guessed_judges` new raters taken for models by their names."""

    records: int = 0
    stored: int = 0
    unchanged: int = 0
    repeats: int = 0
    tasks: int = 0
    answered: Counter[int | None] = field(default_factory=Counter)
    examples: list[Record] = field(default_factory=list)
    event_types: set[str] = field(default_factory=set)
    guessed_judges: list[str] = field(default_factory=list)

    def keep(self, *records: Record) -> None:
        """Keep the records as examples until there are enough."""
        if len(self.examples) < SHOWN:
            self.examples.extend(records[: SHOWN - len(self.examples)])


class ImportJob(NamedTuple):
    """The file that is being stored: its target, what is known, and the counts."""

    target: Target
    notes: Notes
    known: ProjectCache
    counts: Counts
    images: ItemImages

    def ids(self, kind: Literal["items", "users"]) -> set[str]:
        known = self.known.items if kind == "items" else self.known.users
        if known is None:
            known = known_ids(self.target.db, self.target.project_id, kind)
            if kind == "items":
                self.known.items = known
            else:
                self.known.users = known
        return known
