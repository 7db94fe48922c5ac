"""MIND, the Microsoft News dataset: behaviors.tsv and the prediction.txt of a system; news.tsv is a table (layouts/).

Every impression is an occasion: its id is the context, its time is when the list was served. Its clicks become
`heldout_click` of this context, and a system's ranking of its candidates becomes the list. The history of the user's first
impression becomes events of type `click` (oldest first, without a time). In a training log (layout `mind-train`) every
click becomes an event of type `click`, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.importers.layout import Layout, Request
from recjudge_tui.importers.reader import Sample, bare_name, lines_match, sample_of, text_lines
from recjudge_tui.importers.values import Notes, Row, RowFault, formatted, refusal, refuse, stop_if

BEHAVIORS = "behaviors.tsv"
_FORM = "%m/%d/%Y %I:%M:%S %p"
_IMPRESSION = re.compile(
    r"[^\t]*\t[^\t]+\t\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d:\d\d [AP]M\t[^\t]*\t[^\t]*", re.ASCII
)
_PREDICTION = re.compile(r"\S+\s+\[\s*\d+(\s*,\s*\d+)*\s*\]\s*", re.ASCII)


class _Impression(NamedTuple):
    """One line of behaviors.tsv. `history` and `candidates` are as written, between spaces."""

    line: int
    name: str
    user_id: str
    time: str
    history: str
    candidates: str

    @property
    def items(self) -> list[tuple[str, str]]:
        """The candidates, each with whether it was clicked: `N123-1` is (N123, 1), `N123` is (N123, '')."""
        parts = (token.rpartition("-") for token in self.candidates.split())
        return [(a, b) if dash and a and b in ("0", "1") else (f"{a}{dash}{b}", "") for a, dash, b in parts]


def _impressions(path: Path, notes: Notes | None = None) -> Iterator[_Impression]:
    """The valid impressions; invalid lines are noted if there are `notes`. The release names no time zone: UTC is
    assumed. Quotation marks are plain characters."""
    for line, text in enumerate(text_lines(path), start=1):
        fields = [field.strip() for field in text.rstrip("\r\n").split("\t")]
        if not any(fields):
            continue
        try:
            refuse(len(fields) != 5, "wrong number of fields", f"{len(fields)} fields instead of 5")
            refuse(not fields[1], "no user id", "the user id is empty")
            fields[2] = formatted(fields[2], _FORM, "bad time")
            yield _Impression(line, *fields)
        except RowFault as fault:
            if notes is not None:
                notes.skip_row(line, fault)


def _events(request: Request, *, training: bool = False) -> Iterator[Row]:
    first: dict[str, tuple[str, int, int]] = {}
    for impression in _impressions(request.path):
        this = (impression.time, impression.line, hash(impression.history))
        first[impression.user_id] = min(first.get(impression.user_id, this), this)
    changed: set[str] = set()
    for impression in _impressions(request.path, request.notes):
        user, line = impression.user_id, impression.line
        _, first_line, history = first[user]
        if first_line == line:
            for item in impression.history.split():
                yield line, {"user_id": user, "type": "click", "item_id": item}
        if not training and user not in changed and hash(impression.history) != history:
            changed.add(user)
            request.notes.warn(line, "changing history", name=user)
        if not training and not any(label for _, label in impression.items):
            request.notes.warn(line, "clicks not given", name=impression.name)
        about = {"type": "click"} if training else {"type": "heldout_click", "context": impression.name}
        for item, label in impression.items:
            if label == "1":
                yield line, {"user_id": user, "item_id": item, "timestamp": impression.time, **about}


def _lists(request: Request) -> Iterator[Row]:
    name = bare_name(request.path).removesuffix(".txt")
    system = request.system or re.sub("predictions?", "", name, flags=re.IGNORECASE).strip("._- ")
    stop_if(not system, "no-system", path=request.path)
    given = [path for path in request.beside if lines_match(sample_of(path), _IMPRESSION)]
    near = [path for path in given if path.parent == request.path.parent]
    beside = (request.path.with_name(name) for name in (BEHAVIORS, f"{BEHAVIORS}.gz"))
    paths = near or [path for path in given if not _is_training(path)] or given
    paths = paths or [path for path in beside if path.is_file()][:1]
    stop_if(not paths, "behaviors", path=request.path)
    stop_if(len(paths) > 1, "several-behaviors", path=request.path, paths=paths)
    behaviors = paths[0]
    impressions = _impressions(behaviors)
    passed: dict[str, _Impression] = {}
    for line, text in enumerate(text_lines(request.path), start=1):
        if not text.strip():
            continue
        stop_if(not _PREDICTION.fullmatch(text), "prediction", path=request.path, line=line, text=text)
        name, written = text.split(None, 1)
        ranks = [int(rank) for rank in written.strip()[1:-1].split(",")]
        # little memory is needed if both files have the same order, as they usually do
        while name not in passed:
            if (following := next(impressions, None)) is None:
                raise refusal("no-impression", path=request.path, line=line, name=name, behaviors=behaviors)
            passed[following.name] = following
        impression = passed.pop(name)
        items = [item for item, _ in impression.items]
        if fault := _rank_fault(ranks, count := len(items)):
            about = {"fault": fault, "at": impression, "of": behaviors, "count": count}
            raise refusal("ranks", path=request.path, line=line, **about)
        best: dict[str, int] = {}
        for rank, item in sorted(zip(ranks, items, strict=True)):
            best.setdefault(item, rank)
        owner = {"user_id": impression.user_id, "system": system}
        occasion = {"context": name, "served_at": impression.time}
        for place, (item, rank) in enumerate(best.items(), start=1):
            # as in the dataset's own evaluation, the score is 1/rank
            yield line, {**owner, **occasion, "item_id": item, "rank": str(place), "score": repr(1 / rank)}
    if waiting := len(passed) + sum(1 for _ in impressions):
        request.notes.warn(1, "impressions without a prediction", count=waiting, path=behaviors)


def _rank_fault(ranks: list[int], candidates: int) -> str:
    if len(ranks) != candidates:
        return f"{len(ranks)} ranks for {candidates} candidates"
    if sorted(ranks) == list(range(1, candidates + 1)):
        return ""
    twice = (f"rank {rank} occurs twice" for rank in ranks if ranks.count(rank) > 1)
    beyond = (f"rank {rank} of {candidates}" for rank in ranks if not 1 <= rank <= candidates)
    return next(chain(twice, beyond), "")


def _is_training(path: Path) -> bool:
    return path.absolute().parent.name.lower().endswith("train")


def _fits(sample: Sample, kind: str) -> bool:
    form = {"events": _IMPRESSION, "lists": _PREDICTION}.get(kind)
    return form is not None and lines_match(sample, form)


MIND = Layout(
    name="mind",
    kinds=("events", "lists"),
    about="behaviors.tsv and prediction.txt of MIND, every impression as a context",
    fits=_fits,
    rows=lambda request: _lists(request) if request.kind == "lists" else _events(request),
    names=(BEHAVIORS, "*prediction*.txt"),
    beside=("lists",),
    split_by_name=False,
    has_header=False,
)
MIND_TRAIN = MIND._replace(
    name="mind-train",
    kinds=("events",),
    about="the behaviors.tsv of a folder whose name ends in “train”: every click as shown history",
    fits=lambda sample, kind: kind == "events" and _is_training(sample.path) and _fits(sample, kind),
    rows=lambda request: _events(request, training=True),
    names=(BEHAVIORS,),
    beside=(),
)
