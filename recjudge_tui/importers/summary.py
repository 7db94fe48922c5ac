"""The results of an import: for each file, and for all files of one kind; and records as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.domain.steps import Step
from recjudge_tui.domain.text import one_line
from recjudge_tui.importers.values import plain_number
from recjudge_tui.store.imports import ImportFacts

Record = Item | User | Event | Slate | Explanation | Label
EXAMPLES = 5
_ITEMS = 10
_WIDTH = 160


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

    @property
    def read(self) -> int:
        return sum(f.read for f in self.files)

    @property
    def stored(self) -> int:
        return sum(f.stored for f in self.files)

    @property
    def unchanged(self) -> int:
        return sum(f.unchanged for f in self.files)

    @property
    def skipped(self) -> int:
        return sum(f.skipped for f in self.files)

    @property
    def warning_count(self) -> int:
        return sum(self.warning_kinds.values())


def rendered(record: Record) -> str:
    """The record on one line of at most 160 characters."""
    return one_line(" · ".join(part for part in _parts(record) if part), _WIDTH)


def _parts(record: Record) -> Iterator[str]:
    if isinstance(record, Item):
        yield from (f"item {record.item_id}", record.title, record.brand, record.category)
        yield _attributes(record.attributes)
        return
    yield f"user {record.user_id}" if record.user_id else ""
    if isinstance(record, User):
        yield _attributes(record.attributes)
        return
    if isinstance(record, Event):
        value = "" if record.value is None else f" {plain_number(record.value)}"
        yield f"{record.type}{value}"
        yield f"item {record.item_id}" if record.item_id else f"“{one_line(record.text, 60)}”"
        yield record.timestamp
    elif isinstance(record, Slate):
        names = [place.item_id for place in record.items]
        more = ", …" if len(names) > _ITEMS else ""
        yield f"system {record.system}"
        yield f"{len(names)} item{'s' if len(names) > 1 else ''}: {', '.join(names[:_ITEMS])}{more}"
    elif isinstance(record, Explanation):
        yield f"item {record.item_id}"
        yield f"system {record.system}"
        yield f"“{one_line(record.text, 60)}”"
    elif isinstance(record, Label):
        yield from _judged(record)
    yield f"context {record.context}" if record.context else ""
    yield f"served at {record.served_at}" if record.served_at else ""


def _judged(label: Label) -> Iterator[str]:
    yield f"item {label.item_id}" if label.item_id else ""
    yield f"{label.system_a} (A) against {label.system_b} (B)" if label.system_a else ""
    yield f"system {label.system}" if label.system else ""
    answer = "has no readable answer" if label.value is None else f"says {label.label}"
    yield f"{label.rater} {answer} on {label.aspect}"
    yield _order(label)
    yield label.protocol


def _order(label: Label) -> str:
    if len(label.games) > 1:
        differ = len({game.value for game in label.games}) > 1
        return "the two orders differ" if differ else "the same in both orders"
    return "".join(
        f"{label.system_a if game.first == 'a' else label.system_b} shown first" for game in label.games
    )


def _attributes(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in attributes.items())
