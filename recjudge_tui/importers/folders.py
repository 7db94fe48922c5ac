"""Sorts the files and folders of a command by kind and imports them, all or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.layout import LAYOUTS, Part, load_declaration
from recjudge_tui.importers.load import APPLIES, CACHE_KIB, Options, Progress, import_files
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
from recjudge_tui.importers.values import refusal
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import import_facts
from recjudge_tui.store.projects import find_project

_TABLES = {".csv", ".tsv", ".json", ".jsonl", ".parquet"}


class _DryRun(Exception):  # noqa: N818 - undoes the transaction of a dry run
    pass


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
    found = FilesByKind(options, project)
    if options.mapping is not None and kind is not None:
        found.files[kind] = list(paths)
    else:
        found.add(paths, kind)
    options.refuse_unfit(list(found.files))
    everything = [path for files in found.files.values() for path in files] + found.beside
    summaries, facts = [], None
    with suppress(_DryRun), db.bulk_writing(CACHE_KIB, temporary="FILE"), db.transaction():
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
    return [summaries[0].model_copy(update={"aside": tuple(found.aside), "facts": facts}), *summaries[1:]]


class FilesByKind:
    """The files of each kind in import order, and the files that only help to read others.

    `aside` names the files that are not imported, each with the reason.
    """

    def __init__(self, options: Options = Options(), project: str = "PROJECT") -> None:  # noqa: B008 - frozen
        self.known, self.system, self.project = named_layouts(options.layout), options.system, project
        self.files: dict[ImportKind, list[Path]] = {}
        self.beside: list[Path] = []
        self.aside: list[str] = []

    def add(self, paths: Sequence[Path], kind: ImportKind | None) -> None:
        """Decide which files are imported as which kind. Raises InputError if there are none, or if a kind is uncertain:
        then it names the commands to choose from, with the name of the project."""
        files: dict[ImportKind, list[Path]] = {part: [] for part in IMPORT_KINDS}
        for path in paths:
            if path.is_dir():
                for part, inside in self._of_folder(path, kind).items():
                    files[part] += inside
            elif len(paths) > 1 and self._joined_beside(path, paths):
                continue
            elif kind is None:
                sample = sample_of(path)
                layouts, choices = holding_of(sample, self.known, self.system)
                if choices or not layouts:
                    raise uncertain(sample, self.project, choices)
                for part in layouts:
                    files[part].append(path)
            elif len(paths) > 1 and self._only_helps(path, kind):
                self.beside.append(path)
            else:
                files[kind].append(path)
        self.files = {part: self._without_copies(found) for part, found in files.items() if found}
        if not self.files and kind is not None:
            # if all files only help to read others, import them anyway: their layout then reports what is missing
            self.files, self.beside = {kind: self.beside}, []

    def _of_folder(self, folder: Path, kind: ImportKind | None) -> dict[ImportKind, list[Path]]:
        found: dict[ImportKind, list[Path]] = {part: [] for part in IMPORT_KINDS}
        unknown, unnamed, questions = [], [], []
        try:
            inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        except OSError as error:
            raise refusal("unreadable", path=folder, why=error.strerror or error, step="") from error
        for path in inside:
            if not path.is_file() or self._joined_beside(path, inside):
                continue
            try:
                sample = sample_of(path)
                layouts, choices = holding_of(sample, self.known, self.system)
            except InputError:
                unknown.append(path.name)
                continue
            kinds = {part: layout for part, layout in layouts.items() if part == (kind or part)}
            if choices and kind is None:
                steps = "\n  ".join(("Say which:", *commands(path, self.project, choices)))
                text = (
                    f"{path} was not imported, because it may contain one of several kinds of data. {steps}"
                )
                questions.append(text)
            elif kind is not None and not kinds and any(choice.kind == kind for choice in choices):
                found[kind].append(path)
            elif any(layout.has_header for layout in kinds.values()) and only_a_header(sample):
                self.aside.append(f"{path} was not imported, because it has a header and no rows")
            elif not layouts:
                unknown.append(path.name)
            else:
                name = bare_name(path).lower()
                own = [
                    p for p, one in kinds.items() if not one.names or any(fnmatch(name, n) for n in one.names)
                ]
                for part in own:
                    found[part].append(path)
                unnamed += [path.name] * bool(kinds and not own)
        left = f"not imported from {folder}"
        self.aside += questions
        self.aside += [f"{left}, because nothing in them is recognised: {', '.join(unknown)}"] * bool(unknown)
        self.aside += [f"{left} unless they are named: {', '.join(unnamed)}"] * bool(unnamed)
        if any(found.values()):
            return found
        step = "Name the files themselves, with --as and, if necessary, --layout or --mapping."
        if folders := [path.name for path in inside if path.is_dir()]:
            step = f"Name one of the folders in it ({', '.join(folders[:5])}), or the files themselves."
        asked = "\n  ".join(questions)
        raise refusal("nothing-known", path=folder, kind=kind or "anything", questions=asked, step=step)

    def _joined_beside(self, path: Path, paths: Iterable[Path]) -> bool:
        """Whether a file beside this one in the command joins it with others: its rows would count twice."""
        name, folder = bare_name(path), path.parent
        for layout in self.known:
            whole, parts = layout.whole
            beside = any(bare_name(other) == whole and other.parent == folder for other in paths)
            if name in parts and beside and any(layout.fits(sample_of(path), kind) for kind in layout.kinds):
                text = f"{path} was not imported, because {whole} beside it holds the same rows and more"
                self.aside.append(text)
                return True
        return False

    def _only_helps(self, path: Path, kind: ImportKind) -> bool:
        """Whether the file only helps a layout to read files of this kind and contains no records of it."""
        helped = [layout for layout in self.known if kind in layout.beside]
        if not helped or not path.is_file():
            return False
        sample = sample_of(path)
        fits = any(layout.fits(sample, other) for layout in helped for other in layout.kinds)
        return fits and special_layout(self.known, sample, kind) is None

    def _without_copies(self, files: Iterable[Path]) -> list[Path]:
        """The files, each once; of one table in several formats (ratings.csv, ratings.parquet) the first."""
        first: dict[tuple[Path, str], Path] = {}
        for path in dict.fromkeys(files):
            name = Path(bare_name(path).lower())
            key = (path.parent, name.stem if name.suffix in _TABLES else str(path))
            if (other := first.setdefault(key, path)) != path:
                self.aside.append(
                    f"{path} was not imported, because {other.name} beside it has the same name and would count twice; "
                    f"if it has other rows, import it with a separate command"
                )
        return list(first.values())


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
    if not folder.is_dir():
        raise refusal("no-folder", path=folder)
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
