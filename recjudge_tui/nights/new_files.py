"""The files of a watch that are not imported yet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.files import small_file
from recjudge_tui.importers.files.reading import contents_of, copy_note, table_copies
from recjudge_tui.importers.summary import ImportSummary
from recjudge_tui.nights.watch_file import ImportEntry, Watch
from recjudge_tui.settings import user_path
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.watches import WatchedFile, save_watched_file, watched_files


class NewFile(NamedTuple):
    """A file to import; `file` is the record that will be stored for it."""

    entry: ImportEntry
    path: Path
    file: WatchedFile


class Copy(NamedTuple):
    """A table that is imported from another file in another format; `file` is the record that will be stored for it."""

    path: Path
    file: WatchedFile
    note: str


class FileImport(NamedTuple):
    """The result for a file: the import summaries, or the error."""

    path: Path
    summaries: tuple[ImportSummary, ...] = ()
    error: RecjudgeError | None = None


WatchFile = NewFile | Copy | FileImport


def new_files(db: Database, project_id: int | None, watch: Watch) -> Iterator[WatchFile]:
    """The files that are new or changed, in the order in which kinds are imported; a file that cannot be read comes with
    its error.

    A file whose size and time have not changed since its import is not read. A file with the same content but a new
    time is not imported again, even if its import was undone. If a table is present in several formats, only one file
    is imported.
    """
    known = {} if project_id is None else watched_files(db, project_id)
    for entry in sorted(watch.imports, key=_order):
        how = _how(watch, entry)
        matches = _matches(watch, entry)
        # the file that was imported before is preferred
        imported = [path for path in matches if (str(path), how) in known]
        copies = table_copies([*imported, *matches])
        for path in matches:
            try:
                size, mtime = path.stat().st_size, path.stat().st_mtime_ns
                before = known.get((str(path), how))
                if before is not None and (before.size, before.mtime_ns) == (size, mtime):
                    continue
                file = WatchedFile(str(path), how, size, mtime, contents_of(path).sha256)
            except OSError as error:
                problem = RecjudgeError(f"{path} cannot be read", f"{error.strerror or error}.")
                yield FileImport(path, error=problem)
            except RecjudgeError as problem:
                yield FileImport(path, error=problem)
            else:
                if before is None or before.sha256 != file.sha256:
                    first = copies.get(path)
                    yield (
                        NewFile(entry, path, file)
                        if first is None
                        else Copy(path, file, copy_note(path, first))
                    )
                elif project_id is not None:
                    save_watched_file(db, project_id, file)


def import_new(db: Database, project_id: int, watch: Watch, new: NewFile) -> FileImport:
    """Import one file, whole or not at all, and remember it; one that fails is tried again the next time."""
    from recjudge_tui.importers.folders import import_paths

    entry = new.entry
    try:
        summaries = import_paths(
            db,
            watch.project,
            [new.path],
            entry.kind,
            layout=entry.layout or None,
            mapping=watch.path(entry.mapping) if entry.mapping else None,
            system=entry.system or None,
        )
    except RecjudgeError as error:
        return FileImport(new.path, error=error)
    save_watched_file(db, project_id, new.file)
    return FileImport(new.path, tuple(summaries))


def _order(entry: ImportEntry) -> int:
    # a file without a given kind may contain anything, including items
    return IMPORT_KINDS.index(entry.kind) if entry.kind else -1


def _how(watch: Watch, entry: ImportEntry) -> str:
    """A text that describes how an entry reads its files; a different mapping makes a new import."""
    mapping = ""
    if entry.mapping and watch.path(entry.mapping).is_file():
        mapping = hashlib.sha256(small_file(watch.path(entry.mapping))).hexdigest()[:16]
    return json.dumps([entry.kind, entry.layout, mapping, entry.system])


def _matches(watch: Watch, entry: ImportEntry) -> list[Path]:
    paths: dict[Path, None] = {}
    for pattern in entry.paths:
        wanted = user_path(pattern)
        # the folder is passed separately, because its name may contain brackets
        folder, below = watch.folder, wanted
        if wanted.is_absolute():
            folder, below = Path(wanted.anchor), wanted.relative_to(wanted.anchor)
        paths |= dict.fromkeys(path for path in sorted(folder.glob(str(below))) if path.is_file())
    return list(paths)
