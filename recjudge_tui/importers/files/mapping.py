"""Mapping files: TOML that describes how to read any table as a plain table (docs/mapping.md)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.records import IMPORT_KINDS, ImportKind
from recjudge_tui.domain.scales import Scale, numbered, worded
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import InputError
from recjudge_tui.files import small_file
from recjudge_tui.importers.files.html_text import html_text
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.values import formatted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# what the answers A and B mean: the systems of the row, or the lists in the order shown
SIDES = ("systems", "shown")
_CHARACTERS = ("delimiter", "quote", "decimal")
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
_SETTINGS = ("layout", "encoding", "header", *_CHARACTERS)


class Field(Model):
    """The source of one value, a column or a constant, and its conversions."""

    column: str = ""
    value: str = ""
    default: str = ""
    html: bool = False
    values: dict[str, str] = {}
    format: str = ""


class CaseColumn(Model):
    """The answers on one case, on `aspect` if it is not empty."""

    case_id: str
    aspect: str
    field: Field


class KindMapping(Model):
    """How one kind of record is read. `raters` has, for each rater, the field of each aspect. `scale` applies to all
    aspects with scores, `scales` to single aspects. `sides` says what A and B mean if the file says which system was
    shown first (SIDES). `cases` are the columns that contain the answers on one case each. `case_pattern` finds them
    by their names, and `values` renames the answers in them.
    """

    fields: dict[str, Field]
    attributes: dict[str, str] = {}
    raters: dict[str, dict[str, Field]] = {}
    aspects: dict[str, Field] = {}
    cases: tuple[CaseColumn, ...] = ()
    case_pattern: str = ""
    values: dict[str, str] = {}
    scale: Scale | None = None
    scales: dict[str, Scale] = {}
    sides: str = ""

    def uses(self) -> str:
        """One line that says how each column is read."""
        parts = [
            f"{field.column} as {name}" if field.column else f"{name} = {field.value}"
            for name, field in self.fields.items()
        ]
        parts += [f"{column} as attribute {name}" for name, column in self.attributes.items()]
        parts += [f"{field.column} as {aspect}" for aspect, field in self.aspects.items()]
        parts += [
            f"{field.column} as {aspect} by {rater}"
            for rater, aspects in self.raters.items()
            for aspect, field in aspects.items()
        ]
        parts += [
            f"{case.field.column} as {case.aspect or 'the answer'} on case {case.case_id}"
            for case in self.cases
        ]
        return ", ".join(parts)

    def columns(self) -> list[str]:
        """Every used column of the file."""
        fields = [*self.fields.values(), *self.aspects.values()]
        fields += [case.field for case in self.cases]
        fields += [field for aspects in self.raters.values() for field in aspects.values()]
        return list(dict.fromkeys([f.column for f in fields if f.column] + [*self.attributes.values()]))

    def answers(self) -> list[tuple[dict[str, str], Field]]:
        """The columns that contain one label each: what the column's name says about the label, and the label's
        value.
        """
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


class FileMapping(Model):
    """A mapping file as read, identified by `name` and `digest`.

    `layout` is the labelling tool that exported the answers; empty for a plain table. `header` are the columns of a
    table that has no header row, `decimal` is the character before the fraction of a number. Without `kinds` it says only
    how the table is written, and the columns are found by their names.
    """

    name: str
    digest: str
    layout: str = ""
    encoding: str = ""
    header: tuple[str, ...] = ()
    delimiter: str = ""
    quote: str = '"'
    decimal: str = "."
    kinds: dict[ImportKind, KindMapping]


def load_mapping(path: Path, known: Mapping[ImportKind, tuple[str, ...]]) -> FileMapping:
    """Read and check a mapping file; `known` are the plain columns of each kind. Raises InputError."""
    import hashlib

    try:
        raw = small_file(path)
        content = tomllib.loads(raw.decode())
    except OSError as error:
        raise InputError(f"{path} cannot be read", f"{error.strerror or error}.") from error
    except ValueError as error:
        raise InputError(f"{path} is not a TOML file", f"{error}.", "See docs/mapping.md.") from error
    settings = {key: content.pop(key) for key in _SETTINGS if key in content}
    header = _header(path, settings.pop("header", []))
    for key, value in settings.items():
        if not isinstance(value, str) or (key in _CHARACTERS and len(value) > 1):
            raise _fault(path, key, "must be a string" + (" of one character" if key in _CHARACTERS else ""))
    if settings.get("decimal", ".") not in (".", ","):
        raise _fault(path, "decimal", "must be a point or a comma")
    _check_encoding(path, settings.get("encoding", ""))
    kinds: dict[ImportKind, KindMapping] = {}
    for kind, table in content.items():
        name = next((k for k in IMPORT_KINDS if k == kind), None)
        if name is None or not isinstance(table, dict):
            raise _fault(path, kind, f"is none of: {', '.join((*IMPORT_KINDS, *_SETTINGS))}")
        kinds[name] = _kind_mapping(path, name, table, known[name])
    digest = hashlib.sha256(raw).hexdigest()
    return FileMapping(name=path.name, digest=digest, header=header, kinds=kinds, **settings)


def with_case_columns(mapping: KindMapping, columns: Sequence[str], name: str) -> KindMapping:
    """The mapping with the columns of cases that its pattern finds. Raises InputError if it finds none."""
    if not mapping.case_pattern:
        return mapping
    pattern = re.compile(mapping.case_pattern)
    cases = []
    for column in columns:
        if match := pattern.search(column):
            groups = match.groupdict()
            case_id, aspect = groups.get("case") or match[1], groups.get("aspect") or ""
            field = Field(column=column, values=mapping.values)
            cases.append(CaseColumn(case_id=case_id.strip(), aspect=aspect.strip(), field=field))
    if not cases:
        raise InputError(
            f"no column matches “cases” in the mapping {name}",
            f"It is: {mapping.case_pattern}. The columns are: {one_line(', '.join(columns), 300)}.",
            "Correct the pattern, or name the column of each case in a table [labels.cases].",
        )
    return mapping.model_copy(update={"cases": tuple(cases)})


def mapped_rows(mapping: KindMapping, rows: Iterator[Row], notes: Notes) -> Iterator[Row]:
    """The rows with plain column names. A row with several columns of labels becomes one row per label."""
    answers = mapping.answers()
    for line, cells in rows:
        try:
            base = {name: taken(field, cells) for name, field in mapping.fields.items()}
            for name, column in mapping.attributes.items():
                base[name] = cells.get(column, "")
            if not answers:
                yield line, base
            for about, field in answers:
                yield line, {**base, **about, "value": taken(field, cells)}
        except RowFault as fault:
            notes.skip(line, fault.kind, f"{fault.text}; row left out")


def with_points(rows: Iterator[Row], names: Sequence[str]) -> Iterator[Row]:
    """The rows with `3.5` for `3,5` in these columns."""
    for line, row in rows:
        for name in names:
            if _WITH_COMMA.fullmatch(text := row.get(name, "").strip()):
                row[name] = text.replace(",", ".")
        yield line, row


def taken(field: Field, cells: Mapping[str, str]) -> str:
    """The field's value in one row. Raises RowFault for a time that is not in the field's format."""
    text = cells.get(field.column, "") if field.column else field.value
    if field.values:
        text = field.values.get(text.strip(), text)
    if field.html:
        text = html_text(text)
    text = text if text.strip() else field.default
    return formatted(text, field.format) if field.format else text


def _kind_mapping(path: Path, kind: ImportKind, table: dict[str, Any], known: tuple[str, ...]) -> KindMapping:
    attributes = table.pop("attributes", [])
    if isinstance(attributes, list):
        attributes = {str(name): str(name) for name in attributes}
    elif not isinstance(attributes, dict) or not all(isinstance(v, str) for v in attributes.values()):
        raise _fault(path, f"{kind}.attributes", 'must be a list of columns, or name = "column"')
    scale, scales = _scales(path, table.pop("scale")) if kind == "labels" and "scale" in table else (None, {})
    sides = _sides(path, table.pop("sides")) if kind == "labels" and "sides" in table else ""
    pattern, cases, values = _cases(path, table) if kind == "labels" and "cases" in table else ("", (), {})
    fields: dict[str, Field] = {}
    tables: dict[str, dict[str, Field]] = {}
    for name, spec in table.items():
        if name in known:
            fields[name] = _field(path, f"{kind}.{name}", spec)
        elif kind == "labels" and isinstance(spec, dict):
            tables[name] = {a: _field(path, f"{kind}.{name}.{a}", s) for a, s in spec.items()}
        else:
            raise _fault(path, f"{kind}.{name}", f"is not a column of {kind}: {', '.join(known)}")
    aspects = tables.pop("aspects", {})
    if tables and (aspects or "rater" in fields):
        raise _fault(path, kind, "has a table for each rater, so it cannot have “rater” or “aspects” too")
    if (tables or aspects) and ("aspect" in fields or "value" in fields):
        raise _fault(path, kind, "has a column for each aspect, so it cannot have “aspect” or “value” too")
    if (pattern or cases) and (tables or aspects or "value" in fields or "case_id" in fields):
        raise _fault(
            path,
            kind,
            "has a column for each case, so it cannot have another column for the case or the value",
        )
    return KindMapping(
        fields=fields,
        attributes=attributes,
        raters=tables,
        aspects=aspects,
        cases=cases,
        case_pattern=pattern,
        values=values,
        scale=scale,
        scales=scales,
        sides=sides,
    )


def _cases(path: Path, table: dict[str, Any]) -> tuple[str, tuple[CaseColumn, ...], dict[str, str]]:
    """The pattern or the columns of cases, and the values renamed in all of them. Removes them from the table."""
    spec, values = table.pop("cases"), table.pop("values", {})
    if not isinstance(values, dict):
        raise _fault(path, "labels.values", 'must be a table of old = "new"')
    renamed = {str(old): str(new) for old, new in values.items()}
    if isinstance(spec, str):
        try:
            usable = re.compile(spec).groups > 0
        except re.error as error:
            raise _fault(path, "labels.cases", f"is not a regular expression: {error}") from error
        if not usable:
            raise _fault(
                path, "labels.cases", r"must have a group for the number of the case, such as 'Case (\d+)'"
            )
        return spec, (), renamed
    if not isinstance(spec, dict):
        raise _fault(path, "labels.cases", "must be a pattern, or a table with the column of each case")
    case_columns = []
    for case_id, columns in spec.items():
        several = isinstance(columns, dict) and "column" not in columns
        for aspect, column in columns.items() if several else [("", columns)]:
            field = _field(path, f"labels.cases.{case_id}", column)
            field = field if field.values else field.model_copy(update={"values": renamed})
            case_columns.append(CaseColumn(case_id=str(case_id), aspect=str(aspect), field=field))
    return "", tuple(case_columns), renamed


def _field(path: Path, where: str, spec: object) -> Field:
    if isinstance(spec, str):
        return Field(column=spec)
    if not isinstance(spec, dict):
        raise _fault(path, where, 'must be a column\'s name or a table such as { column = "…", html = true }')
    content = {key: value if isinstance(value, dict | bool) else str(value) for key, value in spec.items()}
    if unknown := set(content) - set(Field.model_fields):
        raise _fault(path, where, f"has “{min(unknown)}”, which is none of: {', '.join(Field.model_fields)}")
    if ("column" in content) == ("value" in content):
        raise _fault(path, where, "needs either a column or a constant value")
    if not isinstance(content.get("html", False), bool) or not isinstance(content.get("values", {}), dict):
        raise _fault(path, where, '“html” must be true or false, and “values” a table of old = "new"')
    if isinstance(content.get("values"), dict):
        content["values"] = {str(old): str(new) for old, new in spec["values"].items()}
    return Field.model_validate({k: str(v) if k not in ("html", "values") else v for k, v in content.items()})


def _scales(path: Path, spec: object) -> tuple[Scale | None, dict[str, Scale]]:
    """The scale of all aspects, or the scales of single aspects."""
    if isinstance(spec, dict):
        return None, {
            str(aspect): _scale(path, f"labels.scale.{aspect}", scale) for aspect, scale in spec.items()
        }
    return _scale(path, "labels.scale", spec), {}


def _scale(path: Path, where: str, spec: object) -> Scale:
    ordered = not isinstance(spec, dict)
    if isinstance(spec, dict) and set(spec) == {"categories"}:
        spec = spec["categories"]
    try:
        if (
            ordered
            and isinstance(spec, list)
            and len(spec) == 2
            and all(isinstance(v, int | float) for v in spec)
        ):
            return numbered(float(spec[0]), float(spec[1]))
        if isinstance(spec, list) and all(isinstance(word, str) for word in spec):
            return worded(tuple(spec), ordered=ordered)
        what = "must be the lowest and the highest value, such as [1, 5], words from the lowest to the highest, such as"
        raise _fault(
            path,
            where,
            f'{what} ["no", "yes"], or {{ categories = ["red", "green"] }} for words without an order',
        )
    except ValueError as error:
        raise _fault(path, where, f"must be the lowest and the highest value, or words: {error}") from error


def _sides(path: Path, spec: object) -> str:
    if spec not in SIDES:
        raise _fault(path, "labels.sides", f"must be {' or '.join(f'“{side}”' for side in SIDES)}")
    return str(spec)


def _header(path: Path, spec: object) -> tuple[str, ...]:
    if not isinstance(spec, list) or not all(isinstance(name, str) for name in spec):
        raise _fault(path, "header", 'must be a list of column names, such as ["user", "item", "score"]')
    if len(set(spec)) < len(spec):
        raise _fault(path, "header", "names a column twice")
    return tuple(spec)


def _check_encoding(path: Path, encoding: str) -> None:
    import codecs

    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise _fault(path, "encoding", f"“{encoding}” is not known; try latin-1, cp1252 or utf-16") from None


def _fault(path: Path, where: str, what: str) -> InputError:
    return InputError(f"{path}: “{where}” {what}", next_step="See docs/mapping.md.")
