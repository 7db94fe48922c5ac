"""The known layouts, and the choice of a file's layout and kind. Other packages add layouts through entry points."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.importers.columns import ALIASES, ITEM, KNOWN, USER
from recjudge_tui.importers.labelling import ARGILLA, LABEL_STUDIO, answer_rows, declared_answers
from recjudge_tui.importers.layout import (
    LAYOUTS,
    Choice,
    Declaration,
    Layout,
    Request,
    declared_rows,
    load_declaration,
)
from recjudge_tui.importers.mind import MIND, MIND_TRAIN
from recjudge_tui.importers.plain import PLAIN, guess, plain_kinds
from recjudge_tui.importers.reader import Sample, column_wise, fields_of, json_keys, sample_of, squashed
from recjudge_tui.importers.values import Row, shown
from recjudge_tui.plugins import IMPORTERS, load_plugin, plugins

# the labelling tools whose exports a mapping can describe
_TOOLS = ("label-studio", "argilla", "prodigy", "doccano")
# tried in this order, the most specific first; shipped ones that are not named come after them
_ORDER = (
    "recbole", "recsys-arena", "yelp", "amazon-reviews", "esci", "zhang2024", "zhang2024-judge", *_TOOLS, "inspect-ai",
    "promptfoo", "langfuse", "phoenix", "langsmith", "lm-eval", "trec-run", "trec-qrels", "letor", "ranx-run", "ranx-qrels",
    "elliot", "cornac", "movielens-100k", "movielens-1m", "movielens-latest", "mind-train", "mind", "lists-by-user",
)  # fmt: skip
_IDS = {squashed(name) for name in ("user_id", "item_id", *USER, *ITEM)} - {"u", "i"}
_NAMES = {
    squashed(name)
    for kind in ("lists", "events", "items", "labels")
    for names in (KNOWN[kind], *ALIASES[kind].values())
    for name in names
} - {"u", "i"}  # fmt: skip


@lru_cache(maxsize=1)
def shipped() -> tuple[Layout, ...]:
    """The layouts of `layouts/`, by file name."""
    return tuple(declared_layout(load_declaration(path)) for path in sorted(LAYOUTS.glob("*.toml")))


def declared_layout(declared: Declaration) -> Layout:
    """The layout that a declaration describes."""

    def choices(sample: Sample) -> tuple[Choice, ...]:
        found = []
        for kind in declared.kinds:
            part = declared.part_of(sample, kind)
            if part is not None and part.choices:
                found.append(Choice(kind, part.choices[0], *part.choices[1:2]))
        return tuple(found) if len(found) > 1 else ()

    def rows(request: Request) -> Iterator[Row]:
        part = declared.part_of(sample_of(request.path, declared.encoding), request.kind)
        only = declared.kinds.get(request.kind, ())
        if part is None and len(only) == 1 and not only[0].dialect.line:
            part = only[0]
        if part is None:
            raise _not_its_own(declared, request)
        if part.task:
            return answer_rows(request, declared_answers(request, part))
        return declared_rows(request, part, declared.name, must=False)

    parts = [part for parts in declared.kinds.values() for part in parts]
    return Layout(
        name=declared.name,
        kinds=tuple(declared.kinds),
        about=declared.about,
        fits=lambda sample, kind: declared.part_of(sample, kind) is not None,
        rows=rows,
        names=declared.files,
        choices=choices,
        split_by_name=not any(
            "heldout" in part.fields["type"].value
            for part in declared.kinds.get("events", ())
            if "type" in part.fields
        ),
        takes_where=True,
        has_header=not any(part.dialect.header or part.dialect.line for part in parts),
        whole=declared.parts,
        part=lambda sample, kind: (
            declared.part_of(sample, kind) or next(iter(declared.kinds.get(kind, ())), None)
        ),
    )


def _not_its_own(declared: Declaration, request: Request) -> InputError:
    sample = sample_of(request.path, declared.encoding)
    others = [kind for kind in declared.kinds if declared.part_of(sample, kind) is not None]
    if others:
        title = f"{request.path} contains {' and '.join(others)}, not {request.kind}"
        return InputError(title, f"It has the layout {declared.name}.", f"Import it with --as {others[0]}.")
    parts = [part for part in declared.kinds.get(request.kind, ()) if part.when.has]
    has = "; or ".join(", ".join(part.when.has) for part in parts) or declared.about
    return InputError(
        f"{request.path}:1: not {request.kind} of {declared.name}",
        f"They have: {has}. The file begins: {shown(sample.first_line)}.",
        "Leave out --layout to have the layout detected, or describe the file in a mapping (recjudge docs mapping).",
    )


def layouts() -> list[Layout]:
    """All layouts: built-in ones, those of other packages, and plain tables last. One that cannot be loaded is left out."""
    named = {layout.name: layout for layout in (*shipped(), LABEL_STUDIO, ARGILLA, MIND, MIND_TRAIN)}
    known = sorted(
        named.values(), key=lambda layout: _ORDER.index(layout.name) if layout.name in _ORDER else len(_ORDER)
    )
    for point in _other_packages():
        with suppress(UsageError):
            known.append(_loaded(point))
    return [*known, PLAIN]


def _loaded(point: EntryPoint) -> Layout:
    """Raises UsageError when another package's layout cannot be loaded."""
    layout = load_plugin(point)
    if not isinstance(layout, Layout):
        raise UsageError(f"the importer “{point.name}” is not a recjudge layout")
    return layout


def _other_packages() -> tuple[EntryPoint, ...]:
    """The layouts of other packages, by name."""
    return tuple(plugins(IMPORTERS))


def named_layouts(name: str | None) -> list[Layout]:
    """All layouts, or the one of this name. Raises UsageError for an unknown name."""
    known = layouts()
    named = [layout for layout in known if name in (None, layout.name)]
    if not named:
        for point in _other_packages():
            if point.name == name:
                _loaded(point)  # says why it cannot
        raise UsageError(f"no layout “{name}”", f"Known: {', '.join(layout.name for layout in known)}.")
    return named


def special_layout(known: list[Layout], sample: Sample, kind: ImportKind) -> Layout | None:
    """The first layout other than plain tables that fits the beginning of the file as `kind`."""
    return next(
        (one for one in known if one is not PLAIN and kind in one.kinds and one.fits(sample, kind)), None
    )


def choose_layout(sample: Sample, kind: ImportKind, name: str | None, system: str | None = None) -> Layout:
    """The layout called `name`, or the first one that fits the beginning of the file and can hold `kind`.

    Raises UsageError for an unknown name, InputError for a layout that cannot hold this kind and, without a name, for
    a file that holds another kind.
    """
    known = named_layouts(name)
    if name is not None:
        if kind not in known[0].kinds:
            title = f"layout {name} does not contain {kind}"
            raise InputError(title, f"It holds: {', '.join(known[0].kinds)}.")
        return known[0]
    refuse_columns(sample)
    special = special_layout(known, sample, kind)
    if special is None and kind not in plain_kinds(sample, system):
        fits = {
            other: layout
            for other in IMPORT_KINDS
            if (layout := special_layout(known, sample, other)) is not None
        }
        if fits:
            first = next(iter(fits))
            raise InputError(
                f"{sample.path} contains {' and '.join(fits)}, not {kind}",
                f"It has the layout {fits[first].name}: {fits[first].about}.",
                f"Import it with --as {first}.",
            )
    return special or PLAIN


def refuse_columns(sample: Sample) -> None:
    """Raise InputError for a JSON object that holds a table column by column, or under an index."""
    if column_wise(sample, _NAMES, _IDS):
        raise InputError(
            f"{sample.path} holds its rows column by column, or under an index",
            f"It begins: {one_line(sample.text, 120)}",
            "Write an object for each row (pandas: orient='records').",
        )


def mapped_layout(mapping: Declaration, kind: ImportKind) -> Layout:
    """The layout that reads a file with this mapping: plain tables, or the labelling tool that the mapping names.

    Raises InputError for any other name, and for a tool whose exports do not hold this kind.
    """
    if not mapping.layout:
        return PLAIN
    if mapping.layout in _TOOLS and kind == "labels":
        return named_layouts(mapping.layout)[0]
    raise InputError(
        f"layout “{mapping.layout}” in the mapping {mapping.name} does not support {kind}",
        f"A mapping describes a table, or the labels of: {', '.join(_TOOLS)}.",
        "See “recjudge docs importing-labels”.",
    )


# ---- what a file holds -------------------------------------------------------------------------------------------


class FileContents(NamedTuple):
    """The kinds that a file holds, each with its layout; or `choices`, of which the user must name one."""

    layouts: dict[ImportKind, Layout]
    choices: tuple[Choice, ...] = ()


def holding_of(sample: Sample, known: list[Layout], system: str | None = None) -> FileContents:
    """What the file holds. A layout that fits goes before plain tables. `system`: of all lists of the command,
    which then decides for lists."""
    refuse_columns(sample)
    special = {kind: special_layout(known, sample, kind) for kind in IMPORT_KINDS}
    found = {kind: layout for kind, layout in special.items() if layout is not None}
    if found:
        choices = tuple(c for layout in dict.fromkeys(found.values()) for c in layout.choices(sample))
        # only lists have a system to name
        if system and "lists" in found and any(choice.kind == "lists" for choice in choices):
            return FileContents({"lists": found["lists"]})
        return FileContents(found, choices)
    if PLAIN not in known:
        return FileContents({})
    kind, choices = guess(sample, system)
    return FileContents({kind: PLAIN} if kind else {}, choices)


def commands(path: Path, project: str, choices: Sequence[Choice]) -> list[str]:
    """For each choice, the command that imports the file that way, and what it means."""
    start = f"recjudge import {shlex.quote(str(path))} -p {shlex.quote(project)}"
    lines = [f"{start} --as {choice.kind} {choice.options}".strip() for choice in choices]
    width = max(map(len, lines), default=0)
    return [f"{line:<{width}}   {choice.meaning}" for line, choice in zip(lines, choices, strict=True)]


def _hint(first: str) -> str:
    """What to do about a first line that keeps the columns from being found; empty if nothing is known."""
    line = first.strip("\ufeff \t\r\n")
    if line.startswith("#"):
        return "Delete the comment above the header. "
    keys = json_keys(line)
    if set(keys) >= {"columns", "data"}:
        return "Write an object for each row (pandas: orient='records'). "
    if array := next((key for key, value in keys.items() if value == "["), ""):
        name = one_line(array, 60)
        return f'If the rows are the array “{name}”, write “within = "{name}"” in a mapping file. '
    if len(line.split()) > 2 and len(fields_of(line)) == 1 and not keys and not re.match(r"[\[{]", line):
        return 'If spaces separate the columns, write “delimiter = " "” in a mapping file. '
    return ""


def uncertain(sample: Sample, project: str, choices: Sequence[Choice]) -> InputError:
    """The error for a file that may contain one of several kinds of data, or no known kind."""
    begins = f"Its first line is: {one_line(sample.first_line, 200)}"
    if not choices:
        return InputError(
            f"cannot tell what {sample.path} contains",
            f"It has no known layout and lacks the columns of a plain table. {begins}",
            f"{_hint(sample.first_line)}Name the kind with --as, or describe it with --mapping (recjudge docs mapping).",
        )
    steps = "\n  ".join(commands(sample.path, project, choices))
    return InputError(
        f"cannot tell what {sample.path} contains",
        f"{begins}",
        f"Say what it is:\n  {steps}",
    )
