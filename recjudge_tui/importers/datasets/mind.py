"""MIND, the Microsoft News dataset: news.tsv, behaviors.tsv, and the prediction.txt of a system.

Every impression is an occasion: its id is the context, its time is when the list was served. Its clicks become
`heldout_click` of this context, and a system's ranking of its candidates becomes the list. The history of the user's first
impression becomes events of type `click` (oldest first, without a time). In a training log (layout `mind-train`) every
click becomes an event of type `click`, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.records import Event, ImportKind, Item, RankedItem, Slate
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import Layout, LocatedRecord, Request, Sample
from recjudge_tui.importers.files.notes import Notes, RowFault
from recjudge_tui.importers.files.reading import bare_name, most_lines_match, sample_of, text_lines
from recjudge_tui.importers.files.values import shown

BEHAVIORS = "behaviors.tsv"
_TIME = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}) (\d{1,2}):(\d\d):(\d\d) ([AP])M", re.ASCII)
_LOOKS = {
    "news": re.compile(r"N\d+\t[^\t]*\t[^\t]*\t[^\t]+(\t[^\t]*){0,4}", re.ASCII),
    "behaviors": re.compile(rf"[^\t]*\t[^\t]+\t{_TIME.pattern}\t[^\t]*\t[^\t]*", re.ASCII),
    "predictions": re.compile(r"\S+\s+\[\s*\d+(\s*,\s*\d+)*\s*\]\s*", re.ASCII),
}


class _Impression(NamedTuple):
    """One line of behaviors.tsv. `history` and `candidates` are as written, between spaces."""

    line: int
    name: str
    user_id: str
    time: datetime
    history: str
    candidates: str


def _news(request: Request) -> Iterator[LocatedRecord]:
    for line, fields in _tabbed(request.path):
        if len(fields) < 4:
            text = f"{len(fields)} fields instead of 8; row left out"
            request.notes.skip(line, "wrong number of fields", text)
            continue
        item_id, category, subcategory, title, abstract = (*fields, "")[:5]
        if not item_id or not title:
            what = "id" if not item_id else "title"
            request.notes.skip(line, f"no {what}", f"the {what} is empty; row left out")
            continue
        extra = {"subcategory": subcategory, "abstract": abstract}
        attributes = {name: text for name, text in extra.items() if text}
        yield LocatedRecord(
            line, Item(item_id=item_id, title=title, category=category, attributes=attributes)
        )


def _evaluation(request: Request) -> Iterator[LocatedRecord]:
    first = _first_histories(request.path)
    users: set[str] = set()
    for impression in _impressions(request.path, request.notes):
        yield from _history(impression, first)
        if impression.user_id not in users and hash(impression.history) != first[impression.user_id].history:
            users.add(impression.user_id)
            text = (
                f"the history of user {shown(impression.user_id)} differs between impressions; the first "
                f"one is used, because the time of the other clicks is unknown"
            )
            request.notes.warn(impression.line, "changing history", text)
        clicked, known = _clicked(impression)
        if not known:
            text = f"impression {shown(impression.name)} has no record of clicks; its history is kept"
            request.notes.warn(impression.line, "clicks not given", text)
        yield from _clicks(impression, clicked, "heldout_click", impression.name)


def _training(request: Request) -> Iterator[LocatedRecord]:
    first = _first_histories(request.path)
    for impression in _impressions(request.path, request.notes):
        yield from _history(impression, first)
        yield from _clicks(impression, _clicked(impression)[0], "click")


def _history(impression: _Impression, first: dict[str, _FirstHistory]) -> Iterator[LocatedRecord]:
    if first[impression.user_id].line != impression.line:
        return
    for item_id in impression.history.split():
        yield LocatedRecord(impression.line, Event(user_id=impression.user_id, type="click", item_id=item_id))


def _clicks(
    impression: _Impression, clicked: list[str], type_: str, context: str = ""
) -> Iterator[LocatedRecord]:
    time = impression.time.isoformat()
    for item_id in clicked:
        event = Event(
            user_id=impression.user_id, type=type_, item_id=item_id, timestamp=time, context=context
        )
        yield LocatedRecord(impression.line, event)


def _lists(request: Request) -> Iterator[LocatedRecord]:
    system = _system(request)
    behaviors = _behaviors_for(request)
    waiting = 0
    for line, ranks, impression in _paired(request.path, behaviors):
        items = [_candidate(token)[0] for token in impression.candidates.split()]
        if fault := _rank_fault(ranks, items):
            raise InputError(
                f"{request.path}:{line}: {fault}",
                f"Impression {shown(impression.name)} ({behaviors}:{impression.line}) has {len(items)} candidates: "
                f"the line must rank them all, with each number from 1 to {len(items)} once.",
                f"Create the file again from this {BEHAVIORS}; nothing was imported.",
            )
        waiting -= 1
        slate = Slate(
            user_id=impression.user_id,
            system=system,
            items=_ranked(ranks, items),
            context=impression.name,
            served_at=impression.time.isoformat(),
        )
        yield LocatedRecord(line, slate)
    waiting += sum(1 for _ in _impressions(behaviors, None))
    if waiting:
        text = f"{waiting:,} impressions of {behaviors} have no prediction and therefore no list"
        request.notes.warn(1, "impressions without a prediction", text)


def _ranked(ranks: list[int], items: list[str]) -> tuple[RankedItem, ...]:
    """The candidates by rank; the score is 1/rank, as in the dataset's own evaluation."""
    order = sorted(zip(ranks, items, strict=True))
    best = {item_id: rank for rank, item_id in reversed(order)}
    return tuple(
        RankedItem(item_id=item_id, score=1 / rank) for rank, item_id in order if best[item_id] == rank
    )


def _rank_fault(ranks: list[int], items: list[str]) -> str:
    if len(ranks) != len(items):
        return f"{len(ranks)} ranks for {len(items)} candidates"
    if sorted(ranks) == list(range(1, len(ranks) + 1)):
        return ""
    twice = next((rank for rank in ranks if ranks.count(rank) > 1), None)
    if twice is not None:
        return f"rank {twice} occurs twice"
    return f"rank {next(rank for rank in ranks if not 1 <= rank <= len(ranks))} of {len(ranks)}"


def _paired(predictions: Path, behaviors: Path) -> Iterator[tuple[int, list[int], _Impression]]:
    """Each prediction with its impression. Uses little memory if both files have the same order, as they usually do."""
    impressions = _impressions(behaviors, None)
    passed: dict[str, _Impression] = {}
    for line, name, ranks in _predictions(predictions):
        impression = passed.pop(name, None)
        while impression is None:
            following = next(impressions, None)
            if following is None:
                raise InputError(
                    f"{predictions}:{line}: no impression {shown(name)} for this prediction in {behaviors}",
                    "The impression does not exist, or an earlier line has a prediction for it.",
                    f"Give the {BEHAVIORS} that these predictions were made for.",
                )
            if following.name == name:
                impression = following
            else:
                passed[following.name] = following
        yield line, ranks, impression


def _predictions(path: Path) -> Iterator[tuple[int, str, list[int]]]:
    for line, text in enumerate(text_lines(path), start=1):
        if not text.strip():
            continue
        if not _LOOKS["predictions"].fullmatch(text):
            raise InputError(
                f"{path}:{line}: not a prediction: {shown(text)}",
                "Each line has the id of an impression and the ranks of its candidates, such as “7 [2,1,3]”.",
                "Create the file again; nothing was imported.",
            )
        name, ranks = text.split(None, 1)
        yield line, name, [int(rank) for rank in ranks.strip()[1:-1].split(",")]


def _system(request: Request) -> str:
    """The system named by the command, else the rest of the file name beside “prediction”."""
    name = bare_name(request.path).removesuffix(".txt")
    system = request.system or re.sub("predictions?", "", name, flags=re.IGNORECASE).strip("._- ")
    if not system:
        raise InputError(
            f"{request.path} does not name the system of its predictions",
            next_step="Name the system with --system.",
        )
    return system


def _behaviors_for(request: Request) -> Path:
    """The file of impressions that belongs to the predictions: in the same command, else in the same folder."""
    given = [path for path in request.beside if _role(sample_of(path)) == "behaviors"]
    near = [path for path in given if path.parent == request.path.parent]
    paths = near or [path for path in given if not _is_training(path)] or given
    if not paths:
        names = (BEHAVIORS, f"{BEHAVIORS}.gz")
        paths = [path for name in names if (path := request.path.with_name(name)).is_file()][:1]
    if len(paths) == 1:
        return paths[0]
    if paths:
        title = f"{request.path} may belong to any of {', '.join(map(str, paths))}"
        raise InputError(title, next_step=f"Give it with one {BEHAVIORS} only.")
    raise InputError(
        f"{request.path} needs its {BEHAVIORS}",
        "Predictions are ranks of the candidates in that file.",
        f"Give both to the command, or put {BEHAVIORS} into the same folder.",
    )


class _FirstHistory(NamedTuple):
    """A user's oldest impression: its time, its line, and the hash of its history."""

    time: datetime
    line: int
    history: int


def _first_histories(path: Path) -> dict[str, _FirstHistory]:
    """user id -> the oldest impression, by time, then line; needs about 300 bytes per user."""
    histories: dict[str, _FirstHistory] = {}
    for impression in _impressions(path, None):
        this = _FirstHistory(impression.time, impression.line, hash(impression.history))
        histories[impression.user_id] = min(histories.get(impression.user_id, this), this)
    return histories


def _impressions(path: Path, notes: Notes | None) -> Iterator[_Impression]:
    """The valid impressions; invalid lines are noted if there are `notes`."""
    for line, fields in _tabbed(path):
        try:
            if len(fields) != 5:
                raise RowFault("wrong number of fields", f"{len(fields)} fields instead of 5")
            name, user, time, history, candidates = fields
            if not user:
                raise RowFault("no user id", "the user id is empty")
            yield _Impression(line, name, user, _time(time), history, candidates)
        except RowFault as fault:
            if notes is not None:
                notes.skip(line, fault.kind, f"{fault.text}; row left out")


def _time(text: str) -> datetime:
    """`11/15/2019 8:55:22 AM` as a time; the release names no time zone, so UTC is assumed. Raises RowFault."""
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        month, day, year, hour, minute, second = map(int, match.groups()[:6])
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if match[7] == "P" else 0)
        return datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:
        raise RowFault("bad time", f"time {shown(text)} is not written as 11/15/2019 8:55:22 AM") from None


def _clicked(impression: _Impression) -> tuple[list[str], bool]:
    """The clicked items, and whether the impression records clicks (those of the test set do not)."""
    candidates = [_candidate(token) for token in impression.candidates.split()]
    return [item for item, label in candidates if label == "1"], any(label for _, label in candidates)


def _candidate(token: str) -> tuple[str, str]:
    """`N123-1` as (N123, 1); `N123` as (N123, '')."""
    item, dash, label = token.rpartition("-")
    return (item, label) if dash and item and label in ("0", "1") else (token, "")


def _tabbed(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank; quotation marks are plain characters."""
    for line, text in enumerate(text_lines(path), start=1):
        if not text.isspace():
            yield line, [field.strip() for field in text.rstrip("\r\n").split("\t")]


def _role(sample: Sample) -> str:
    return next((role for role, looks in _LOOKS.items() if most_lines_match(sample, looks)), "")


def _is_training(path: Path) -> bool:
    return path.absolute().parent.name.lower().endswith("train")


_ROLES: dict[ImportKind, tuple[str, Callable[[Request], Iterator[LocatedRecord]]]] = {
    "items": ("news", _news),
    "events": ("behaviors", _evaluation),
    "lists": ("predictions", _lists),
}


def _fits(sample: Sample, kind: ImportKind) -> bool:
    return kind in _ROLES and _role(sample) == _ROLES[kind][0]


def _fits_training(sample: Sample, kind: ImportKind) -> bool:
    return kind == "events" and _is_training(sample.path) and _role(sample) == "behaviors"


def _read(request: Request) -> Iterator[LocatedRecord]:
    role, read = _ROLES[request.kind]
    _expect(role, request)
    return read(request)


def _read_training(request: Request) -> Iterator[LocatedRecord]:
    _expect("behaviors", request)
    return _training(request)


def _expect(role: str, request: Request) -> None:
    sample = sample_of(request.path)
    if (role_found := _role(sample)) == role:
        return
    first = next((line for line in sample.text.splitlines() if line.strip()), "")
    cause = f"Its lines look like {role_found}." if role_found else f"Found: {shown(first)}."
    forms = {
        "news": "news id, category, subcategory, title, abstract, … between tabs",
        "behaviors": "impression id, user id, time (11/15/2019 8:55:22 AM), history, candidates between tabs",
        "predictions": "an impression's id and the ranks of its candidates, such as “7 [2,1,3]”",
    }
    raise InputError(
        f"{request.path}:1: not MIND's {role}",
        f"{cause} Wanted: {forms[role]}.",
        "Choose another --as, or leave out --layout to have the layout detected.",
    )


MIND = Layout(
    name="mind",
    kinds=("items", "events", "lists"),
    about="news.tsv, behaviors.tsv and prediction.txt of MIND, every impression as a context",
    fits=_fits,
    read=_read,
    names=("news.tsv", BEHAVIORS, "*prediction*.txt"),
    beside=("lists",),
    split_by_name=False,
    has_header=False,
)
MIND_TRAIN = Layout(
    name="mind-train",
    kinds=("events",),
    about="the behaviors.tsv of a folder whose name ends in “train”: every click as shown history",
    fits=_fits_training,
    read=_read_training,
    names=(BEHAVIORS,),
    split_by_name=False,
    has_header=False,
)
