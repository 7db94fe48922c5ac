"""MovieLens as GroupLens releases it: 100K, 1M (and 10M), latest (and 20M, 25M, 32M).

The files of 100K and 1M have no header and are written in latin-1; copies in UTF-8 are read too. Ratings are
events of type `rating`, tags events of type `tag`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from recjudge_tui.domain.event_types import RATING
from recjudge_tui.domain.records import Event, ImportKind, Item, User
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Record, Request, Sample
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.reading import most_lines_match, sample_of, text_lines
from recjudge_tui.importers.files.tables import Dialect, header_of, read_table
from recjudge_tui.importers.files.values import number, shown, timestamp

# the flags at the end of a line of u.item, in the order of u.genre; the first one means “no genre known”
_GENRES = (
    "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
    "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
)  # fmt: skip
# the meanings of the codes in users.dat, from the README of 1M
_AGES = {
    "1": "under 18", "18": "18-24", "25": "25-34", "35": "35-44", "45": "45-49", "50": "50-55", "56": "56 or more",
}  # fmt: skip
_OCCUPATIONS = (
    "other or not specified", "academic/educator", "artist", "clerical/admin", "college/grad student",
    "customer service", "doctor/health care", "executive/managerial", "farmer", "homemaker", "K-12 student",
    "lawyer", "programmer", "retired", "sales/marketing", "scientist", "self-employed", "technician/engineer",
    "tradesman/craftsman", "unemployed", "writer",
)  # fmt: skip
_NO_GENRES = "(no genres listed)"

Convert = Callable[[list[str], int, Request], Record]


class _Form(NamedTuple):
    """A file without a header: the form of its lines, how to split them, and the records they become. `first` and
    `last` count the fields split off at either end, so that the text in between may contain the separator.
    """

    kind: ImportKind
    form: str
    looks: re.Pattern[str]
    separator: str
    first: int
    last: int
    convert: Convert


def _split(text: str, form: _Form) -> list[str]:
    head = text.split(form.separator, form.first)
    tail = head.pop().rsplit(form.separator, form.last)
    return [*head, *tail]


def _rating(fields: list[str], _line: int, _request: Request) -> Event:
    user, item, rating, time = fields
    return Event(
        user_id=_id(user, "user id"),
        type=RATING,
        item_id=_id(item, "film id"),
        value=number(rating, "rating"),
        timestamp=timestamp(time),
    )


def _tag(fields: list[str], _line: int, _request: Request) -> Event:
    user, item, tag, time = fields
    if not tag.strip():
        raise RowFault("no tag", "the tag is empty")
    return Event(
        user_id=_id(user, "user id"),
        type="tag",
        item_id=_id(item, "film id"),
        text=tag.strip(),
        timestamp=timestamp(time),
    )


def _film_100k(fields: list[str], _line: int, _request: Request) -> Item:
    film, title, released, video, _address, *flags = fields
    for flag in flags:
        if flag.strip() not in ("0", "1"):
            raise RowFault("bad genre flag", f"genre flag {shown(flag)} is neither 0 nor 1")
    genres = [name for name, flag in zip(_GENRES, flags[1:], strict=True) if flag.strip() == "1"]
    dates = {"release_date": released.strip(), "video_release_date": video.strip()}
    attributes = {name: date for name, date in dates.items() if date}
    return _film(film, title, "|".join(genres), attributes)


def _film_1m(fields: list[str], _line: int, _request: Request) -> Item:
    film, title, genres = fields
    return _film(film, title, genres)


def _film(film: str, title: str, genres: str, attributes: dict[str, str] | None = None) -> Item:
    if not title.strip():
        raise RowFault("no title", "the title is empty")
    genres = genres.strip()
    return Item(
        item_id=_id(film, "film id"),
        title=title.strip(),
        category="" if genres == _NO_GENRES else genres,
        attributes=attributes or {},
    )


def _user_100k(fields: list[str], _line: int, _request: Request) -> User:
    user, age, gender, occupation, _zip_code = fields
    return _user(user, age, gender, occupation)


def _user_1m(fields: list[str], line: int, request: Request) -> User:
    user, gender, age, occupation, _zip_code = fields
    years, work = _AGES.get(age.strip(), ""), occupation.strip()
    if not years:
        request.notes.warn(
            line, "unknown age code", f"age {shown(age)} is not a code in the README; kept unchanged"
        )
    if work.isdecimal() and int(work) < len(_OCCUPATIONS):
        work = _OCCUPATIONS[int(work)]
    else:
        text = f"occupation {shown(occupation)} is not a code in the README; kept unchanged"
        request.notes.warn(line, "unknown occupation code", text)
    return _user(user, years or age, gender, work)


def _user(user: str, age: str, gender: str, occupation: str) -> User:
    known = {"age": age.strip(), "gender": gender.strip(), "occupation": occupation.strip()}
    return User(user_id=_id(user, "user id"), attributes={k: v for k, v in known.items() if v})


def _id(text: str, what: str) -> str:
    if not (bare := text.strip()):
        raise RowFault(f"no {what}", f"the {what} is empty")
    return bare


_RATED = r"\d+(\.\d+)?"
_100K = (
    _Form(
        "events", "user id, film id, rating, time, between tabs",
        re.compile(r"\d+\t\d+\t[0-5](\.\d)?\t\d{8,10}", re.ASCII), "\t", 3, 0, _rating,
    ),
    _Form(
        "items", "film id|title|release date|video release date|address|19 flags 0 or 1",
        re.compile(r"\d+\|.*\|[^|]*\|[^|]*\|[^|]*(\|[01]){19}\s*", re.ASCII), "|", 1, 22, _film_100k,
    ),
    _Form(
        "users", "user id|age|gender|occupation|zip code",
        re.compile(r"\d+\|\d+\|[A-Za-z]\|[^|]*\|[^|]*", re.ASCII), "|", 4, 0, _user_100k,
    ),
)  # fmt: skip
_1M = (
    _Form(
        "events", "user id::film id::rating::time",
        re.compile(rf"\d+::\d+::{_RATED}::\d{{8,10}}", re.ASCII), "::", 3, 0, _rating,
    ),
    _Form(
        "events", "user id::film id::tag::time",
        re.compile(r"\d+::\d+::.*[^:].*::\d{8,10}", re.ASCII), "::", 2, 1, _tag,
    ),
    _Form(
        "users", "user id::gender::age::occupation::zip code",
        re.compile(r"\d+::[A-Za-z]::\d+::\d+::[^:]*", re.ASCII), "::", 4, 0, _user_1m,
    ),
    _Form(
        "items", "film id::title::genres between |",
        re.compile(r"\d+::(?!\d+::).+::\(?[A-Za-z][^:]*", re.ASCII), "::", 1, 1, _film_1m,
    ),
)  # fmt: skip


def _form_of(forms: tuple[_Form, ...], sample: Sample) -> _Form | None:
    return next((form for form in forms if most_lines_match(sample, form.looks)), None)


def _fits(forms: tuple[_Form, ...], sample: Sample, kind: ImportKind) -> bool:
    form = _form_of(forms, sample)
    return form is not None and form.kind == kind


def _read(forms: tuple[_Form, ...], request: Request) -> Iterator[LocatedRecord]:
    sample = sample_of(request.path)
    form = _form_of(forms, sample)
    if form is None or form.kind != request.kind:
        raise _not_such_a_file(forms, sample, form, request.kind)
    width = form.first + form.last + 1
    for line, text in enumerate(text_lines(request.path, or_latin1=True), start=1):
        bare = text.rstrip("\r\n")
        if not bare.strip():
            continue
        fields = _split(bare, form)
        try:
            if len(fields) != width:
                raise RowFault("wrong number of fields", f"{len(fields)} fields; expected: {form.form}")
            yield LocatedRecord(line, form.convert(fields, line, request))
        except RowFault as fault:
            request.notes.skip(line, fault.kind, f"{fault.text}; row left out")


def _not_such_a_file(
    forms: tuple[_Form, ...], sample: Sample, form: _Form | None, kind: ImportKind
) -> InputError:
    if form is not None:
        return InputError(
            f"{sample.path} contains {form.kind}, not {kind}",
            f"Its lines are: {form.form}.",
            f"Import it with --as {form.kind}.",
        )
    wanted = "; or ".join(form.form for form in forms if form.kind == kind)
    first = next((line for line in sample.text.splitlines() if line.strip()), "")
    return InputError(
        f"{sample.path}:1: not {kind} of MovieLens",
        f"Expected lines: {wanted}. Found: {shown(first)}.",
        "Leave out --layout to have the layout detected, or describe the file in a mapping (docs/mapping.md).",
    )


# the tables of MovieLens latest by their columns in lower case; other columns are ignored
class _Table(NamedTuple):
    kind: ImportKind
    columns: tuple[str, ...]
    convert: Convert


_LATEST = (
    _Table("events", ("userId", "movieId", "rating", "timestamp"), _rating),
    _Table("events", ("userId", "movieId", "tag", "timestamp"), _tag),
    _Table("items", ("movieId", "title", "genres"), _film_1m),
)


def _table_of(sample: Sample) -> _Table | None:
    header = {name.lower() for name in header_of(sample.text)}
    return next((t for t in _LATEST if header.issuperset(name.lower() for name in t.columns)), None)


def _fits_latest(sample: Sample, kind: ImportKind) -> bool:
    table = _table_of(sample)
    return table is not None and table.kind == kind


def _read_latest(request: Request) -> Iterator[LocatedRecord]:
    sample = sample_of(request.path)
    table = _table_of(sample)
    if table is None or table.kind != request.kind:
        raise _not_of_latest(sample, table, request.kind)
    for line, row in read_table(request.path, table.columns, Dialect(), request.notes).rows:
        try:
            yield LocatedRecord(line, table.convert([row[name] for name in table.columns], line, request))
        except RowFault as fault:
            request.notes.skip(line, fault.kind, f"{fault.text}; row left out")


def _not_of_latest(sample: Sample, actual: _Table | None, kind: ImportKind) -> InputError:
    header = ", ".join(header_of(sample.text)) or "not a header"
    if actual is not None:
        step = f"Import it with --as {actual.kind}."
        return InputError(
            f"{sample.path} contains {actual.kind}, not {kind}", f"Its columns are: {header}.", step
        )
    return InputError(
        f"{sample.path}:1: not a table of MovieLens latest",
        f"Its columns are: {header}. Tables with these columns can be read: "
        f"{'; '.join(', '.join(table.columns) for table in _LATEST)}.",
        "Leave out --layout to have the layout detected, or describe the file in a mapping (docs/mapping.md).",
    )


MOVIELENS_100K = Layout(
    name="movielens-100k",
    kinds=("items", "users", "events"),
    about="u.item, u.user and u.data of MovieLens 100K, and its splits u1.base, u1.test, …",
    fits=partial(_fits, _100K),
    read=partial(_read, _100K),
    names=("u.item", "u.user", "u.data"),
    has_header=False,
)
MOVIELENS_1M = Layout(
    name="movielens-1m",
    kinds=("items", "users", "events"),
    about="movies.dat, users.dat, ratings.dat and tags.dat of MovieLens 1M and 10M",
    fits=partial(_fits, _1M),
    read=partial(_read, _1M),
    names=("movies.dat", "users.dat", "ratings.dat", "tags.dat"),
    has_header=False,
)
MOVIELENS_LATEST = Layout(
    name="movielens-latest",
    kinds=("items", "events"),
    about="movies.csv, ratings.csv and tags.csv of MovieLens latest, 20M, 25M and 32M",
    fits=_fits_latest,
    read=_read_latest,
    names=("movies.csv", "ratings.csv", "tags.csv"),
)
