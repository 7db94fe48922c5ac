"""Sorts the files and folders of a command by kind and imports them, all or none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.files.chosen_rows import Wanted
from recjudge_tui.importers.files.layout import Layout
from recjudge_tui.importers.files.reading import bare_name, copy_note, sample_of, table_copies
from recjudge_tui.importers.guessing import commands, holding_of, uncertain
from recjudge_tui.importers.load import Progress, import_files
from recjudge_tui.importers.plain.columns import SYSTEM_KINDS
from recjudge_tui.importers.plain.headerless import only_a_header
from recjudge_tui.importers.registry import layouts, special_layout
from recjudge_tui.importers.summary import ImportSummary
from recjudge_tui.store.database import Database


class _DryRun(Exception):  # noqa: N818 - undoes the transaction of a dry run
    pass


class FilesByKind(NamedTuple):
    """The files of each kind in import order, and the files that only help to read others.

    `aside` names the files of a folder that are not imported, each with the reason.
    """

    files: dict[ImportKind, list[Path]]
    beside: list[Path]
    aside: tuple[str, ...] = ()


def import_paths(
    db: Database,
    project: str,
    paths: Sequence[Path],
    kind: ImportKind | None,
    *,
    layout: str | None = None,
    mapping: Path | None = None,
    system: str | None = None,
    event_type: str | None = None,
    where: Wanted = MappingProxyType({}),
    names: Mapping[Path, str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> list[ImportSummary]:
    """Import files and folders as one kind, or without `kind` as every kind that is recognised in them.

    From a folder, only files that a layout claims and plain tables are imported; the first summary names the others. One
    transaction for all kinds; returns one summary per kind. Raises the errors of `import_files`, and InputError for a
    file that may hold several kinds. With `dry_run` the transaction is undone at its end, and nothing is stored.
    """
    mapped = _mapped_files(paths, kind) if mapping is not None else None
    sorted_files = mapped or find_files(paths, kind, layout, system, project)
    _refuse_unfit(sorted_files.files, kind, system, event_type)
    everything = [path for files in sorted_files.files.values() for path in files] + sorted_files.beside
    with suppress(_DryRun), db.bulk_writing(), db.transaction():
        summaries = [
            import_files(
                db,
                project,
                files,
                part,
                layout=layout,
                mapping=mapping,
                system=system if kind is not None or part in SYSTEM_KINDS else None,
                event_type=event_type if kind is not None or part == "events" else None,
                where=where,
                beside=everything,
                names=names,
                progress=progress,
            )
            for part, files in sorted_files.files.items()
        ]
        if dry_run:
            raise _DryRun
    return [summaries[0].model_copy(update={"aside": sorted_files.aside}), *summaries[1:]]


def _mapped_files(paths: Sequence[Path], kind: ImportKind | None) -> FilesByKind:
    if kind is None or any(path.is_dir() for path in paths):
        raise UsageError(
            "--mapping needs files and --as",
            "A mapping describes tables of one kind, not a folder.",
            "Name the files, and their kind with --as.",
        )
    return FilesByKind({kind: list(paths)}, [])


def _refuse_unfit(
    kinds: Collection[ImportKind], kind: ImportKind | None, system: str | None, event_type: str | None
) -> None:
    """Raise UsageError for an option that applies to none of the kinds found."""
    if system and kind is None and not any(part in SYSTEM_KINDS for part in kinds):
        raise UsageError(
            "--system does not apply to these files",
            f"They contain {', '.join(kinds)} and no lists.",
        )
    if event_type and "events" not in kinds:
        raise UsageError(
            "--type does not apply to these files",
            f"They contain {', '.join(kinds)} and no events.",
        )


def find_files(
    paths: Sequence[Path],
    kind: ImportKind | None,
    layout: str | None = None,
    system: str | None = None,
    project: str = "PROJECT",
) -> FilesByKind:
    """Decide which files are imported as which kind. Raises InputError if there are none, or if a kind is uncertain:
    then it names the commands to choose from, with the name of the project."""
    known = _known(layout)
    aside: list[str] = []
    by_kind: dict[ImportKind, list[Path]] = {part: [] for part in IMPORT_KINDS}
    beside = []
    for path in paths:
        if path.is_dir():
            for part, files in _of_folder(path, kind, known, system, project, aside).items():
                by_kind[part] += files
        elif kind is None:
            for part in _of_file(path, known, system, project):
                by_kind[part].append(path)
        elif len(paths) > 1 and _only_helps(path, kind, known):
            beside.append(path)
        else:
            by_kind[kind].append(path)
    once = {part: _without_copies(files, aside) for part, files in by_kind.items() if files}
    if not once and kind is not None:
        # if all files only help to read others, import them anyway: their layout then reports what is missing
        return FilesByKind({kind: beside}, [])
    return FilesByKind(once, beside, tuple(aside))


def _without_copies(files: Iterable[Path], aside: list[str]) -> list[Path]:
    """The files, each once; of one table in several formats (ratings.csv, ratings.parquet) the first. The others are added
    to `aside`."""
    paths = list(dict.fromkeys(files))
    copies = table_copies(paths)
    aside += (copy_note(path, first) for path, first in copies.items())
    return [path for path in paths if path not in copies]


def _known(name: str | None) -> list[Layout]:
    known = layouts()
    if name is None:
        return known
    named = [layout for layout in known if layout.name == name]
    if not named:
        raise UsageError(f"no layout “{name}”", f"Known: {', '.join(layout.name for layout in known)}.")
    return named


def _of_file(path: Path, known: list[Layout], system: str | None, project: str) -> list[ImportKind]:
    sample = sample_of(path)
    holding = holding_of(sample, known, system)
    if holding.choices or not holding.layouts:
        raise uncertain(sample, project, holding.choices)
    return list(holding.layouts)


def _of_folder(
    folder: Path,
    kind: ImportKind | None,
    known: list[Layout],
    system: str | None,
    project: str,
    aside: list[str],
) -> dict[ImportKind, list[Path]]:
    """The files of the folder by kind; what is not imported is added to `aside`."""
    by_kind: dict[ImportKind, list[Path]] = {}
    unknown, unnamed, questions = [], [], []
    inside = _inside(folder)
    for path in inside:
        if not path.is_file():
            continue
        try:
            sample = sample_of(path)
        except InputError:
            unknown.append(path.name)
            continue
        holding = holding_of(sample, known, system)
        kinds = {part: layout for part, layout in holding.layouts.items() if part == (kind or part)}
        if holding.choices and kind is None:
            steps = "".join(f"\n  {line}" for line in commands(path, project, holding.choices))
            questions.append(
                f"{path} was not imported, because it may contain one of several kinds of data. Say "
                f"which:{steps}"
            )
        elif kind is not None and not kinds and any(choice.kind == kind for choice in holding.choices):
            by_kind.setdefault(kind, []).append(path)
        elif any(layout.has_header for layout in kinds.values()) and only_a_header(sample):
            aside.append(f"{path} was not imported, because it has a header and no rows")
        elif not holding.layouts:
            unknown.append(path.name)
        elif own := [part for part, layout in kinds.items() if _is_its_own(layout, path)]:
            for part in own:
                by_kind.setdefault(part, []).append(path)
        elif kinds:
            unnamed.append(path.name)
    aside += questions
    if unknown:
        aside.append(
            f"not imported from {folder}, because nothing in them is recognised: {', '.join(unknown)}"
        )
    if unnamed:
        aside.append(f"not imported from {folder} unless they are named: {', '.join(unnamed)}")
    if by_kind:
        return by_kind
    what = kind or "anything"
    step = "Name the files themselves, with --as and, if necessary, --layout or --mapping."
    if folders := [path.name for path in inside if path.is_dir()]:
        step = f"Name one of the folders in it ({', '.join(folders[:5])}), or the files themselves."
    raise InputError(
        f"no file in {folder} is recognised as {what}",
        "\n  ".join(questions),
        step,
    )


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder} cannot be read", f"{error.strerror or error}.") from error


def _is_its_own(layout: Layout, path: Path) -> bool:
    name = bare_name(path).lower()
    return not layout.names or any(fnmatch(name, pattern) for pattern in layout.names)


def _only_helps(path: Path, kind: ImportKind, known: list[Layout]) -> bool:
    """Whether the file only helps a layout to read files of this kind and contains no records of it."""
    helped = [layout for layout in known if kind in layout.beside]
    if not helped or not path.is_file():
        return False
    sample = sample_of(path)
    if special_layout(known, sample, kind) is not None:
        return False
    return any(layout.fits(sample, other) for layout in helped for other in layout.kinds)
