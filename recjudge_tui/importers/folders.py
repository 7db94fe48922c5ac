"""Sorts the files and folders of a command by kind and imports them, all or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.layout import Layout
from recjudge_tui.importers.load import APPLIES, Options, Progress, import_files
from recjudge_tui.importers.reader import bare_name, sample_of
from recjudge_tui.importers.registry import (
    commands,
    holding_of,
    named_layouts,
    only_a_header,
    special_layout,
    uncertain,
)
from recjudge_tui.importers.summary import ImportSummary
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import import_facts
from recjudge_tui.store.projects import find_project

_TABLES = {".csv", ".tsv", ".json", ".jsonl", ".parquet"}


class _DryRun(Exception):  # noqa: N818 - undoes the transaction of a dry run
    pass


class FilesByKind(NamedTuple):
    """The files of each kind in import order, and the files that only help to read others.

    `aside` names the files of a folder that are not imported, each with the reason.
    """

    files: dict[ImportKind, list[Path]]
    beside: list[Path]
    aside: tuple[str, ...] = ()


@contextmanager
def _whole() -> Iterator[None]:
    """Say in an error that nothing was imported."""
    try:
        yield
    except InputError as error:
        error.next_step = f"Nothing was imported. {error.next_step}".rstrip()
        raise


@_whole()
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
    options = Options(**given)
    if options.mapping is not None and (kind is None or any(path.is_dir() for path in paths)):
        raise UsageError(
            "--mapping needs files and --as",
            "A mapping describes tables of one kind, not a folder.",
            "Name the files, and their kind with --as.",
        )
    if options.mapping is not None and kind is not None:
        found = FilesByKind({kind: list(paths)}, [])
    else:
        found = find_files(paths, kind, options.layout, options.system, project)
    options.refuse_unfit(list(found.files))
    everything = [path for files in found.files.values() for path in files] + found.beside
    summaries, facts = [], None
    with suppress(_DryRun), db.bulk_writing(temporary="FILE"), db.transaction():
        for part, files in found.files.items():
            # an option of one kind does not reach the others
            own = {k: value for k, value in given.items() if k not in APPLIES or part in APPLIES[k][0]}
            summaries.append(
                import_files(
                    db, project, files, part, beside=everything, names=names, progress=progress, **own
                )
            )
        if (project_id := find_project(db, project)) is not None:
            facts = import_facts(db, project_id)
        if dry_run:
            raise _DryRun
    return [summaries[0].model_copy(update={"aside": found.aside, "facts": facts}), *summaries[1:]]


def find_files(
    paths: Sequence[Path],
    kind: ImportKind | None,
    layout: str | None = None,
    system: str | None = None,
    project: str = "PROJECT",
) -> FilesByKind:
    """Decide which files are imported as which kind. Raises InputError if there are none, or if a kind is uncertain:
    then it names the commands to choose from, with the name of the project."""
    known = named_layouts(layout)
    aside: list[str] = []
    by_kind: dict[ImportKind, list[Path]] = {part: [] for part in IMPORT_KINDS}
    beside = []
    for path in paths:
        if path.is_dir():
            for part, files in _of_folder(path, kind, known, system, project, aside).items():
                by_kind[part] += files
        elif len(paths) > 1 and _left_aside(path, paths, known, aside):
            continue
        elif kind is None:
            sample = sample_of(path)
            holding = holding_of(sample, known, system)
            if holding.choices or not holding.layouts:
                raise uncertain(sample, project, holding.choices)
            for part in holding.layouts:
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


def _left_aside(path: Path, paths: Iterable[Path], known: list[Layout], aside: list[str]) -> bool:
    """Whether a file beside this one in the command joins it with others: its rows would count twice."""
    name, folder = bare_name(path), path.parent
    for layout in known:
        whole, parts = layout.whole
        beside = any(bare_name(other) == whole and other.parent == folder for other in paths)
        if name in parts and beside and any(layout.fits(sample_of(path), kind) for kind in layout.kinds):
            aside.append(f"{path} was not imported, because {whole} beside it holds the same rows and more")
            return True
    return False


def _without_copies(files: Iterable[Path], aside: list[str]) -> list[Path]:
    """The files, each once; of one table in several formats (ratings.csv, ratings.parquet) the first. The others are added
    to `aside`."""
    first: dict[tuple[Path, str], Path] = {}
    kept = []
    for path in dict.fromkeys(files):
        name = Path(bare_name(path).lower())
        other = first.setdefault((path.parent, name.stem if name.suffix in _TABLES else str(path)), path)
        if other == path:
            kept.append(path)
        else:
            aside.append(
                f"{path} was not imported, because {other.name} beside it has the same name and would count twice; "
                f"if it has other rows, import it with a separate command"
            )
    return kept


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
    try:
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder} cannot be read", f"{error.strerror or error}.") from error
    for path in inside:
        if not path.is_file() or _left_aside(path, inside, known, aside):
            continue
        try:
            sample = sample_of(path)
            holding = holding_of(sample, known, system)
        except InputError:
            unknown.append(path.name)
            continue
        kinds = {part: layout for part, layout in holding.layouts.items() if part == (kind or part)}
        own = [part for part, layout in kinds.items() if _is_its_own(layout, path)]
        if holding.choices and kind is None:
            steps = "".join(f"\n  {line}" for line in commands(path, project, holding.choices))
            text = f"{path} was not imported, because it may contain one of several kinds of data. Say which:{steps}"
            questions.append(text)
        elif kind is not None and not kinds and any(choice.kind == kind for choice in holding.choices):
            by_kind.setdefault(kind, []).append(path)
        elif any(layout.has_header for layout in kinds.values()) and only_a_header(sample):
            aside.append(f"{path} was not imported, because it has a header and no rows")
        elif not holding.layouts:
            unknown.append(path.name)
        elif own:
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
    step = "Name the files themselves, with --as and, if necessary, --layout or --mapping."
    if folders := [path.name for path in inside if path.is_dir()]:
        step = f"Name one of the folders in it ({', '.join(folders[:5])}), or the files themselves."
    title = f"no file in {folder} is recognised as {kind or 'anything'}"
    raise InputError(title, "\n  ".join(questions), step)


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
