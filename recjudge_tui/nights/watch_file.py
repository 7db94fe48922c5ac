"""The file of a watch: what to import, which judges judge it under which protocols, and what to report
(docs/nightly.md).
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator, model_validator

from recjudge_tui.domain.address import AddressError
from recjudge_tui.domain.base import Model
from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
from recjudge_tui.domain.occasions import Over
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError, RecjudgeError
from recjudge_tui.files import small_file
from recjudge_tui.settings import user_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HEADER = re.compile(r"\s*\[(\[?)\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*=")
_SEE = "docs/nightly.md describes the file."


class ImportEntry(Model):
    """Files to import, by paths with `*`, `?` and `**`; the rest is as in `recjudge import`."""

    paths: tuple[str, ...] = Field(min_length=1)
    kind: ImportKind | None = Field(default=None, alias="as")
    layout: str = ""
    mapping: str = ""
    system: str = ""

    @model_validator(mode="after")
    def _mapping_needs_a_kind(self) -> ImportEntry:
        if self.mapping and self.kind is None:
            raise ValueError('a mapping needs a kind: add as = "lists", or another kind')
        return self


class JudgeEntry(JudgeAddress):
    """A judge at its address, and what it judges.

    `name` is the name of its rater, `budget` is in US dollars per night, `settings` are those of a run, and `anchor` is
    the number of cases judged again each night to see whether the judge itself changes.
    """

    spec: str = Field(min_length=1)
    name: str = Field(min_length=1)
    protocols: tuple[str, ...] = Field(min_length=1)
    prompt: str = ""
    budget: float | None = Field(default=None, gt=0)
    anchor: int = Field(default=0, ge=0)
    settings: dict[str, Any] = {}

    @property
    def judge(self) -> JudgeSpec:
        return self.judge_named(self.spec)

    @field_validator("protocols")
    @classmethod
    def _one_protocol_a_unit(cls, protocols: tuple[str, ...]) -> tuple[str, ...]:
        units: dict[str, str] = {}
        for name in protocols:
            try:
                facts = protocol_facts(name)
            except RecjudgeError as error:
                raise ValueError(str(error)) from error
            if facts.tests_judges:
                raise ValueError(f"{name} tests a judge and does not compare systems")
            other = units.setdefault(facts.subject, name)
            if other != name:
                raise ValueError(
                    f"{other} and {name} judge the same cases, and a rater gives one verdict on a case:"
                    " write a second [[judge]] with another name"
                )
        return protocols

    @model_validator(mode="after")
    def _address_fits(self) -> JudgeEntry:
        try:
            self.check()
        except AddressError as error:
            raise ValueError(f"{error.option}: {error}") from error
        return self

    @model_validator(mode="after")
    def _settings_fit(self) -> JudgeEntry:
        from recjudge_tui.runs.plan.settings import settings_for

        if {"protocol", "budget_usd"} & self.settings.keys():
            raise ValueError("settings: write protocols and budget above, not among the settings")
        for protocol in self.protocols:
            try:
                settings_for(protocol, **self.settings)
            except ValidationError as error:
                raise ValueError("settings: " + "; ".join(_messages(error))) from error
        return self


class TrendEntry(Model):
    """The trend to write; the file's ending says how."""

    file: str = Field(min_length=1)
    over: Over = "day"
    protocol: str | None = None
    metrics: tuple[str, ...] | None = None


class GateEntry(Model):
    """The bounds to meet, as in `recjudge gate`. `rater` empty: the first judge; `against` the same name: each night is
    compared with the night before. Without a file, the table is printed.
    """

    rater: str = ""
    truth: str | None = None
    at_least: dict[str, float] = {}
    at_most: dict[str, float] = {}
    against: str | None = None
    stats: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    protocol: str | None = None
    aspect: str | None = None
    certain: bool = False
    file: str = ""


class Watch(Model):
    """A watch as described by its file.

    `folder` is the folder of the file, to which paths are relative; `digest` is the digest of its bytes.
    """

    folder: Path
    digest: str
    project: str = Field(min_length=1)
    imports: tuple[ImportEntry, ...] = Field(default=(), alias="import")
    judges: tuple[JudgeEntry, ...] = Field(default=(), alias="judge")
    trend: TrendEntry | None = None
    gate: GateEntry | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Watch:
        names = [judge.name for judge in self.judges]
        if len(set(names)) < len(names):
            raise ValueError("two judges have the same name")
        if self.gate is not None and not (self.gate.rater or names):
            raise ValueError("the gate needs a rater: name one, or add a [[judge]]")
        return self

    def path(self, text: str) -> Path:
        """A path from the file, relative to the file's folder."""
        return self.folder / user_path(text)


def read_watch(path: Path) -> Watch:
    """Read and check the file of a watch. Raises InputError that names each mistake with file and line."""
    try:
        raw = small_file(path)
        text = raw.decode("utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        step = "“recjudge watch init -p PROJECT” writes one."
        raise InputError(f"{path} cannot be read", f"{error.strerror or error}.", step) from error
    except ValueError as error:
        line = re.search(r"line (\d+)", str(error))
        where = f"{path}:{line.group(1)}" if line else str(path)
        raise InputError(f"{where}: not valid TOML", f"{error}.", _SEE) from error
    digest = hashlib.sha256(raw).hexdigest()
    try:
        return Watch.model_validate({**content, "folder": path.absolute().parent, "digest": digest})
    except ValidationError as error:
        lines = _lines(text)
        faults = [
            f"{path}:{_line(lines, fault['loc'])}: {message}"
            for fault, message in zip(error.errors(), _messages(error), strict=True)
        ]
        raise InputError(faults[0], "\n  ".join(faults[1:]), _SEE) from error


def _messages(error: ValidationError) -> list[str]:
    messages = []
    for fault in error.errors():
        name = ".".join(str(part) for part in fault["loc"] if not isinstance(part, int))
        message = {"extra_forbidden": "there is no such setting", "missing": "is missing"}.get(
            fault["type"], fault["msg"].removeprefix("Value error, ")
        )
        messages.append(f"{name}: {message}" if name else message)
    return messages


def _lines(text: str) -> dict[tuple[int | str, ...], int]:
    """The line (from 1) of each header and setting; tables of an array by their number."""
    lines: dict[tuple[int | str, ...], int] = {}
    table: tuple[int | str, ...] = ()
    count: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            first, *rest = header.group(2).split(".")
            if header.group(1) and not rest:
                count[first] = count.get(first, -1) + 1
            table = (first, *([count[first]] if first in count else []), *rest)
            lines.setdefault(table, number)
        elif setting := _KEY.match(line):
            lines.setdefault((*table, setting.group(1)), number)
    return lines


def _line(lines: dict[tuple[int | str, ...], int], place: tuple[int | str, ...]) -> int:
    """The line of the longest known prefix of a location in the file."""
    for length in range(len(place), 0, -1):
        if place[:length] in lines:
            return lines[place[:length]]
    return 1
