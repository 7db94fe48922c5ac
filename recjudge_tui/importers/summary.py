"""The results of an import: for each file, and for all files of one kind; and records as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.records import Event, Explanation, ImportKind, Item, Label, Slate, User
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.importers.values import filled, plain_number
from recjudge_tui.steps import Step
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


def told(summaries: Sequence[ImportSummary], *, dry_run: bool, rows: bool = False) -> Iterator[str]:
    """What was read as what, with its counts and warnings, and what matters next about the data of the project; with `rows`
    also the first new records."""
    yield from summaries[0].aside
    for summary in summaries:
        for line in _lines(summary, dry_run, rows):
            yield line if len(summaries) == 1 else f"{summary.kind}: {line}"
    if (facts := summaries[0].facts) is not None:
        known = [
            (facts.users, f"{facts.ready:,} of {facts.users:,} users with lists have a history"),
            (facts.lists, f"{facts.untitled:,} of {facts.lists:,} lists have items without a title"),
            (
                facts.labels,
                f"{facts.on_lists:,} of {facts.labels:,} labels are on a case with its lists or text",
            ),
        ]
        if parts := [text for count, text in known if count]:
            yield f"project {summaries[0].project}: {' · '.join(parts)}"


def _lines(summary: ImportSummary, dry_run: bool, rows: bool) -> Iterator[str]:
    """The counts of rows of each file, then the first warnings, then the number of warnings of each kind."""
    verb = "would be stored" if dry_run else "stored"
    for file in summary.files:
        if file.earlier is not None:
            day = file.earlier_at[:10]
            yield f"{file.path}: already imported on {day} as import {file.earlier} of this project, nothing changed"
        else:
            number = "" if dry_run else f" · import {file.import_id}"
            yield (
                f"{file.path}: {quantity(file.read, 'row')} read, {file.stored:,} {verb},"
                f" {file.skipped:,} skipped, {file.unchanged:,} unchanged · layout {file.layout}{number}"
            )
            if file.columns:
                yield f"  columns: {file.columns}"
            yield from (f"  {remark}" for remark in file.remarks)
    if rows:
        yield from first_rows([summary])
    yield from summary.warnings
    total = summary.warning_count
    if total > len(summary.warnings):
        yield f"… and {total - len(summary.warnings):,} more warnings"
    for kind, count in summary.warning_kinds.items():
        yield f"{count:,} × {kind}"
    yield from summary.notes


def first_rows(summaries: Sequence[ImportSummary]) -> Iterator[str]:
    """The first new records of each kind."""
    for summary in summaries:
        examples = [example for file in summary.files for example in file.examples][:EXAMPLES]
        yield f"{summary.kind}{f', the first {len(examples)}:' if examples else ': nothing new'}"
        yield from (f"  {example}" for example in examples)


def rendered(record: Record) -> str:
    """The record on one line of at most 160 characters."""
    facts: dict[str, Any] = record._asdict()
    pairs = facts.get("attributes", {}).items()
    facts["attributes"] = ", ".join(f"{name} = {value}" for name, value in pairs)
    if isinstance(record, Event):
        facts["value"] = "" if record.value is None else f" {plain_number(record.value)}"
    elif isinstance(record, Slate):
        names = [place.item_id for place in record.items]
        some = ", ".join(names[:_ITEMS]) + ", …" * (len(names) > _ITEMS)
        facts["items"] = f"{quantity(len(names), 'item')}: {some}"
    elif isinstance(record, Label):
        facts["answer"] = "has no readable answer" if record.value is None else f"says {record.label}"
        games = record.games
        first = [record.system_a if game.first == "a" else record.system_b for game in games]
        differ = len({game.value for game in games}) > 1
        both = "the two orders differ" if differ else "the same in both orders"
        facts["order"] = both if len(games) > 1 else f"{first[0]} shown first" if games else ""
    return one_line(" · ".join(filled(type(record).__name__, facts)), _WIDTH)
