"""The known layouts, plain tables among them, and the choice of a file's layout and kind, of one file or of folders."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache, lru_cache, partial
from importlib.metadata import EntryPoint
from itertools import chain, islice
from pathlib import Path

from recjudge_tui.domain.event_types import RATING, kind_of
from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.text import one_line, unmarked
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.files import parse_toml
from recjudge_tui.importers.columns import (
    ALIASES,
    CASE,
    COLUMNS,
    ITEM,
    KNOWN,
    USER,
    WORDS,
    expanded,
    holds_counts,
    list_columns,
    missing_of,
    named_by_length,
    numbered,
    two_game_columns,
    uses,
    wanted_columns,
)
from recjudge_tui.importers.layout import (
    LAYOUTS,
    Choice,
    Declaration,
    Layout,
    Part,
    Request,
    beginning,
    declared_rows,
    load_declaration,
    missing_columns,
)
from recjudge_tui.importers.mind import MIND, MIND_TRAIN
from recjudge_tui.importers.reader import (
    Dialect,
    Sample,
    Table,
    WantedColumns,
    bare_name,
    chosen_rows,
    decoded,
    fields_of,
    header_of,
    json_keys,
    read_table,
    sample_of,
    squashed,
)
from recjudge_tui.importers.values import Notes, Row, RowFault, Times, number, refusal, stop_if
from recjudge_tui.plugins import IMPORTERS, load_plugin, plugins
from recjudge_tui.store.exports import LABEL_COLUMNS

# the labelling tools whose exports a mapping can describe
_TOOLS = ("label-studio", "argilla", "prodigy", "doccano")
_KINDS = parse_toml(Path(__file__).with_name("kinds.toml").read_text("utf-8"))
_IDS = set(map(squashed, ("user_id", "item_id", *USER, *ITEM))) - {"u", "i"}
_ALL = (names for kind in KNOWN for names in (KNOWN[kind], *ALIASES[kind].values()))
_NAMES = _IDS | {squashed(name) for names in _ALL for name in names}

# ---- declared layouts --------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def shipped() -> tuple[Layout, ...]:
    """The layouts of `layouts/`, by file name."""
    return tuple(declared_layout(load_declaration(path)) for path in sorted(LAYOUTS.glob("*.toml")))


def declared_layout(declared: Declaration) -> Layout:
    """The layout that a declaration describes."""
    parts = [part for parts in declared.kinds.values() for part in parts]

    def part_of(sample: Sample, kind: ImportKind) -> Part | None:
        only = declared.kinds.get(kind, ())
        alone = only[0] if len(only) == 1 and not only[0].line else None
        return declared.part_of(sample, kind) or alone

    def choices(sample: Sample) -> tuple[Choice, ...]:
        fitting = ((kind, declared.part_of(sample, kind)) for kind in declared.kinds)
        found = [Choice(kind, *part.choices[:2]) for kind, part in fitting if part and part.choices]
        return tuple(found) if len(found) > 1 else ()

    def rows(request: Request) -> Iterator[Row]:
        sample = sample_of(request.path, declared.encoding)
        part = part_of(sample, request.kind)
        if part is None and not declared.shipped:
            fits = " that fits the file" * (request.kind in declared.kinds)
            raise refusal("mapping-table", mapping=declared, kind=request.kind, fits=fits)
        if part is None:
            about = {"path": request.path, "kind": request.kind, "layout": declared.name}
            others = [kind for kind in declared.kinds if declared.part_of(sample, kind) is not None]
            stop_if(others, "other-kind", kinds=others, **about)
            whens = [w.has for one in declared.kinds.get(request.kind, ()) for w in one.when if w.has]
            has = "; or ".join(map(", ".join, whens)) or declared.about
            raise refusal("not-its-own", request=request, layout=declared.name, has=has, sample=sample)
        if part.refuse:
            raise InputError(f"{request.path} {part.refuse[0]}", *part.refuse[1:])
        if not declared.shipped and not part.task:
            given = {*part.fields, *(name for about, _ in part.answers[:1] for name in (*about, "value"))}
            given |= {CASE, "value"} if part.case_pattern else set()
            missing = missing_of(request.kind, given, request.system, request.event_type)
            if missing:
                quiet = request._replace(notes=Notes(request.notes.file))
                first = declared_rows(quiet, part, declared.name, must=True)
                raise refusal(
                    "mapping-field", mapping=declared, field=missing[0], request=request,
                    needed=COLUMNS[request.kind].required, rows=beginning(first, "as the mapping reads them"),
                )  # fmt: skip
        return declared_rows(request, part, declared.name, must=not declared.shipped)

    return Layout(
        name=declared.name,
        kinds=tuple(declared.kinds),
        about=declared.about,
        fits=lambda sample, kind: declared.part_of(sample, kind) is not None,
        rows=rows,
        names=declared.files,
        choices=choices,
        split_by_name=not any("heldout" in field.value for part in parts for field in part.fields.values()),
        takes_where=True,
        has_header=not any(part.header or part.line for part in parts),
        whole=declared.parts,
        part=part_of,
    )


def layouts() -> list[Layout]:
    """All layouts: built-in ones, those of other packages, and plain tables last. One that cannot be loaded is left out."""
    order = {name: place for place, name in enumerate(_KINDS["order"])}
    known = sorted((*shipped(), MIND, MIND_TRAIN), key=lambda layout: order.get(layout.name, len(order)))
    for point in plugins(IMPORTERS):
        with suppress(UsageError):
            known.append(_loaded(point))
    return [*known, PLAIN]


def _loaded(point: EntryPoint) -> Layout:
    """Raises UsageError when another package's layout cannot be loaded."""
    if isinstance(layout := load_plugin(point), Layout):
        return layout
    raise UsageError(f"the importer “{point.name}” is not a recjudge layout")


def named_layouts(name: str | None) -> list[Layout]:
    """All layouts, or the one of this name. Raises UsageError for an unknown name."""
    known = layouts()
    named = [layout for layout in known if name in (None, layout.name)]
    if not named:
        for point in plugins(IMPORTERS):
            if point.name == name:
                _loaded(point)  # says why it cannot
        raise UsageError(f"no layout “{name}”", f"Known: {', '.join(layout.name for layout in known)}.")
    return named


def special_layouts(known: list[Layout], sample: Sample) -> dict[ImportKind, Layout]:
    """The first layout other than plain tables that fits the beginning of the file, for each kind that it may hold."""
    special = [one for one in reversed(known) if one is not PLAIN]
    able = ((kind, one) for kind in IMPORT_KINDS for one in special if kind in one.kinds)
    return {kind: one for kind, one in able if one.fits(sample, kind)}


def choose_layout(sample: Sample, kind: ImportKind, name: str | None, system: str | None = None) -> Layout:
    """The layout called `name`, or the first one that fits the beginning of the file and can hold `kind`.

    Raises UsageError for an unknown name, InputError for a layout that cannot hold this kind and, without a name, for
    a file that holds another kind.
    """
    known = named_layouts(name)
    if name is not None:
        stop_if(kind not in known[0].kinds, "no-such-kind", layout=name, kind=kind, kinds=known[0].kinds)
        return known[0]
    refuse_columns(sample)
    special = special_layouts(known, sample)
    if kind in special:
        return special[kind]
    header = header_of(sample.text, WantedColumns({name for names in KNOWN.values() for name in names}))
    if special and missing_of(kind, {name.lower() for name in header}, system):
        one = next(iter(special.values()))
        layout = f"{one.name}: {one.about}"
        raise refusal("other-kind", path=sample.path, kinds=list(special), kind=kind, layout=layout)
    return PLAIN


def refuse_columns(sample: Sample) -> None:
    """Raise InputError for a JSON object that holds a table column by column, or row by row under an index, as pandas writes
    it."""
    text = sample.text.lstrip("\ufeff \t\r\n")
    if first := re.match(r'\{\s*"\d+"\s*:\s*(?=\{)', text):
        found = set(map(squashed, json_keys(text[first.end() :]))) & _NAMES
    else:
        # of one shape, and not an object a line
        lines = [line for line in text.split("\n", 2)[:2] if line.strip()]
        outer = json_keys(text) if text.startswith("{") and not (lines[1:] and decoded(lines[0])) else {}
        found = set(map(squashed, outer)) if set(outer.values()) in ({"{"}, {"["}) else set()
    stop_if(len(found) > 1 and found & _IDS, "by-column", path=sample.path, start=one_line(sample.text, 120))


def mapped_layout(mapping: Declaration, kind: ImportKind) -> Layout:
    """The layout that reads a file with this mapping: plain tables, its own, or the labelling tool that it names.

    Raises InputError for any other name, and for a tool whose exports do not hold this kind.
    """
    if not mapping.layout:
        return declared_layout(mapping) if mapping.kinds else PLAIN
    if mapping.layout in _TOOLS and kind == "labels":
        return named_layouts(mapping.layout)[0]
    raise refusal("mapping-layout", layout=mapping.layout, name=mapping.name, kind=kind, tools=_TOOLS)


_NOT_DONE, _DONE = {"0", "0.0", "false"}, {"1", "1.0", "true", ""}
# ---- plain tables: a header row (or JSON, or Parquet), the columns of each kind, extra columns as attributes -------


def plain_rows(request: Request) -> Iterator[Row]:
    """The rows of a plain table; ratings get their event type. Raises InputError for a table that lacks a column."""
    kind, notes = request.kind, request.notes
    dialect: Dialect = request.mapping or Dialect()
    bare = [] if dialect.header else headerless_rows(sample_of(request.path, dialect.encoding))
    if bare and (usual := _KINDS["headerless"].get(f"{kind} {len(bare[0])}")):
        dialect = dialect.model_copy(update={"header": tuple(usual)})
        notes.remark("no-header")
    table = read_table(request.path, wanted_columns(kind), dialect, notes, request.contents)
    table = chosen_rows(table, request.where, request.path, notes)
    if kind == "lists" and (columns := list_columns(table.columns)) != table.columns:
        new = dict(zip(table.columns, columns, strict=True))
        rows = ((line, {new.get(name, name): text for name, text in row.items()}) for line, row in table.rows)
        table = table._replace(columns=columns, rows=rows)
    notes.columns = uses(kind, table.original, table.columns)
    given = set(table.columns)
    rated = kind == "events" and "type" not in given and not request.event_type and "value" in given
    if rated:
        notes.remark("no-type")
    if missing := missing_of(kind, given | {"type"} if rated else given, request.system, request.event_type):
        raise missing_columns(request, table, missing)
    if kind == "events":
        table = table._replace(rows=_done(request, table))
    if rated:
        return ((line, {**row, "type": RATING}) for line, row in table.rows)
    if kind == "labels" and table.original == LABEL_COLUMNS and not table.json:
        # our own export, without the apostrophes that protect formulas
        return ((line, {name: unmarked(text) for name, text in row.items()}) for line, row in table.rows)
    return table.rows


def _done(request: Request, table: Table) -> Iterator[Row]:
    """The rows of events. Raises InputError where an unread column of 0 and 1 called like a type of event, such as
    `clicked`, says that there was none: that of the type that is given, else any."""
    beginning = list(islice(table.rows, 200))
    kinds = {}
    for column in set(table.columns) - set(KNOWN["events"]):
        kind, name = kind_of(column), re.sub("^(is|has)", "", squashed(column))
        stems = kind.stems if kind and kind.action != "rated" else ()
        called = any(name.startswith(stem) and len(name) < len(stem) + 3 for stem in stems)
        if called and all(row.get(column, "").strip().lower() in _NOT_DONE | _DONE for _, row in beginning):
            kinds[column] = kind
    own = [column for column, kind in kinds.items() if kind == kind_of(request.event_type)]
    asked = own or ([] if "type" in table.columns else list(kinds))
    rows = chain(beginning, table.rows)
    if not asked:
        yield from rows
    for line, row in rows:
        for column in asked:
            if row.get(column, "").strip().lower() in _NOT_DONE:
                place = f"{request.path}:{request.notes.unit}{line}"
                raise refusal("not-done", place=place, column=column, text=row[column])
        yield line, row


PLAIN = Layout(
    name="plain",
    kinds=IMPORT_KINDS,
    about="CSV, TSV or JSON Lines with the columns of “recjudge docs mapping”; any table with --mapping",
    fits=lambda _sample, _kind: True,
    rows=plain_rows,
    takes_where=True,
)
_ROWS = 50
# looks like a weight in a matrix, never like an id
_FRACTION = re.compile(r"-?\d*\.\d*[1-9]\d*(e-?\d+)?", re.ASCII | re.IGNORECASE)


def headerless_rows(sample: Sample) -> list[list[str]]:
    """The first rows of a file without a header; empty for any other file.

    Every row of the file's beginning has two ids, a number in the third field, and perhaps a number of nine digits or more
    or a date in the fourth.
    """
    lines = [line.rstrip("\r") for line in sample.text.split("\n", _ROWS)[:_ROWS] if line.strip()]
    rows = [fields_of(line) for line in lines]
    if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) not in (3, 4):
        return []
    return rows if all(map(_is_data, rows)) else []


def _is_data(row: list[str]) -> bool:
    if any(not name.strip() or _FRACTION.fullmatch(name.strip()) for name in row[:2]):
        return False
    try:
        number(row[2], "")
        return len(row) == 3 or (len(row[3].strip()) > 8 and bool(Times().read(row[3])))
    except RowFault:
        return False


# ---- the kind of a plain table -----------------------------------------------------------------------------------

_ROLES = {role: set(expanded(spec)) for role, spec in _KINDS["roles"].items()}
_BETWEEN_IDS, _DIGIT = re.compile(r"[|;,\s]+"), re.compile(r"\d")


def guess(sample: Sample, system: str | None = None) -> tuple[ImportKind | None, tuple[Choice, ...]]:
    """The kind of data in a plain table, by its columns and, if these do not decide, by its rows; or, if uncertain, the
    choices. Both are empty if it is not a table we know. `system`: the system of all rows."""
    if bare := headerless_rows(sample):
        surely = bool(system) or not _like_ratings([row[2] for row in bare])
        if len(bare[0]) == 4:
            return (None, _choices("ratings")) if surely else ("events", ())
        return ("lists", ()) if surely else (None, _choices("scored", "ratings"))
    everything = WantedColumns(
        {name for names in KNOWN.values() for name in names},
        {f"{kind} {name}": aliases for kind, names in ALIASES.items() for name, aliases in names.items()},
    )
    columns = header_of(sample.text, everything)
    roles = _roles(columns, system)
    cells = cache(partial(_in_cells, sample))

    def has(role: str) -> bool:
        if role == "marks":
            rows = islice(_table(sample, "lists").rows, 200)
            return _like_ratings([row.get("score", "") for _, row in rows])
        if role == "cells":
            return bool(cells())
        return _repeats(sample) if role == "repeats" else role in roles

    for rule in _KINDS["rules"]:
        if all(has(role.removeprefix("-")) != role.startswith("-") for role in rule["has"].split()):
            may = rule.get("may", ())
            return rule.get("is"), _choices(*may) + (cells() if "cells" in may else ())
    return None, ()


def _choices(*names: str) -> tuple[Choice, ...]:
    return tuple(Choice(*_KINDS["choices"][name]) for name in names if name != "cells")


def _roles(columns: Sequence[str], system: str | None) -> set[str]:
    """The roles that the columns of a table have, and what follows from several. `bare_id` and `bare_name`: columns called
    `id` or `name` alone, which may be of users or of items; `measured`: more than attributes of users."""
    names = {squashed(name) for name in columns}
    roles = {role for role, aliases in _ROLES.items() if not names.isdisjoint(aliases)}
    as_labels = set(wanted_columns("labels").renamed(columns))
    pair = {"user_id", "value", "system_a", "system_b"} <= as_labels
    about_items = tuple(_KINDS["about_items"])
    extra = {
        "bare_name": "name" in names and names.isdisjoint(set(WORDS["title"]) - {"name"}),
        "several": bool(numbered(columns)),
        "battles": pair
        or ("system_b" in as_labels and (holds_counts(as_labels) or two_game_columns(as_labels))),
        "measured": not roles.isdisjoint(_KINDS["measures"]) or any(n.endswith(about_items) for n in names),
        "by_length": bool(named_by_length(columns)),
        "system": bool(system),
        "named": bool(system),
    }
    return roles | {role for role, there in extra.items() if there}


def _table(sample: Sample, kind: ImportKind) -> Table:
    return read_table(sample.path, wanted_columns(kind), Dialect(), Notes(sample.path))


def _in_cells(sample: Sample) -> tuple[Choice, ...]:
    """A choice for each column whose cells in the file's beginning all hold several ids."""
    found: list[Choice] = []

    def holds_ids(cell: str) -> bool:
        # two words with a digit in them, with separators between, or a list of objects
        parts = [part for part in _BETWEEN_IDS.split(cell.strip("[]() ")) if part]
        return cell.startswith("[{") or (len(parts) > 1 and all(map(_DIGIT.search, parts)))

    with suppress(InputError, ValueError):
        table = _table(sample, "users")
        rows = [row for _, row in islice(table.rows, 200)]
        user = json.dumps(table.original[table.columns.index("user_id")], ensure_ascii=False)
        for name in table.columns if rows else ():
            if name != "user_id" and all(holds_ids(row[name]) for row in rows):
                fields = one_line(f"user_id = {user}, items = {json.dumps(name, ensure_ascii=False)}", 300)
                short = one_line(name, 60)
                toml = f"lists = {{ {fields} }}"
                meaning = f"lists in the cells of “{short}”, with a FILE.toml that says: {toml}"
                found.append(Choice("lists", meaning, f"--system {shlex.quote(short)} --mapping FILE.toml"))
    return tuple(found[:4])


def _like_ratings(cells: Collection[str]) -> bool:
    """Whether all numbers look like half stars, marks or percentages: halves between 0 and 100."""
    try:
        values = [number(cell, "") for cell in cells if cell.strip()]
    except RowFault:
        return False
    return all(0 <= value <= 100 and value * 2 == int(value * 2) for value in values)


def _repeats(sample: Sample) -> bool:
    """Whether an id occurs twice in the file; reads the whole file. Errors are left to the import, which explains them."""
    seen: set[str] = set()
    with suppress(InputError):
        for _, row in _table(sample, "users").rows:
            user_id = row.get("user_id", "").strip()
            if user_id in seen:
                return True
            seen.add(user_id)
    return False


# ---- what a file holds -------------------------------------------------------------------------------------------


def commands(path: Path, project: str, choices: Sequence[Choice]) -> list[str]:
    """For each choice, the command that imports the file that way, and what it means."""
    start = f"recjudge import {shlex.quote(str(path))} -p {shlex.quote(project)}"
    lines = [f"{start} --as {choice.kind} {choice.options}".strip() for choice in choices]
    width = max(map(len, lines), default=0)
    return [f"{line:<{width}}   {choice.meaning}" for line, choice in zip(lines, choices, strict=True)]


def _hint(first: str) -> str:
    """What to do about a first line that keeps the columns from being found; empty if nothing is known."""
    line = first.strip("\ufeff \t\r\n")
    keys = json_keys(line)
    if line.startswith("#"):
        return "Delete the comment above the header. "
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
    first = one_line(sample.first_line, 200)
    if not choices:
        return refusal("unknown", path=sample.path, first=first, hint=_hint(sample.first_line))
    steps = "".join(f"\n  {line}" for line in commands(sample.path, project, choices))
    return refusal("what-is-it", path=sample.path, first=first, commands=steps)


# ---- the files of a command --------------------------------------------------------------------------------------

_TABLES = {".csv", ".tsv", ".json", ".jsonl", ".parquet"}


class FilesByKind:
    """The files of each kind in import order, and the files that only help to read others.

    `aside` names the files that are not imported, each with the reason.
    """

    def __init__(
        self, layout: str | None = None, system: str | None = None, project: str = "PROJECT"
    ) -> None:
        self.known, self.system, self.project = named_layouts(layout), system, project
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
                layouts, choices = self._holding(sample := sample_of(path))
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

    def _holding(self, sample: Sample) -> tuple[dict[ImportKind, Layout], tuple[Choice, ...]]:
        """The kinds that a file holds, each with its layout; or choices, of which the user must name one. A layout that fits
        goes before plain tables. The system of all lists of the command decides for lists."""
        refuse_columns(sample)
        if not (found := special_layouts(self.known, sample)):
            kind, choices = guess(sample, self.system) if PLAIN in self.known else (None, ())
            return {kind: PLAIN} if kind else {}, choices
        choices = tuple(c for layout in dict.fromkeys(found.values()) for c in layout.choices(sample))
        # only lists have a system to name
        if self.system and "lists" in found and any(choice.kind == "lists" for choice in choices):
            return {"lists": found["lists"]}, ()
        return found, choices

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
                layouts, choices = self._holding(sample := sample_of(path))
            except InputError:
                unknown.append(path.name)
                continue
            lines = [line for line in sample.text.splitlines() if line.strip()]
            only_names = len(lines) == 1 and lines[0].lstrip()[0] not in "{[" and not headerless_rows(sample)
            kinds = {part: layout for part, layout in layouts.items() if part == (kind or part)}
            if choices and kind is None:
                steps = "\n  ".join(("Say which:", *commands(path, self.project, choices)))
                left = "was not imported, because it may contain one of several kinds of data"
                questions.append(f"{path} {left}. {steps}")
            elif kind is not None and not kinds and any(choice.kind == kind for choice in choices):
                found[kind].append(path)
            elif any(layout.has_header for layout in kinds.values()) and only_names:
                self.aside.append(f"{path} was not imported, because it has a header and no rows")
            elif not layouts:
                unknown.append(path.name)
            else:
                name = bare_name(path).lower()
                own = [p for p, one in kinds.items() if any(fnmatch(name, n) for n in one.names or "*")]
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
        if not helped:
            return False
        sample = sample_of(path)
        fits = any(layout.fits(sample, other) for layout in helped for other in layout.kinds)
        return fits and kind not in special_layouts(self.known, sample)

    def _without_copies(self, files: Iterable[Path]) -> list[Path]:
        """The files, each once; of one table in several formats (ratings.csv, ratings.parquet) the first."""
        first: dict[tuple[Path, str], Path] = {}
        for path in dict.fromkeys(files):
            name = Path(bare_name(path).lower())
            key = (path.parent, name.stem if name.suffix in _TABLES else str(path))
            if (other := first.setdefault(key, path)) != path:
                why = f"{other.name} beside it has the same name and would count twice"
                step = "if it has other rows, import it with a separate command"
                self.aside.append(f"{path} was not imported, because {why}; {step}")
        return list(first.values())
