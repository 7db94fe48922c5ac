"""The results of an import: for each file, and for all files of one kind."""

from __future__ import annotations

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.records import ImportKind


class FileSummary(Model):
    """The result of one file. `read = stored + unchanged + skipped`.

    `unchanged` rows exist already with the same content. `earlier` is an earlier import of the same file, if there is
    one: then nothing was stored and `import_id` is None. A row with several labels counts once per label. `columns`
    says how each column was read, `remarks` how the file was read, `examples` are the first stored records as text.
    """

    path: str
    layout: str
    columns: str = ""
    remarks: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    import_id: int | None = None
    earlier: int | None = None
    read: int = 0
    stored: int = 0
    unchanged: int = 0
    skipped: int = 0


class ImportSummary(Model):
    """The result of one import. `warnings` are the first 20 as `file:line: text`; `warning_kinds` counts all of them.

    `aside` are the files of a folder that were not imported, with the reason; `notes` are facts about the project's
    data that a person must know.
    """

    project: str
    kind: ImportKind
    new_project: bool
    files: tuple[FileSummary, ...]
    warnings: tuple[str, ...] = ()
    warning_kinds: dict[str, int] = {}
    aside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
