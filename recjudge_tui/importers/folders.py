"""Imports the files and folders of a command, sorted by kind, all or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from recjudge_tui.domain.imports import ImportSummary
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.layout import LAYOUTS, Part, load_declaration
from recjudge_tui.importers.load import APPLIES, CACHE_KIB, Options, Progress, import_files
from recjudge_tui.importers.registry import FilesByKind
from recjudge_tui.importers.values import misuse, refusal, stop_if
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import import_facts
from recjudge_tui.store.projects import find_project


class _DryRun(Exception):  # noqa: N818 - undoes the transaction of a dry run
    pass


def size_of(path: Path) -> int:
    """The bytes of a file, or of the files in a folder; 0 where it cannot be read."""
    with suppress(OSError):
        files = path.iterdir() if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())
    return 0


def import_paths(
    db: Database,
    project: str,
    paths: Sequence[Path],
    kind: ImportKind | None,
    *,
    names: Mapping[Path, str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
    **given: Any,
) -> list[ImportSummary]:
    """Import files and folders as one kind, or without `kind` as every kind that is recognised in them.

    From a folder, only files that a layout claims and plain tables are imported; the first summary names the others. One
    transaction for all kinds; returns one summary per kind. `given` are those of `Options`. Raises the errors of
    `import_files`, and InputError for a file that may hold several kinds. With `dry_run` the transaction is undone at its
    end, and nothing is stored.
    """
    summaries, facts = [], None
    try:
        options = Options(**given)
        if options.mapping is not None and (kind is None or any(path.is_dir() for path in paths)):
            raise misuse("mapping-needs")
        found = FilesByKind(options.layout, options.system, project)
        if options.mapping is not None and kind is not None:
            found.files[kind] = list(paths)
        else:
            found.add(paths, kind)
        options.refuse_unfit(list(found.files))
        everything = [path for files in found.files.values() for path in files] + found.beside
        with suppress(_DryRun), db.bulk_writing(CACHE_KIB, temporary="FILE"), db.transaction():
            for part, files in found.files.items():
                # an option of one kind does not reach the others
                own = {k: value for k, value in given.items() if k not in APPLIES or part in APPLIES[k][0]}
                own |= {"beside": everything, "names": names, "progress": progress}
                summaries.append(import_files(db, project, files, part, **own))
            if (project_id := find_project(db, project)) is not None:
                facts = import_facts(db, project_id)
            if dry_run:
                raise _DryRun
    except InputError as error:
        error.next_step = f"Nothing was imported. {error.next_step}".rstrip()
        raise
    return [summaries[0].model_copy(update={"aside": tuple(found.aside), "facts": facts}), *summaries[1:]]


# ---- the data of Zhang et al. (2024) in the form needed for the paper's table --------------------------------------


def import_zhang2024(db: Database, project: str, folder: Path) -> Counter[str]:
    """Import everything needed for the paper's table, without the users' attributes: `explanations.csv`, which joins the
    tables, or the two tables of the release, whose rows are aligned and which lack the users' own texts. The texts keep
    their HTML, because how it becomes text is part of the paper's figures. Returns the number of rows left out, by reason.

    Raises InputError for a folder without these files, and for tables that do not belong together.
    """
    declared = load_declaration(LAYOUTS / "zhang2024.toml")
    (texts,), (*_, users) = declared.kinds["explanations"], declared.kinds["users"]
    raw = {**texts.fields, "text": texts.fields["text"].model_copy(update={"html": False})}
    own: dict[ImportKind, tuple[Part, ...]] = {
        "explanations": (texts.model_copy(update={"fields": raw}),),
        "users": (users.model_copy(update={"attributes": {}}),),
    }
    mapping = declared.model_copy(update={"kinds": declared.kinds | own})
    joined, parts = declared.parts
    stop_if(not folder.is_dir(), "no-folder", path=folder)
    shown, *scores = paths = [folder / name for name in parts]
    if (folder / joined).is_file():
        shown, scores = folder / joined, []
    elif missing := [path.name for path in paths if not path.is_file()]:
        raise refusal("no-zhang2024", path=folder, joined=joined, missing=missing)
    left: Counter[str] = Counter()
    # explanations before labels, so that each case has its text
    for kind in ("users", "items", "explanations", "labels"):
        files = [shown, *scores] if kind == "labels" else [shown]
        left.update(import_files(db, project, files, kind, mapping=mapping).warning_kinds)
    return left
