"""The results of an import: for each file, and for all files of one kind."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.text import quantity
from recjudge_tui.steps import Step

# the most new records that are shown of each kind
EXAMPLES = 5


class ImportFacts(NamedTuple):
    """What matters next about the project's data. `ready`: users of lists with a visible history; `untitled`: lists with an
    item without a description; `on_lists`: labels whose case has its lists or text."""

    users: int
    ready: int
    lists: int
    untitled: int
    labels: int
    on_lists: int
    texts: int


class FileSummary(Model):
    """The result of one file. `read = stored + unchanged + skipped`.

    `unchanged` rows exist already with the same content. `earlier` is an earlier import of the same file,
    `earlier_at` its time, if there is one: then nothing was stored and `import_id` is None. A row with several labels
    counts once per label. `columns` says how each column was read, `remarks` how the file was read, `examples` are
    the first stored records as text.
    """

    path: str
    layout: str
    columns: str = ""
    remarks: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    import_id: int | None = None
    earlier: int | None = None
    earlier_at: str = ""
    read: int = 0
    stored: int = 0
    unchanged: int = 0
    skipped: int = 0


def _total(count: str) -> property:
    return property(lambda self: sum(getattr(file, count) for file in self.files))


class ImportSummary(Model):
    """The result of one import. `warnings` are the first 20 as `file:line: text`; `warning_kinds` counts all of them.

    `aside` are the files of a folder that were not imported, with the reason; `notes` are facts about the project's
    data that a person must know, `facts` what matters next.
    """

    project: str
    kind: ImportKind
    new_project: bool
    files: tuple[FileSummary, ...]
    warnings: tuple[str, ...] = ()
    warning_kinds: dict[str, int] = {}
    aside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    facts: ImportFacts | None = None

    @property
    def step(self) -> Step | None:
        """What to do next, as far as the facts are known."""
        facts = self.facts
        if facts is None or (facts.labels and not (facts.lists or facts.texts)):
            return None
        if not (facts.lists or facts.texts):
            return Step("import lists")
        if facts.lists and facts.untitled:
            return Step("import items")
        return Step("import events" if facts.lists and not facts.ready else "judge")

    read, stored, unchanged, skipped = map(_total, ("read", "stored", "unchanged", "skipped"))

    @property
    def counts(self) -> str:
        """How many rows were stored, in a sentence."""
        more = [
            f"{n:,} {what}" for n, what in ((self.unchanged, "unchanged"), (self.skipped, "skipped")) if n
        ]
        return ", ".join([f"{self.stored:,} of {quantity(self.read, 'row')} stored", *more]) + "."

    @property
    def warning_count(self) -> int:
        return sum(self.warning_kinds.values())
