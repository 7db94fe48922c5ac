"""Layouts: how a format is recognised and read, as a declaration in TOML. The shipped ones (layouts/*.toml) and a user's
`--mapping` speak one language (recjudge docs mapping); a format that is no table is a `Layout` in code.

A layout turns one file into rows with the plain column names of a kind. Other packages add layouts through the entry point
group `recjudge.importers`, with a `Layout` as the object.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, StrictBool, ValidationError, model_validator

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.scales import Scale, scale_of_text
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.files import parse_toml, small_file
from recjudge_tui.importers.columns import CASE, COLUMNS, KNOWN, TASK, gap
from recjudge_tui.importers.labelling import answer_of, by_person, choices, text_of_choice, winner
from recjudge_tui.importers.reader import (
    Contents,
    Dialect,
    Pattern,
    Sample,
    Spec,
    Table,
    WantedColumns,
    bare_name,
    cell,
    chosen_rows,
    compiles,
    decoded,
    header_of,
    json_keys,
    lines_match,
    read_table,
    stem,
)
from recjudge_tui.importers.values import (
    Notes,
    Row,
    RowFault,
    formatted,
    html_text,
    refusal,
    refuse,
    shown,
    stop_if,
    storable,
)

LAYOUTS = Path(__file__).with_name("layouts")


class Request(NamedTuple):
    """One file to read, and the options of the command. Warnings go to `notes`.

    `beside` are the other files of the command, for layouts that need two files. `event_type` is the type of all its events.
    `where`: only the rows with one of these values in each of these columns.
    """

    path: Path
    kind: ImportKind
    notes: Notes
    system: str | None = None
    mapping: Declaration | None = None
    beside: tuple[Path, ...] = ()
    event_type: str = ""
    where: Mapping[str, frozenset[str]] = {}
    contents: Contents | None = None


class Choice(NamedTuple):
    """One of the kinds of data that a file may contain: what it would mean, and the options that select it besides
    `--as`.
    """

    kind: ImportKind
    meaning: str
    options: str = ""


class Layout(NamedTuple):
    """`fits` decides from a file's beginning alone; `rows` yields rows with plain column names in constant memory.

    `rows` notes each row it leaves out and raises InputError when the file as a whole cannot be used. `names` are
    patterns (as in `fnmatch`, without `.gz`) of the files to import from a folder; without patterns, every file that
    fits. `beside` are kinds that need a second file of the layout which does not contain them itself: such a file may
    be given in the same command and is not imported. `choices` are the kinds that a file may contain if its beginning
    does not decide; then the user must name the kind. `split_by_name`: events of a file whose name says that it is
    for testing (`u1.test`, `valid.csv`) are held out; False for layouts that mark held-out events themselves.
    `takes_where`: supports reading only the rows that a command chooses. `has_header`: a table's first line names its
    columns. `part`: the declaration that reads a file. `whole`: the file that joins others, which are left aside
    where it is read.
    """

    name: str
    kinds: tuple[ImportKind, ...]
    about: str
    fits: Callable[[Sample, ImportKind], bool]
    rows: Callable[[Request], Iterator[Row]]
    names: tuple[str, ...] = ()
    beside: tuple[ImportKind, ...] = ()
    choices: Callable[[Sample], tuple[Choice, ...]] = lambda _sample: ()
    split_by_name: bool = True
    takes_where: bool = False
    has_header: bool = True
    part: Callable[[Sample, ImportKind], Part | None] = lambda _sample, _kind: None
    whole: tuple[str, tuple[str, ...]] = ("", ())


# ---- the declaration ---------------------------------------------------------------------------------------------


def _refuse_if(wrong: object, text: str) -> None:
    if wrong:
        raise ValueError(text)


Texts = Annotated[tuple[str, ...], BeforeValidator(lambda spec: (spec,) if isinstance(spec, str) else spec)]


class Field(Spec):
    """The source of one value, and its conversions: the first of these columns (or places in JSON, `scores[0].value`) that
    the file has, or a constant. `file`: the file's name without its ending, and without what this pattern matches. `flags`:
    columns of 0 and 1, each with the name of what 1 means.
    """

    column: Texts = ()
    value: str = ""
    default: str = ""
    html: StrictBool = False
    values: dict[str, str] = {}
    format: str = ""
    convert: Literal["", "list", "parts", "names", "lower", "text"] = ""
    pattern: Pattern = ""
    flags: dict[str, str] = {}
    file: Pattern | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, spec: object) -> object:
        if isinstance(spec, str | list):
            return {"column": spec}
        if not isinstance(spec, dict):
            raise ValueError('must be a column\'s name or a table such as { column = "…", html = true }')
        unknown = min(set(spec) - set(cls.model_fields), default="")
        _refuse_if(unknown, f"has “{unknown}”, which is none of: {', '.join(cls.model_fields)}")
        sources = sum(key in spec for key in ("column", "value", "flags")) or "file" in spec
        _refuse_if(sources != 1, "needs either a column or a constant value")
        return spec

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.column, *self.flags)

    @property
    def source(self) -> str:
        """Where the value is from, in words."""
        return next(iter(self.columns), "the file's name" if self.file is not None else "")


class When(Spec):
    """How a file is recognised: by columns (`has` all, `any` of them, `lacks` each), by their first characters in
    JSON (`opens`, all `values`), by its lines, by its text (`text` and `found` in it, `no_text` not), by
    its name, by files that are not beside it.
    """

    has: Texts = ()
    any: Texts = ()
    lacks: Texts = ()
    opens: dict[str, str] = {}
    values: str = ""
    lines: Pattern = ""
    text: Pattern = ""
    found: Pattern = ""
    no_text: Pattern = ""
    name: Pattern = ""
    not_beside: Texts = ()

    def fits(self, sample: Sample) -> bool:
        names = {name.lower() for name in header_of(sample.text, WantedColumns((*self.has, *self.any)))}
        has, some, lacks = ({name.lower() for name in part} for part in (self.has, self.any, self.lacks))
        if not names >= has or (some and names.isdisjoint(some)) or names & lacks:
            return False
        opens = json_keys(sample.text) if self.opens or self.values else {}
        text, path = sample.text.lstrip("\ufeff \t\r\n"), sample.path
        return (
            all(opens.get(name, " ") in first for name, first in self.opens.items())
            and (not self.values or set(opens.values()) == {self.values})
            and (not self.lines or lines_match(sample, re.compile(self.lines)))
            and all(re.search(wanted, text) for wanted in (self.text, self.found))
            and not (self.no_text and re.search(self.no_text, text))
            and re.search(self.name, bare_name(path), re.IGNORECASE) is not None
            and not any(path.with_name(name).is_file() for name in self.not_beside)
        )

    def within(self, outer: When) -> When:
        """This, and what the whole file says about all its parts."""
        own = {key: value for key, value in self.model_dump().items() if value}
        both = {key: (*getattr(outer, key), *own.get(key, ())) for key in ("has", "lacks")}
        return outer.model_copy(update={**own, **both})


class Part(Dialect):
    """How one kind of record is read from one kind of file, of which one of `when` is true. A table with `same` says
    only how it differs from the first one of its kind.

    `attributes` None: all other columns but those `without`, `entries_of` a column that holds some as a JSON object.
    `each`: one row for each element at this place in a JSON record. `only`: column -> the values of the rows that are
    read, `skip`: of those that are passed over; `left`: places whose elements are left out and counted. `unique`: the
    fields of which each value is read once. `once`: the fields of a further row, for each new user. `need`: fields that
    must not be empty. `count`: columns whose values are counted in a remark. `explode`: columns whose cells hold lists
    of equal length, an element a row. `task`: where the fields of a labelling tool's task are found, in this order.
    `join`: the file beside, and the columns on which both must agree. `answers`: for each column that contains one
    label, what its name says about the label (rater, aspect, case). `case_pattern` finds columns of cases by their
    names, and `renamed` renames the answers in them. `scale` applies to all aspects with scores, `scales` to single
    aspects. `sides` says what A and B mean if the file says which system was shown first. `choices`: what the file may
    be, and the options that say so. `refuse`: why such files are not read.
    """

    fields: dict[str, Field] = {}
    when: tuple[When, ...] = (When(),)
    attributes: dict[str, Field] | None = {}
    entries_of: str = ""
    without: Texts = ()
    each: str = ""
    only: dict[str, Texts] = {}
    skip: dict[str, Texts] = {}
    left: Texts = ()
    unique: Texts = ()
    explode: Texts = ()
    once: dict[str, Field] = {}
    need: Texts = ()
    count: Texts = ()
    task: Texts = ()
    join: tuple[str, Texts] = ("", ())
    answers: tuple[tuple[dict[str, str], Field], ...] = ()
    case_pattern: Pattern = ""
    renamed: dict[str, str] = {}
    scale: Scale | None = None
    scales: dict[str, Scale] = {}
    sides: Literal["", "systems", "shown"] = ""
    ties: Literal["", "file"] = ""
    remarks: Texts = ()
    choices: Texts = ()
    refuse: Texts = ()

    @property
    def named(self) -> list[Field]:
        """Every field of the part."""
        return [*self.fields.values(), *(f for _, f in self.answers), *(self.attributes or {}).values()]

    def columns(self) -> WantedColumns:
        """Every named column of the file."""
        return WantedColumns(dict.fromkeys(chain.from_iterable(field.columns for field in self.named)))

    def uses(self) -> str:
        """One line that says how each column is read."""
        parts = [
            f"{name} = {f.value}" if f.value else name if f.source == name else f"{f.source} as {name}"
            for name, f in self.fields.items()
        ]
        said = [(f"attribute {name}", f) for name, f in (self.attributes or {}).items()]
        for about, field in self.answers:
            by = f" by {about['rater']}" if "rater" in about else ""
            case = f" on case {about['case_id']}" if "case_id" in about else ""
            said.append((f"{about.get('aspect') or 'the answer'}{by}{case}", field))
        parts += [f"{field.source or field.value} as {what}" for what, field in said]
        return ", ".join(parts)


class Declaration(Dialect):
    """A layout file, shipped or a user's mapping, as read; identified by `name` and `digest`.

    `layout` is the labelling tool that exported the answers. `decimal` is the character before the fraction of a
    number. `parts`: the file that joins others, and these. Without `kinds` it says only how the table is written, and
    the columns are found by their names.
    """

    name: str = ""
    digest: str = ""
    about: str = ""
    layout: str = ""
    decimal: Literal[".", ","] = "."
    files: Texts = ()
    parts: tuple[str, Texts] = ("", ())
    when: When = When()
    kinds: dict[ImportKind, tuple[Part, ...]] = {}
    shipped: bool = False

    def part_of(self, sample: Sample, kind: ImportKind) -> Part | None:
        parts = self.kinds.get(kind, ())
        return next((part for part in parts if any(when.fits(sample) for when in part.when)), None)


_SETTINGS = tuple(name for name in Declaration.model_fields if name not in ("digest", "kinds", "shipped"))


def load_declaration(path: Path) -> Declaration:
    """Read and check a layout file. Raises InputError, which names the place of a fault."""
    try:
        raw = small_file(path)
        content = parse_toml(raw.decode())
    except OSError as error:
        raise refusal("unreadable", path=path, why=error.strerror or error, step="") from error
    except (ValueError, RecursionError) as error:
        raise refusal("toml", path=path, why=error) from error
    shipped, where = path.parent == LAYOUTS, ""
    name = path.stem if shipped else path.name
    about: dict[str, Any] = {"name": name, "digest": hashlib.sha256(raw).hexdigest(), "shipped": shipped}
    try:
        settings = Declaration(**about | {key: content.pop(key) for key in _SETTINGS if key in content})
        shared = {key: getattr(settings, key) for key in Dialect.model_fields}
        kinds: dict[ImportKind, tuple[Part, ...]] = {}
        for where, spec in content.items():
            tables = spec if isinstance(spec, list) else [spec]
            kind = next((kind for kind in IMPORT_KINDS if kind == where), None)
            if kind is None or not all(isinstance(table, dict) for table in tables):
                raise ValueError(f"is none of: {', '.join((*IMPORT_KINDS, *_SETTINGS))}")
            firsts = (tables[0] if table.pop("same", False) else {} for table in tables)
            both = zip(firsts, tables, strict=True)
            kinds[kind] = tuple(_part(kind, shared | first | own, settings.when) for first, own in both)
    except ValidationError as error:
        first = error.errors()[0]
        place = [str(part) for part in (where, *first["loc"]) if part not in ("", "fields", "str")]
        why = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            columns = [column for kind, columns in KNOWN.items() if kind == where for column in columns]
            why = f"is not a column of {where}: {', '.join(columns)}"
        raise refusal("mapping-fault", path=path, place=".".join(place), why=why) from None
    except ValueError as error:
        raise refusal("mapping-fault", path=path, place=where, why=error) from None
    return settings.model_copy(update={"kinds": kinds})


def _part(kind: ImportKind, table: dict[str, Any], outer: When) -> Part:
    """One table of a kind. Raises ValueError, and ValidationError with the place of the fault."""
    table = {**table.pop("columns", {}), **table}
    if isinstance(attributes := table.get("attributes"), list):
        table["attributes"] = {name: name for name in attributes}
    elif attributes == "*":
        table["attributes"] = None
    if isinstance(join := table.get("join"), dict):
        table["join"] = (join.get("file"), join.get("on"))
    when = table.pop("when", {})
    own = [When.model_validate(one).within(outer) for one in (when if isinstance(when, list) else [when])]
    scale = table.pop("scale", None)
    if isinstance(scale, dict) and set(scale) != {"categories"}:
        table["scales"] = {aspect: _scale(spec) for aspect, spec in scale.items()}
    elif scale is not None:
        table["scale"] = _scale(scale)
    fields = {name: table.pop(name) for name in list(table) if name in KNOWN[kind] and name != "scale"}
    if kind == "labels":
        _take_answers(table, fields)
    return Part.model_validate({**table, "fields": fields, "when": own})


def _take_answers(table: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Replace the tables of raters, aspects and cases by the columns with one label each. Raises ValueError."""
    aspects, cases, renamed = table.pop("aspects", {}), table.pop("cases", {}), table.pop("values", {})
    raters = {
        name: table.pop(name)
        for name, spec in list(table.items())
        if name not in Part.model_fields and isinstance(spec, dict)
    }
    for what, given, said in (
        ("a table for each rater", raters, {"rater", "aspect", "value"}),
        ("a column for each aspect", aspects, {"aspect", "value"}),
        ("a column for each case", cases, {"case_id", "value"}),
    ):
        clash = ", ".join(sorted(said & set(fields)))
        _refuse_if(given and clash, f"has {what}, so it cannot have “{clash}” too")
    several = bool(raters) + bool(aspects) + bool(cases) > 1
    _refuse_if(several, "has more than one of raters, aspects and cases")
    by_rater = ((rater, *pair) for rater, own in raters.items() for pair in own.items())
    answers = [({"rater": rater, "aspect": aspect}, field) for rater, aspect, field in by_rater]
    answers += [({"aspect": aspect}, field) for aspect, field in aspects.items()]
    if isinstance(cases, str):
        groups = re.compile(compiles(cases)).groups
        _refuse_if(groups == 0, r"cases must have a group for the number of the case, such as 'Case (\d+)'")
        table["case_pattern"] = cases
    else:
        wrong = "cases must be a pattern, or a table with the column of each case"
        _refuse_if(not isinstance(cases, dict), wrong)
        for case_id, spec in cases.items():
            several = isinstance(spec, dict) and "column" not in spec
            for aspect, column in spec.items() if several else [("", spec)]:
                about = {"case_id": case_id} | ({"aspect": aspect} if aspect else {})
                given = Field.model_validate(column).model_dump(exclude_defaults=True)
                answers.append((about, {"values": renamed, **given}))
    table |= {"answers": answers, "renamed": renamed}


def _scale(spec: object) -> Scale:
    return scale_of_text(spec if isinstance(spec, str) else json.dumps(spec))


# ---- values in records -------------------------------------------------------------------------------------------


def _listed(text: str) -> str:
    """A list as `a|b`; an empty one, or null written as text, as an empty text."""
    if text in ("[]", "None"):
        return ""
    parts = decoded(text) if text.startswith("[") else None
    return "|".join(map(str, parts)) if isinstance(parts, list) else text


def _parts(text: str) -> str:
    """The parts of a list of names as `a|b`: between commas or bars if there are any, else between spaces."""
    mark = next((mark for mark in ("|", ",") if mark in text), None)
    return _joined_once(part.strip().strip("'\"") for part in text.strip("[]").split(mark))


def _joined_once(parts: Iterable[str]) -> str:
    return "|".join(dict.fromkeys(part for part in parts if part))


CONVERTERS: Mapping[str, Callable[[str], str]] = {
    "list": _listed,
    "parts": _parts,
    # between commas, bars or as JSON; spaces stay
    "names": lambda text: _joined_once(part.strip() for part in re.split(r"[|,]", _listed(text))),
    "lower": str.lower,
    "text": lambda text: text.replace("|", " "),
}

_STEP = re.compile(r"\[(-?\d+)\]|([^.\[\]]+)")


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    return tuple(int(index) if index else name for index, name in _STEP.findall(path))


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or of a place in a JSON record (`meta.user.id`, `scores[0].value`; of `scores[].value` a list
    of all); None if there is none."""
    if path in record:
        return record[path]
    if "[]." in path:
        outer, _, inner = path.partition("[].")
        parts = value_at(record, outer)
        parts = parts if isinstance(parts, list) else []
        found = [value_at(part, inner) for part in parts if isinstance(part, dict)]
        return [text for part in found if part for text in (part if isinstance(part, list) else [part])]
    value: Any = record
    for step in _steps(path):
        if isinstance(value, str) and value[:1] in ("{", "[") and isinstance(step, str):
            # JSON inside a text, as tables keep it
            value = decoded(value)
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _elements(record: Mapping[str, Any], path: str) -> Iterator[dict[str, Any] | None]:
    """The record once for each element at the path, which is `@` in it, its key `@key`, the element around it `@^`;
    `@of` is what the record has under the name that the element is. None for a place where the path ends too early."""

    def below(value: Any, steps: Sequence[str], scope: dict[str, Any]) -> Iterator[dict[str, Any] | None]:
        if not steps:
            yield {**record, **scope}
            return
        step, *rest = steps
        if isinstance(value, str) and value[:1] in ("{", "["):
            value = decoded(value)
        if step not in ("[]", "*"):
            inner = value.get(step) if isinstance(value, Mapping) else None
            yield from below(inner, rest, scope) if inner is not None else (None,)
            return
        pairs: Collection[tuple[Any, Any]] = ()
        if step == "[]" and isinstance(value, list):
            pairs = list(enumerate(value))
        elif step == "*":
            # an entry of json_entries is a tuple of pairs, so that a repeated key is not lost
            pairs = value.items() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
        if not pairs:
            yield None
        for key, element in pairs:
            own = {"@^": scope.get("@"), "@^key": scope.get("@key", ""), "@key": str(key), "@": element}
            if isinstance(element, str):
                own["@of"] = record.get(element)
            yield from below(element, rest, {**scope, **own})

    return below(record, re.findall(r"\[\]|\*|[^.\[\]*]+", path), {})


def _text_at(record: Mapping[str, Any], column: str, name: str = "") -> str:
    value = record.get(column)
    if type(value) is str:
        return value
    value = value_at(record, column) if value is None else value
    refuse(isinstance(value, bool) and name in ("user_id", "item_id"), "not an id", name=name, text=value)
    return cell(name or column, value)


def taken(field: Field, record: Mapping[str, Any], request: Request, name: str = "") -> str:
    """The field's value in one record. Raises RowFault for a time that is not in the field's format."""
    text = field.value
    for column in field.column:
        if text := _text_at(record, column, name):
            break
    if field.flags:
        words = (word for column, word in field.flags.items() if _text_at(record, column).strip() == "1")
        text = "|".join(words)
    if field.file is not None and not text:
        bare = stem(request.path)
        text = re.sub(field.file, "", bare, flags=re.IGNORECASE).strip("._- ") or bare if field.file else bare
    if field.pattern:
        match = re.search(field.pattern, text)
        text = (match[1] if match.re.groups else match[0]) or "" if match else ""
    if field.convert:
        text = CONVERTERS[field.convert](text)
    if field.values:
        text = field.values.get(text.strip(), text)
    if field.html:
        text = html_text(text)
    text = text if text.strip() else field.default
    return formatted(text, field.format) if field.format else text


# ---- rows --------------------------------------------------------------------------------------------------------


def declared_rows(request: Request, part: Part, name: str, *, must: bool) -> Iterator[Row]:
    """The rows of a file as a declaration reads them, with plain column names. A row with several columns of labels becomes
    one row per label. `must`: every named column must be there, as in a user's mapping."""
    notes = request.notes
    if part.join[0]:
        table = _joined(request, part)
    else:
        nested = any(re.search(r"[.\[@]", column) for column in part.columns().names)
        # a user's mapping gives a column its meaning, so that only then a list is seen to be no id
        nested = nested or must or bool(part.each or part.task or part.within)
        table = read_table(request.path, part.columns(), part, notes, request.contents, raw=nested)
        table = chosen_rows(table, request.where, request.path, notes)
    part = _present(part, table, request, name, must=must)
    notes.columns = "" if part.task else part.uses()
    for remark in part.remarks:
        notes.remark(remark)
    system = part.fields.get("system")
    if system is not None and system.file is not None and not request.system:
        notes.remark("file-as-system", system=taken(system, {}, request))
    counts: dict[str, Counter[str]] = {column: Counter() for column in part.count}
    read = _answers_of(part, request) if part.task else _rows_of(part, request, counts)
    for line, raw in table.rows:
        if raw.get("again"):
            notes.skip(line, "entry twice", key=raw["key"])
            continue
        for record in records_in(line, raw, part, notes):
            try:
                rows = read(record)
            except RowFault as fault:
                notes.skip_row(line, fault)
                continue
            for row in rows:
                if table.json and not storable("".join(row.values())):
                    notes.skip(line, "broken text")
                else:
                    yield line, row
    numbers = (
        f"{column}: {', '.join(f'{shown(name)} {count:,}' for name, count in sorted(found.items()) if name)}"
        for column, found in counts.items()
        if any(found)
    )
    if text := "; ".join(numbers):
        notes.remark("counted-rows", text=text)


_Reader = Callable[[Mapping[str, Any]], list[dict[str, str]]]


def _rows_of(part: Part, request: Request, counts: Mapping[str, Counter[str]]) -> _Reader:
    """A function that makes the rows of one record, and remembers what is read only once. It raises RowFault."""
    seen: set[tuple[str, ...]] = set()
    users: set[str] = set()
    named = {*(column for field in part.fields.values() for column in field.column), *part.without, ""}

    def attributes(record: Mapping[str, Any]) -> dict[str, str]:
        if part.attributes is not None:
            found = {name: taken(field, record, request) for name, field in part.attributes.items()}
        else:
            rest = ((name, value) for name, value in record.items() if name not in named and ":" not in name)
            found = {name: cell(name, value).strip() for name, value in rest}
        entries = record.get(part.entries_of)
        if isinstance(entries, str) and entries.lstrip().startswith("{"):
            entries = decoded(entries)
        for name, value in entries.items() if isinstance(entries, Mapping) else ():
            if (text := cell(name, value).strip()) and name.strip():
                found.setdefault(name.strip(), text)
        return found

    def rows(record: Mapping[str, Any]) -> list[dict[str, str]]:
        for column, found in counts.items():
            found[_text_at(record, column)] += 1
        row = {name: taken(field, record, request, name) for name, field in part.fields.items()}
        further = []
        if part.once and (user := row.get("user_id", "")) not in users:
            users.add(user)
            further = [{name: taken(field, record, request) for name, field in part.once.items()}]
        if missing := next((name for name in part.need if not row.get(name, "").strip()), ""):
            if further:
                return further
            raise RowFault(f"no {missing}", f"{missing} is empty")
        if part.unique:
            key = tuple(row[name] if name in row else _text_at(record, name) for name in part.unique)
            if key in seen and request.kind == "events":
                raise RowFault("judged twice", key=" ".join(key))
            if key in seen:
                return []
            seen.add(key)
        if part.attributes is None or part.attributes or part.entries_of:
            row |= attributes(record)
        if not part.answers:
            return [*further, row]
        return [{**row, **about, "value": taken(field, record, request)} for about, field in part.answers]

    return rows


def _answers_of(part: Part, request: Request) -> _Reader:
    """A function that makes the rows of one answer in a labelling tool's export: every field of the task under its own name,
    and what the tool recorded; a mapping with the tool as its layout names other fields. Raises InputError for one that does
    not fit; the function raises RowFault."""
    fields: Mapping[str, Field] = {}
    if request.mapping is not None:
        parts = request.mapping.kinds.get("labels", ())
        if len(parts) != 1 or parts[0].answers or parts[0].case_pattern:
            raise refusal("mapping-tool", name=request.mapping.name)
        fields = parts[0].fields
    sources = (*part.task, part.each, *chain.from_iterable(field.column for field in part.fields.values()))
    left = {*part.without, *(re.split(r"[.\[]", source)[0] for source in sources)}

    def rows(record: Mapping[str, Any]) -> list[dict[str, str]]:
        own = {key: value for key, value in record.items() if key not in left and key[:1] not in ("_", "@")}
        cells: dict[str, str] = {}
        # the first place of a field wins
        for place in reversed(part.task):
            fields_there = value_at(record, place) if place else own
            if isinstance(fields_there, Mapping):
                cells |= {key.strip(): cell(key, value) for key, value in fields_there.items()}
        found = (value_at(record, column) for column in part.fields["value"].column)
        value = winner(next((answer for answer in found if answer is not None), []))
        cells |= text_of_choice(record, value)
        said = {name: taken(spec, record, request) for name, spec in part.fields.items() if name != "value"}
        question = said.get("aspect", "")

        def row(text: str) -> dict[str, str]:
            row = {**cells, "rater": "", "note": "", **said, **answer_of(cells, question or OVERALL, text)}
            for name, field in fields.items():
                row[name] = taken(field, row, request)
            refuse(not any(row.get(name, "").strip() for name in ("user_id", TASK, CASE)), "no user_id")
            return {name: row[name] for name in COLUMNS["labels"].all if name in row}

        try:
            return [row(text) for text in choices(value)]
        except RowFault as fault:
            about = f"task {shown(record.get('id', ''))}{question and f', {shown(question)}'}"
            raise RowFault(fault.kind, f"{about}: {fault.text}") from None

    return rows


def records_in(line: int, raw: dict[str, Any], part: Part, notes: Notes) -> Iterator[Mapping[str, Any]]:
    """The records that the part reads in one record of the file; the others are noted."""
    raw = by_person(raw) if part.task else raw
    for place in part.left:
        for _ in value_at(raw, place) or ():
            notes.skip(line, place, f"one of its {place}; left out")
    for record in _elements(raw, part.each) if part.each else (raw,):
        if record is None:
            notes.skip(line, "nothing in it", place=part.each)
            continue
        if any(_text_at(record, column) in values for column, values in part.skip.items()):
            continue
        for column, values in part.only.items():
            if (text := _text_at(record, column)) not in values:
                name = column.lstrip("@^.")
                said = f"{name} is {shown(text) if text else 'empty'}; left out"
                notes.skip(line, f"{name} {text}"[:60], said)
                break
        else:
            yield from _exploded(line, record, part.explode, notes) if part.explode else (record,)


def _exploded(
    line: int, record: Mapping[str, Any], columns: Sequence[str], notes: Notes
) -> Iterator[Mapping[str, Any]]:
    """A record for each element of the lists in these cells; a cell that is no list stays."""
    parts = [_listed(_text_at(record, column).strip().replace("'", '"')).split("|") for column in columns]
    if len({len(part) for part in parts}) > 1:
        counts = (f"{len(part)} of {column}" for part, column in zip(parts, columns, strict=True))
        notes.skip(line, "items without a score", f"{' and '.join(counts)}; row left out")
        return
    for elements in zip(*parts, strict=True):
        yield {**record, **dict(zip(columns, elements, strict=True))}


def _joined(request: Request, part: Part) -> Table:
    """The rows of the file beside, row by row with those of the file itself; both must have as many, and agree on a few
    columns."""
    name, on = part.join
    path = request.path
    other = next((near for near in request.beside if bare_name(near) == name), path.with_name(name))
    stop_if(not other.is_file(), "beside", path=path, name=name)
    own, beside = Notes(path), Notes(other)
    right = read_table(path, part.columns(), part, own)
    left = read_table(other, part.columns(), part, beside)

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, (a, b) in enumerate(zip_longest(left.rows, right.rows), start=1):
            for notes in (own, beside):
                if notes.skipped:
                    raise refusal("rows-beside", path=notes.file, first=notes.first[0])
            if a is None or b is None:
                short, long = (other, path) if a is None else (path, other)
                cause = f"{short.name} ends after {number - 1:,} rows, {long.name} does not."
                raise refusal("not-aligned", other=other.name, name=path.name, why=cause)
            if differing := [c for c in on if a[1].get(c, "").strip() != b[1].get(c, "").strip()]:
                cause = f"{path.name}:{b[0]} has another {differing[0]} than the same row of {other.name}."
                raise refusal("not-aligned", other=other.name, name=path.name, why=cause)
            yield b[0], {**a[1], **b[1]}

    return Table((*left.columns, *right.columns), (*left.original, *right.original), rows())


def _present(part: Part, table: Table, request: Request, name: str, *, must: bool) -> Part:
    """The part with the columns that the file has. Raises InputError for a column that the user named and it lacks."""
    if part.task:
        return part
    if part.case_pattern:
        answers = []
        for column in table.columns:
            if match := re.search(part.case_pattern, column):
                groups = match.groupdict()
                about = {"case_id": groups.get("case") or match[1], "aspect": groups.get("aspect") or ""}
                about = {key: text.strip() for key, text in about.items() if text.strip()}
                answers.append((about, Field(column=(column,), values=part.renamed)))
        stop_if(not answers, "mapping-cases", name=name, pattern=part.case_pattern, names=table.columns)
        part = part.model_copy(update={"answers": tuple(answers)})
    there = set(table.columns)

    def is_there(field: Field) -> bool:
        def found(column: str) -> bool:
            first = column in there or column.startswith("@")
            below = part.each or not must or next(iter(_steps(column)), None) in there
            return first or (table.json and bool(below))

        return not field.column or any(map(found, field.column))

    if must:
        missing = [field.column[0] for field in part.named if not is_there(field)]
        if missing:
            raise missing_columns(request, table, missing, mapped=True)
        return part
    fields = {n: f for n, f in part.fields.items() if f.default or f.file is not None or is_there(f)}
    attributes = part.attributes and {n: f for n, f in part.attributes.items() if is_there(f)}
    return part.model_copy(update={"fields": fields, "attributes": attributes})


def missing_columns(
    request: Request, table: Table, missing: Sequence[str], *, mapped: bool = False
) -> InputError:
    """The error for a table without these columns."""
    kind, rows, reason, name = request.kind, "", gap(table.columns), "no-column"
    if mapped:
        name, rows = "no-column:mapped", beginning(table.rows, "as they were split into columns")
    elif kind == "lists" and "item_id" in missing and reason:
        name = "no-column:gap"
    else:
        alone = {"system": "no-column:system", "type": "no-column:type", "rater": "no-column:rater"}
        name = alone.get(" ".join(missing), name)
    columns = f"column{'s' * (len(missing) > 1)} {', '.join(missing)}"
    return refusal(
        name, path=request.path, columns=columns, names=table.original, kind=kind, needed=COLUMNS[kind].required,
        missing=missing, rows=rows, gap=reason,
    )  # fmt: skip


def beginning(rows: Iterator[tuple[int, dict[str, Any]]], how: str) -> str:
    """The first three rows, each on a line of its own; empty if there are none."""
    text = ""
    for line, row in islice(rows, 3):
        cells = ", ".join(f"{name} = {shown(cell(name, value))}" for name, value in row.items())
        text += "\n  " + one_line(f"line {line}: {cells or 'no column'}", 300)
    return f"\n  The first rows {how}:{text}" if text else ""


def shipped_file(name: str) -> Path | None:
    """The file of a shipped layout."""
    return next((path for path in LAYOUTS.glob("*.toml") if path.stem == name), None)
