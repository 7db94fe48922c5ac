"""Layouts: how a format is recognised and read, as a declaration in TOML. The shipped ones (layouts/*.toml) and a user's
`--mapping` speak one language (recjudge docs mapping); a format that is no table is a `Layout` in code.

A layout turns one file into rows with the plain column names of a kind. Other packages add layouts through the entry point
group `recjudge.importers`, with a `Layout` as the object.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    ValidationError,
    model_validator,
)

from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.scales import Scale, numbered, worded
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.files import small_file
from recjudge_tui.importers.columns import KNOWN
from recjudge_tui.importers.reader import (
    DECODER,
    UTF8,
    UTF8_OR_LATIN1,
    Contents,
    Dialect,
    Sample,
    Table,
    bare_name,
    cell,
    chosen_rows,
    header_of,
    json_keys,
    lines_match,
    read_table,
    stem,
)
from recjudge_tui.importers.values import Notes, Row, RowFault, formatted, html_text, shown, storable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DIALECT = ("encoding", "header", "delimiter", "quote", "line", "suffix", "within", "entries")
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
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


def _compiles(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from error
    return text


def _one_or_more(spec: object) -> object:
    return (spec,) if isinstance(spec, str) else spec


def _refuse_if(wrong: object, text: str) -> None:
    if wrong:
        raise ValueError(text)


Pattern = Annotated[str, AfterValidator(_compiles)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]


class _Spec(BaseModel):
    """A table of a layout file. Numbers are taken as text; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)


class Field(_Spec):
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
    convert: Literal["", "list", "parts", "names", "lower"] = ""
    pattern: Pattern = ""
    flags: dict[str, str] = {}
    file: Pattern | None = None

    @model_validator(mode="before")
    @classmethod
    def _in_short(cls, spec: object) -> object:
        if isinstance(spec, str | list):
            return {"column": spec}
        if isinstance(spec, dict):
            unknown = min(set(spec) - set(cls.model_fields), default="")
            _refuse_if(unknown, f"has “{unknown}”, which is none of: {', '.join(cls.model_fields)}")
            sources = sum(key in spec for key in ("column", "value", "flags")) + (
                "file" in spec and "column" not in spec
            )
            _refuse_if(sources != 1, "needs either a column or a constant value")
            return spec
        raise ValueError('must be a column\'s name or a table such as { column = "…", html = true }')


class When(_Spec):
    """How a file is recognised: by columns (`has` all, `any` of them, `lacks` each), by their first characters in
    JSON (`opens`, `opens_any`, all `values`), by its lines, by its text (`text` and `found` in it, `no_text` not), by
    its name or its folder, by files beside it.
    """

    has: Texts = ()
    any: Texts = ()
    lacks: Texts = ()
    opens: dict[str, str] = {}
    opens_any: dict[str, str] = {}
    values: str = ""
    lines: Pattern = ""
    text: Pattern = ""
    found: Pattern = ""
    no_text: Pattern = ""
    name: Pattern = ""
    folder: Pattern = ""
    beside: Texts = ()
    not_beside: Texts = ()

    def fits(self, sample: Sample) -> bool:
        names = {name.lower() for name in header_of(sample.text, (*self.has, *self.any))}
        has, some, lacks = ({name.lower() for name in part} for part in (self.has, self.any, self.lacks))
        if not names >= has or (some and names.isdisjoint(some)) or names & lacks:
            return False
        opens = json_keys(sample.text) if self.opens or self.opens_any or self.values else {}

        def begins(wanted: Mapping[str, str]) -> list[bool]:
            return [name in opens and opens[name][:1] in tuple(first) for name, first in wanted.items()]

        if not all(begins(self.opens)) or (self.opens_any and not any(begins(self.opens_any))):
            return False
        if self.values and {value[:1] for value in opens.values()} != {self.values}:
            return False
        if self.lines and not lines_match(sample, re.compile(self.lines)):
            return False
        text = sample.text.lstrip("\ufeff \t\r\n")
        if any(wanted and not re.search(wanted, text) for wanted in (self.text, self.found)):
            return False
        if self.no_text and re.search(self.no_text, text):
            return False
        if not re.search(self.name, bare_name(sample.path), re.IGNORECASE):
            return False
        if not re.search(self.folder, sample.path.absolute().parent.name, re.IGNORECASE):
            return False
        there = [sample.path.with_name(name).is_file() for name in (*self.beside, *self.not_beside)]
        return all(there[: len(self.beside)]) and not any(there[len(self.beside) :])

    def within(self, outer: When) -> When:
        """This, and what the whole file says about all its parts."""
        own = {key: value for key, value in self.model_dump().items() if value}
        both = {key: (*getattr(outer, key), *own.get(key, ())) for key in ("has", "lacks")}
        return outer.model_copy(update={**own, **both})


class CaseColumn(NamedTuple):
    """The answers on one case, on `aspect` if it is not empty."""

    case_id: str
    aspect: str
    field: Field


class Part(_Spec):
    """How one kind of record is read from one kind of file.

    `attributes` None: all other columns but those `without`, `entries_of` a column that holds some as a JSON object.
    `each`: one row for each element at this place in a JSON record. `only`, `skip`: column -> the values of the rows
    that are read, or are left out. `unique`: the fields of which each value is read once. `once`: the fields of a
    further row, for each new user. `need`: fields that must not be empty. `count`: columns whose values are counted
    in a remark. `explode`: columns whose cells hold lists of equal length, an element a row. `task`: where the fields
    of a labelling tool's task are found, in this order. `join`: the file beside, and the columns on which both must
    agree. `raters`: for each rater the field of each aspect. `scale` applies to all aspects with scores, `scales` to
    single aspects. `sides` says what A and B mean if the file says which system was shown first (SIDES). `cases` are
    the columns that contain the answers on one case each; `case_pattern` finds them by their names, and `renamed`
    renames the answers in them. `choices`: what the file may be, and the options that say so.
    """

    fields: dict[str, Field] = {}
    dialect: Dialect = Dialect()
    when: When = When()
    attributes: dict[str, Field] | None = {}
    entries_of: str = ""
    without: Texts = ()
    each: str = ""
    only: dict[str, Texts] = {}
    skip: dict[str, Texts] = {}
    unique: Texts = ()
    explode: Texts = ()
    once: dict[str, Field] = {}
    need: Texts = ()
    count: Texts = ()
    task: Texts = ()
    join: tuple[str, Texts] = ("", ())
    raters: dict[str, dict[str, Field]] = {}
    aspects: dict[str, Field] = {}
    cases: tuple[CaseColumn, ...] = ()
    case_pattern: Pattern = ""
    renamed: dict[str, str] = {}
    scale: Scale | None = None
    scales: dict[str, Scale] = {}
    sides: Literal["", "systems", "shown"] = ""
    ties: Literal["", "file"] = ""
    remarks: Texts = ()
    choices: Texts = ()

    def answers(self) -> list[tuple[dict[str, str], Field]]:
        """The columns that contain one label each: what the column's name says about the label, and the label's value."""
        fields = [
            ({"rater": rater, "aspect": aspect}, field)
            for rater, aspects in self.raters.items()
            for aspect, field in aspects.items()
        ]
        fields += [({"aspect": aspect}, field) for aspect, field in self.aspects.items()]
        for case in self.cases:
            about = {"case_id": case.case_id} | ({"aspect": case.aspect} if case.aspect else {})
            fields.append((about, case.field))
        return fields

    def columns(self) -> list[str]:
        """Every named column of the file."""
        fields = [
            *self.fields.values(),
            *(field for _, field in self.answers()),
            *(self.attributes or {}).values(),
        ]
        return list(dict.fromkeys(column for field in fields for column in (*field.column, *field.flags)))

    def uses(self) -> str:
        """One line that says how each column is read."""
        parts = []
        for name, field in self.fields.items():
            source = field.column[0] if field.column else ""
            if not source:
                parts.append(
                    f"{name} from the file's name" if field.file is not None else f"{name} = {field.value}"
                )
            else:
                parts.append(name if source == name else f"{source} as {name}")
        for name, field in (self.attributes or {}).items():
            parts.append(f"{field.column[0] if field.column else field.value} as attribute {name}")
        for about, field in self.answers():
            by = f" by {about['rater']}" if "rater" in about else ""
            case = f" on case {about['case_id']}" if "case_id" in about else ""
            what = about.get("aspect") or "the answer"
            parts.append(f"{field.column[0] if field.column else field.value} as {what}{by}{case}")
        return ", ".join(parts)


class Declaration(NamedTuple):
    """A layout file, shipped or a user's mapping, as read; identified by `name` and `digest`.

    `layout` is the labelling tool that exported the answers. `decimal` is the character before the fraction of a
    number. `parts`: the file that joins others, and these. Without `kinds` it says only how the table is written, and
    the columns are found by their names.
    """

    name: str
    digest: str
    about: str = ""
    layout: str = ""
    decimal: str = "."
    dialect: Dialect = Dialect()
    files: tuple[str, ...] = ()
    parts: tuple[str, tuple[str, ...]] = ("", ())
    kinds: Mapping[ImportKind, tuple[Part, ...]] = {}
    shipped: bool = False

    @property
    def encoding(self) -> str:
        return self.dialect.encoding

    def part_of(self, sample: Sample, kind: ImportKind) -> Part | None:
        return next((part for part in self.kinds.get(kind, ()) if part.when.fits(sample)), None)


class _File(_Spec):
    """The settings of a whole layout file."""

    name: str = ""
    about: str = ""
    layout: str = ""
    decimal: Literal[".", ","] = "."
    files: Texts = ()
    parts: tuple[str, Texts] = ("", ())
    when: When = When()


def load_declaration(path: Path) -> Declaration:
    """Read and check a layout file. Raises InputError, which names the place of a fault."""
    try:
        raw = small_file(path)
        content = tomllib.loads(raw.decode())
    except OSError as error:
        raise InputError(f"{path} cannot be read", f"{error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a TOML file", f"{error}.", "See “recjudge docs mapping”.") from error
    where: tuple[str | int, ...] = ()
    try:
        dialect = _dialect(content, Dialect())
        settings = _File(**{key: content.pop(key) for key in _File.model_fields if key in content})
        kinds: dict[ImportKind, tuple[Part, ...]] = {}
        for key, spec in content.items():
            where = (key,)
            kind = next((kind for kind in IMPORT_KINDS if kind == key), None)
            tables = spec if isinstance(spec, list) else [spec]
            everything = (*IMPORT_KINDS, *_File.model_fields, *_DIALECT)
            _refuse_if(
                kind is None or not all(isinstance(t, dict) for t in tables),
                f"is none of: {', '.join(everything)}",
            )
            assert kind is not None
            kinds[kind] = tuple(_part(kind, dict(table), dialect, settings.when) for table in tables)
    except ValidationError as error:
        first = error.errors()[0]
        place = [str(part) for part in (*where, *first["loc"]) if part not in ("fields", "raters", "str")]
        why = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            why = (
                f"is not a column of {where[0]}: {', '.join(KNOWN[kind])}"
                if where and len(first["loc"]) == 1 and kind
                else "is unknown here"
            )
        raise InputError(
            f"{path}: “{'.'.join(place)}” {why}", next_step="See “recjudge docs mapping”."
        ) from None
    except ValueError as error:
        raise InputError(
            f"{path}: “{'.'.join(map(str, where))}” {error}", next_step="See “recjudge docs mapping”."
        ) from None
    name = settings.name or (path.stem if path.parent == LAYOUTS else path.name)
    digest = hashlib.sha256(raw).hexdigest()
    about = (settings.about, settings.layout, settings.decimal, dialect, settings.files, settings.parts)
    return Declaration(name, digest, *about, kinds, path.parent == LAYOUTS)


def _dialect(table: dict[str, Any], default: Dialect) -> Dialect:
    """The dialect that a table describes, taken out of it. Raises ValueError."""
    import codecs

    found = {key: table.pop(key) for key in _DIALECT if key in table}
    header = found.get("header", [])
    _refuse_if(
        not isinstance(header, list) or not all(isinstance(name, str) for name in header),
        'header must be a list of column names, such as ["user", "item", "score"]',
    )
    _refuse_if(len(set(header)) < len(header), "header names a column twice")
    for key, value in found.items():
        short = key in ("quote", "delimiter")
        wrong = key not in ("header", "entries") and (
            not isinstance(value, str) or (short and len(value) > 1)
        )
        _refuse_if(wrong, f"{key} must be a string{' of one character' * short}")
    encoding = found.get("encoding") or UTF8
    try:
        codecs.lookup(UTF8 if encoding == UTF8_OR_LATIN1 else encoding)
    except LookupError:
        raise ValueError(f"encoding “{encoding}” is not known; try latin-1, cp1252 or utf-16") from None
    for key in ("line", "suffix"):
        _compiles(found.get(key, ""))
    return default._replace(
        **{
            **found,
            "header": tuple(header) or default.header,
            "encoding": found.get("encoding") or default.encoding,
        }
    )


def _part(kind: ImportKind, table: dict[str, Any], dialect: Dialect, when: When) -> Part:
    """One table of a kind. Raises ValueError, and ValidationError with the place of the fault."""
    labels = kind == "labels"
    table = {**table.pop("columns", {}), **table}
    own_dialect = _dialect(table, dialect)
    if isinstance(attributes := table.get("attributes"), list):
        table["attributes"] = {name: name for name in attributes}
    elif attributes == "*":
        table["attributes"] = None
    if "scale" in table:
        _refuse_if(not labels, "scale is for labels")
        spec = table.pop("scale")
        by_aspect = isinstance(spec, dict) and set(spec) != {"categories"}
        table |= {"scales": {a: _scale(s) for a, s in spec.items()}} if by_aspect else {"scale": _scale(spec)}
    if "cases" in table:
        table |= _cases(table.pop("cases"), table.pop("values", {}))
    if isinstance(join := table.get("join"), dict):
        table["join"] = (join.get("file"), join.get("on"))
    own_fields = [name for name in table if name in KNOWN[kind] and name != "scale"]
    table["fields"] = {name: table.pop(name) for name in own_fields}
    if labels:
        rest = [name for name in table if name not in Part.model_fields and isinstance(table[name], dict)]
        table["raters"] = {name: table.pop(name) for name in rest}
        fields, tables, aspects = table["fields"], table["raters"], table.get("aspects")
        _refuse_if(
            tables and (aspects or "rater" in fields),
            "has a table for each rater, so it cannot have “rater” or “aspects” too",
        )
        _refuse_if(
            (tables or aspects) and ("aspect" in fields or "value" in fields),
            "has a column for each aspect, so it cannot have “aspect” or “value” too",
        )
        _refuse_if(
            (table.get("cases") or table.get("case_pattern"))
            and (tables or aspects or {"value", "case_id"} & set(fields)),
            "has a column for each case, so it cannot have another column for the case or the value",
        )
    own = When.model_validate(table.pop("when", {}))
    return Part.model_validate({**table, "dialect": own_dialect, "when": own.within(when)})


def _cases(spec: object, values: object) -> dict[str, Any]:
    """The pattern or the columns of cases, and the values renamed in all of them. Raises ValueError."""
    if not isinstance(values, dict):
        raise ValueError('values must be a table of old = "new"')
    if isinstance(spec, str):
        _refuse_if(
            re.compile(_compiles(spec)).groups == 0,
            r"cases must have a group for the number of the case, such as 'Case (\d+)'",
        )
        return {"case_pattern": spec, "renamed": values}
    _refuse_if(not isinstance(spec, dict), "cases must be a pattern, or a table with the column of each case")
    assert isinstance(spec, dict)
    found = []
    for case_id, columns in spec.items():
        several = isinstance(columns, dict) and "column" not in columns
        for aspect, column in columns.items() if several else [("", columns)]:
            field = Field.model_validate(column)
            renamed = {str(old): str(new) for old, new in values.items()}
            field = field if field.values else field.model_copy(update={"values": renamed})
            found.append(CaseColumn(str(case_id), str(aspect), field))
    return {"cases": tuple(found), "renamed": values}


def _scale(spec: object) -> Scale:
    ordered = not isinstance(spec, dict)
    parts = spec["categories"] if isinstance(spec, dict) and set(spec) == {"categories"} else spec
    if (
        isinstance(parts, list)
        and ordered
        and len(parts) == 2
        and all(isinstance(v, int | float) for v in parts)
    ):
        _refuse_if(parts[0] >= parts[1], "scale must be the lowest and the highest value")
        return numbered(float(parts[0]), float(parts[1]))
    if isinstance(parts, list) and all(isinstance(word, str) for word in parts):
        return worded(tuple(parts), ordered=ordered)
    raise ValueError(
        "scale must be the lowest and the highest value, such as [1, 5], words from the lowest to the highest, such as"
        ' ["no", "yes"], or { categories = ["red", "green"] } for words without an order'
    )


# ---- values in records -------------------------------------------------------------------------------------------


def _listed(text: str) -> str:
    """A list as `a|b`; an empty one, or null written as text, as an empty text."""
    if text in ("[]", "None"):
        return ""
    try:
        decoded = DECODER.decode(text) if text.startswith("[") else None
    except (ValueError, RecursionError):
        decoded = None
    return "|".join(map(str, decoded)) if isinstance(decoded, list) else text


def _parts(text: str) -> str:
    """The parts of a list of names as `a|b`: between commas or bars if there are any, else between spaces."""
    mark = next((mark for mark in ("|", ",") if mark in text), None)
    parts = (part.strip().strip("'\"") for part in text.strip("[]").split(mark))
    return "|".join(dict.fromkeys(part for part in parts if part))


def _names(text: str) -> str:
    """The names in a list between commas, bars or as JSON, as `a|b`; spaces stay."""
    parts = (part.strip() for part in re.split(r"[|,]", _listed(text)))
    return "|".join(dict.fromkeys(part for part in parts if part))


CONVERTERS: Mapping[str, Callable[[str], str]] = {
    "list": _listed,
    "parts": _parts,
    "names": _names,
    "lower": str.lower,
}

_STEP = re.compile(r"\[(-?\d+)\]|([^.\[\]]+)")


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    return tuple(int(index) if index else name for index, name in _STEP.findall(path))


def value_at(record: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or of a place in a JSON record (`meta.user.id`, `scores[0].value`); None if there is none."""
    if path in record:
        return record[path]
    value: Any = record
    for step in _steps(path):
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        elif isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, str) and value[:1] in "{[":
            # JSON inside a text, as tables keep it
            try:
                inner = DECODER.decode(value)
            except (ValueError, RecursionError):
                return None
            value = inner.get(step) if isinstance(inner, dict) else None
        else:
            return None
    return value


def _elements(record: Mapping[str, Any], path: str) -> Iterator[dict[str, Any]]:
    """The record once for each element at the path, which is `@` in it, its key `@key`, the element around it `@^`;
    `@of` is what the record has under the name that the element is."""
    scopes: list[tuple[Any, dict[str, Any]]] = [(record, {})]
    for step in re.findall(r"\[\]|\*|[^.\[\]*]+", path):
        following: list[tuple[Any, dict[str, Any]]] = []
        for value, scope in scopes:
            if isinstance(value, str) and value[:1] in ("{", "["):
                try:
                    value = DECODER.decode(value)
                except (ValueError, RecursionError):
                    continue
            if step in ("[]", "*"):
                # an entry of json_entries is a tuple of pairs, so that a repeated key is not lost
                pairs = (
                    value.items() if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
                )
                inner = pairs if step == "*" else enumerate(value) if isinstance(value, list) else ()
                for key, element in inner:
                    around = {"@^": scope.get("@"), "@^key": scope.get("@key", "")}
                    named = {"@of": record.get(element)} if isinstance(element, str) else {}
                    following.append((element, {**scope, **around, **named, "@key": str(key), "@": element}))
            elif isinstance(value, Mapping) and value.get(step) is not None:
                following.append((value[step], scope))
        scopes = following
    for _, scope in scopes:
        yield {**record, **scope}


def _text_at(record: Mapping[str, Any], column: str, name: str = "") -> str:
    value = record.get(column)
    if type(value) is str:
        return value
    return cell(name or column, value_at(record, column) if value is None else value)


def taken(field: Field, record: Mapping[str, Any], request: Request, name: str = "") -> str:
    """The field's value in one record. Raises RowFault for a time that is not in the field's format."""
    text = field.value
    for column in field.column:
        if text := _text_at(record, column, name):
            break
    if field.flags:
        text = "|".join(
            word for column, word in field.flags.items() if _text_at(record, column).strip() == "1"
        )
    if field.file is not None and not text:
        text = (
            re.sub(field.file, "", stem(request.path), flags=re.IGNORECASE)
            if field.file
            else stem(request.path)
        )
        text = text.strip("._- ") or stem(request.path)
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
    table = open_table(request, part)
    part = _present(part, table, request, name, must=must)
    notes.columns = part.uses()
    for remark in part.remarks:
        notes.remark(remark)
    system = part.fields.get("system")
    if system is not None and system.file is not None and not request.system:
        named = shown(taken(system, {}, request))
        notes.remark(f"the file does not name the system: it gets the file's name, {named}")
    reading = _Reading(
        part, request, part.answers(), set(), set(), {column: Counter() for column in part.count}
    )
    for line, raw in table.rows:
        if raw.get("again"):
            notes.skip(line, "entry twice", f"{shown(raw['key'])} occurs twice; the first is kept")
            continue
        for record in records_in(line, raw, part, notes):
            try:
                rows = reading.rows(record)
            except RowFault as fault:
                notes.skip_row(line, fault)
                continue
            for row in rows:
                if table.json and not storable("".join(row.values())):
                    notes.skip(line, "broken text", "a lone surrogate or a NUL character; row left out")
                else:
                    yield line, row
    if counted := [
        f"{column}: {_numbers_of(counts)}" for column, counts in reading.counts.items() if any(counts)
    ]:
        notes.remark(f"rows by {'; '.join(counted)}. --where COLUMN=VALUE imports only some of them")


def _numbers_of(counts: Counter[str]) -> str:
    return ", ".join(f"{shown(name)} {count:,}" for name, count in sorted(counts.items()) if name)


class _Reading(NamedTuple):
    """The reading of one file: what was met so far of what is read only once."""

    part: Part
    request: Request
    answers: list[tuple[dict[str, str], Field]]
    seen: set[tuple[str, ...]]
    users: set[str]
    counts: dict[str, Counter[str]]

    def rows(self, record: Mapping[str, Any]) -> list[dict[str, str]]:
        """The rows of one record. Raises RowFault."""
        part, request = self.part, self.request
        for column, counts in self.counts.items():
            counts[_text_at(record, column)] += 1
        row = {name: taken(field, record, request, name) for name, field in part.fields.items()}
        further = self._once(record, row)
        if missing := next((name for name in part.need if not row.get(name, "").strip()), ""):
            if further:
                return further
            raise RowFault(f"no {missing}", f"{missing} is empty")
        if part.unique:
            key = tuple(row[name] if name in row else _text_at(record, name) for name in part.unique)
            if key in self.seen:
                if request.kind == "events":
                    raise RowFault(
                        "judged twice",
                        f"{shown(' '.join(key))} is judged twice; the first is kept, this is left out",
                    )
                return []
            self.seen.add(key)
        row |= self._attributes(record)
        if not self.answers:
            return [*further, row]
        return [{**row, **about, "value": taken(field, record, request)} for about, field in self.answers]

    def _once(self, record: Mapping[str, Any], row: Mapping[str, str]) -> list[dict[str, str]]:
        user = row.get("user_id", "")
        if not self.part.once or user in self.users:
            return []
        self.users.add(user)
        return [{name: taken(field, record, self.request) for name, field in self.part.once.items()}]

    def _attributes(self, record: Mapping[str, Any]) -> dict[str, str]:
        part = self.part
        if part.attributes is not None:
            found = {name: taken(field, record, self.request) for name, field in part.attributes.items()}
        else:
            own = {*(column for field in part.fields.values() for column in field.column), *part.without, ""}
            found = {
                name: cell(name, value).strip()
                for name, value in record.items()
                if name not in own and ":" not in name
            }
        if part.entries_of:
            entries = record.get(part.entries_of)
            if isinstance(entries, str) and entries.lstrip().startswith("{"):
                entries = _object(entries)
            for name, value in entries.items() if isinstance(entries, Mapping) else ():
                text = cell(name, value).strip()
                if text and name.strip():
                    found.setdefault(name.strip(), text)
        return found


def _object(text: str) -> object:
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def records_in(line: int, raw: dict[str, Any], part: Part, notes: Notes) -> Iterator[Mapping[str, Any]]:
    for column, values in part.skip.items():
        if (text := _text_at(raw, column)) in values:
            notes.skip(line, f"{column} {text}"[:60], f"{column} is {shown(text)}; left out")
            return
    records = _elements(raw, part.each) if part.each else iter((raw,))
    empty = True
    for record in records:
        empty = False
        for column, values in part.only.items():
            if (text := _text_at(record, column)) not in values:
                notes.skip(
                    line, f"{column} {text}"[:60], f"{column} is {shown(text) if text else 'empty'}; left out"
                )
                break
        else:
            yield from _exploded(line, record, part.explode, notes) if part.explode else (record,)
    if empty:
        notes.skip(line, "nothing in it", f"the record has nothing at “{part.each}”; left out")


def _exploded(
    line: int, record: Mapping[str, Any], columns: Sequence[str], notes: Notes
) -> Iterator[Mapping[str, Any]]:
    """A record for each element of the lists in these cells; a cell that is no list stays."""
    parts = [_listed(_text_at(record, column).strip().replace("'", '"')).split("|") for column in columns]
    if len({len(part) for part in parts}) > 1:
        counts = (f"{len(part)} of {column}" for part, column in zip(parts, columns, strict=True))
        text = f"{' and '.join(counts)}; row left out"
        notes.skip(line, "items without a score", text)
        return
    for elements in zip(*parts, strict=True):
        yield {**record, **dict(zip(columns, elements, strict=True))}


def open_table(request: Request, part: Part) -> Table:
    dialect = part.dialect
    if part.join[0]:
        return _joined(request, part)
    nested = (
        part.each
        or part.task
        or dialect.within
        or any(re.search(r"[.\[@]", column) for column in part.columns())
    )
    table = read_table(
        request.path, part.columns(), dialect, request.notes, request.contents, raw=bool(nested)
    )
    return chosen_rows(table, request.where, request.path, request.notes)


def _joined(request: Request, part: Part) -> Table:
    """The rows of the file beside, row by row with those of the file itself; both must have as many, and agree on a few
    columns."""
    name, on = part.join
    path = request.path
    other = next((near for near in request.beside if bare_name(near) == name), path.with_name(name))
    if not other.is_file():
        raise InputError(
            f"{path} needs {name}",
            "Its rows do not say which user an explanation was shown to.",
            "Put both into one folder, or give both to the command.",
        )
    own, beside = Notes(path), Notes(other)
    right = read_table(path, part.columns(), part.dialect, own)
    left = read_table(other, part.columns(), part.dialect, beside)

    def apart(cause: str) -> InputError:
        title = f"{other.name} and {path.name} are not aligned"
        return InputError(title, cause, "Use both as they were released.")

    def rows() -> Iterator[tuple[int, dict[str, Any]]]:
        for number, (a, b) in enumerate(zip_longest(left.rows, right.rows), start=1):
            for notes in (own, beside):
                if notes.skipped:
                    raise InputError(f"{notes.file} has rows that cannot be read", f"{notes.first[0]}.")
            if a is None or b is None:
                short, long = (other, path) if a is None else (path, other)
                raise apart(f"{short.name} ends after {number - 1:,} rows, {long.name} does not.")
            if wrong := next(
                (column for column in on if a[1].get(column, "").strip() != b[1].get(column, "").strip()),
                None,
            ):
                raise apart(f"{path.name}:{b[0]} has another {wrong} than the same row of {other.name}.")
            yield b[0], {**a[1], **b[1]}

    return Table((*left.columns, *right.columns), (*left.original, *right.original), rows())


def _present(part: Part, table: Table, request: Request, name: str, *, must: bool) -> Part:
    """The part with the columns that the file has. Raises InputError for a column that the user named and it lacks."""
    if part.case_pattern:
        part = _with_case_columns(part, table.columns, name)
    there = set(table.columns)

    def is_there(column: str) -> bool:
        first = _steps(column)[:1]
        return (
            column in there
            or column.startswith("@")
            or (table.json and bool(first) and (first[0] in there or not must or bool(part.each)))
        )

    if must:
        fields = [
            *part.fields.values(),
            *(field for _, field in part.answers()),
            *(part.attributes or {}).values(),
        ]
        missing = [
            f.column[0] for f in fields if f.column and not any(map(is_there, f.column)) and not part.task
        ]
        if missing:
            raise missing_columns(request, table, missing, mapped=True)
        return part
    fields_there = {
        field: spec
        for field, spec in part.fields.items()
        if not spec.column or spec.default or spec.file is not None or any(map(is_there, spec.column))
    }
    attributes = part.attributes and {
        n: f for n, f in part.attributes.items() if any(map(is_there, f.column))
    }
    return part.model_copy(update={"fields": fields_there, "attributes": attributes})


def _with_case_columns(part: Part, columns: Sequence[str], name: str) -> Part:
    """The part with the columns of cases that its pattern finds. Raises InputError if it finds none."""
    pattern = re.compile(part.case_pattern)
    cases = []
    for column in columns:
        if match := pattern.search(column):
            groups = match.groupdict()
            case_id, aspect = groups.get("case") or match[1], groups.get("aspect") or ""
            cases.append(
                CaseColumn(case_id.strip(), aspect.strip(), Field(column=(column,), values=part.renamed))
            )
    if not cases:
        raise InputError(
            f"no column matches “cases” in the mapping {name}",
            f"It is: {part.case_pattern}. The columns are: {one_line(', '.join(columns), 300)}.",
            "Correct the pattern, or name the column of each case in a table [labels.cases].",
        )
    return part.model_copy(update={"cases": tuple(cases)})


def missing_columns(
    request: Request, table: Table, missing: Sequence[str], *, mapped: bool = False
) -> InputError:
    """The error for a table without these columns."""
    from recjudge_tui.importers.columns import COLUMNS, gap

    present, kind = one_line(", ".join(table.original), 300), request.kind
    step = (
        "Rename the columns, or describe the file in a mapping (recjudge docs mapping) given with --mapping."
    )
    wanted = f"Found: {present}. {kind} need: {', '.join(COLUMNS[kind].required)}."
    if mapped:
        rows = "".join(f"\n  {line}" for line in beginning(table.rows, "as they were split into columns"))
        wanted, step = (
            f"Found: {present}. The mapping names: {', '.join(missing)}.{rows}",
            "Correct the names in the mapping.",
        )
    elif list(missing) == ["system"]:
        step = "Name the system of this file with --system NAME."
    elif list(missing) == ["type"]:
        step = "Name the type of these events with --type NAME (click, purchase, view, ...)."
    elif kind == "lists" and "item_id" in missing and (reason := gap(table.columns)):
        wanted = f"{wanted} {reason}"
        step = "Add the missing columns (their cells may be empty), or rename the columns so that they count up from 1."
    return InputError(
        f"{request.path} has no column{'s' * (len(missing) > 1)} {', '.join(missing)}", wanted, step
    )


def beginning(rows: Iterator[tuple[int, dict[str, Any]]], how: str) -> list[str]:
    """The first three rows, each on a line."""
    lines = []
    for (line, row), _ in zip(rows, range(3), strict=False):
        cells = ", ".join(f"{name} = {shown(cell(name, value))}" for name, value in row.items())
        lines.append(one_line(f"line {line}: {cells or 'no column'}", 300))
    return [f"The first rows {how}:", *lines] if lines else []


def with_points(rows: Iterator[Row], names: Sequence[str]) -> Iterator[Row]:
    """The rows with `3.5` for `3,5` in these columns."""
    for line, row in rows:
        for name in names:
            if _WITH_COMMA.fullmatch(text := row.get(name, "").strip()):
                row[name] = text.replace(",", ".")
        yield line, row


# ---- the shipped declarations ------------------------------------------------------------------------------------


def shipped_file(name: str) -> Path | None:
    """The file of a shipped layout."""
    path = LAYOUTS / f"{name}.toml"
    return path if path.name in {file.name for file in LAYOUTS.glob("*.toml")} else None
