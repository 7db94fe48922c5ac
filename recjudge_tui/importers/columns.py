"""The columns of plain tables, and their other names in people's files."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.importers.reader import WantedColumns, squashed


class Columns(NamedTuple):
    """The required and optional columns of a kind; `ids` are stripped, `filled` must not be empty in any row."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    ids: tuple[str, ...]
    filled: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return self.required + self.optional


# where and when a list or text was shown; for an event or label, which list or text it is about
OCCASION = ("context", "served_at")
# an exported annotation task, which replaces the rater and all columns that name a case
TASK = "task_id"
# a case of the project, which replaces all columns that name a case
CASE = "case_id"
COLUMNS: dict[ImportKind, Columns] = {
    "items": Columns(("item_id", "title"), ("brand", "category", "image"), ("item_id",), ("item_id", "title")),
    "users": Columns(("user_id",), (), ("user_id",), ("user_id",)),
    "events": Columns(
        ("user_id", "type"),
        ("item_id", "text", "timestamp", "value", *OCCASION),
        ("user_id", "item_id", "type", "context"),
        ("user_id", "type"),
    ),
    "lists": Columns(
        ("user_id", "system", "item_id"),
        ("rank", "score", "distance", "items", "scores", *OCCASION),
        ("user_id", "system", "item_id", "context"),
        ("user_id", "system"),
    ),
    "explanations": Columns(
        ("user_id", "item_id", "system", "text"),
        ("reference", *OCCASION),
        ("user_id", "item_id", "system", "context"),
        ("user_id", "item_id", "system", "text"),
    ),
    "labels": Columns(
        ("rater", "user_id", "value"),
        (
            *("item_id", "system", "system_a", "system_b", "aspect", "protocol", "rater_kind", "flags", "note"),
            *("state", TASK, CASE, *OCCASION),
            *("wins", "ties", "losses", "failed", "battles", "shown_first", "verdict_1", "verdict_2", "scale", "rule"),
        ),
        ("rater", "user_id", "item_id", "system", "system_a", "system_b", "context", TASK, CASE),
        ("rater", "user_id"),
    ),
}  # fmt: skip
# columns that hold a number
NUMBERS = ("rank", "score", "distance", "value")
KNOWN: dict[ImportKind, tuple[str, ...]] = {kind: columns.all for kind, columns in COLUMNS.items()}
SYSTEM_KINDS: tuple[ImportKind, ...] = ("lists", "explanations")
# kinds whose other columns become attributes
_WITH_ATTRIBUTES: tuple[ImportKind, ...] = ("items", "users", "explanations")

USER = (
    "userid",
    "uid",
    "user",
    "u",
    "reviewerid",
    "customerid",
    "customer",
    "visitorid",
    "accountid",
    "memberid",
    "qid",
    "queryid",
)
ITEM = (
    "itemid", "iid", "item", "i", "movieid", "productid", "product", "asin", "businessid", "articleid", "newsid",
    "bookid", "songid", "trackid", "videoid", "docid", "docno", "documentid", "contentid", "sku", "recommendeditem",
)  # fmt: skip
# means the item if no column has a clearer name; in a catalogue it is often beside the id
ISBN = ("isbn", "isbn13")
# always a model's own estimate
PREDICTION = (
    "prediction", "predict", "predicted", "predictedscore", "predictedrating", "pred", "est", "estimate",
)  # fmt: skip
SCORE = ("score", *PREDICTION, "rankscore", "rankingscore")
# the lower, the better
DISTANCE = ("distance", "distances", "dist")
# a whole list in a cell
LIST = (
    "items", "itemids", "itemlist", "recommendations", "recommendeditems", "recommendationlist", "recs", "reclist",
    "list", "slate", "ranking", "rankeditems", "rankedlist", "topk", "topn", "topitems", "predictions", "predicteditems",
    "preds", "recitems", "ids", "recids", "recommendedids", "topids",
)  # fmt: skip
RANK = ("rank", "position", "pos", "itemrank")
RATING = ("rating", "ratings", "stars", "rui", "bookrating")
TIME = (
    "timestamp", "time", "ts", "datetime", "date", "eventtime", "createdat", "unixreviewtime", "unixtimestamp",
)  # fmt: skip
TYPE = ("type", "eventtype", "event", "action", "actiontype", "behavior", "behaviour", "behaviortype")
SYSTEM = (
    "system", "systemname", "model", "modelname", "algorithm", "algorithmname", "algo", "recommender",
)  # fmt: skip
TITLE = (
    "title",
    "name",
    "itemname",
    "itemtitle",
    "movietitle",
    "productname",
    "producttitle",
    "booktitle",
    "headline",
)
EXPLANATION = ("explanation", "explanationtext")
RATER = ("rater", "raterid", "annotator", "annotatorid", "assessor", "worker", "workerid", "judge", "judgeid")

_OCCASION = {
    "context": (
        "session", "sessionid", "impression", "impressionid", "placement", "queryid", "qid", "topic", "requestid",
    ),
    "served_at": ("servedat", "shownat"),
}  # fmt: skip

# kind -> its columns, each with its squashed aliases, most likely first
ALIASES: dict[ImportKind, dict[str, tuple[str, ...]]] = {
    "items": {
        "item_id": (*ITEM, "id", *ISBN),
        "title": TITLE,
        "category": ("categories", "genre", "genres"),
        "image": ("imagepath", "imagefile", "imageurl"),
    },
    "users": {"user_id": (*USER, "id")},
    "events": {
        "user_id": USER,
        "item_id": (*ITEM, *ISBN),
        "type": TYPE,
        "timestamp": TIME,
        "value": (*RATING, "score"),
        "text": ("query", "searchquery", "searchterm"),
        **_OCCASION,
    },
    "lists": {
        "user_id": USER,
        "item_id": (*ITEM, *ISBN),
        "system": SYSTEM,
        "rank": RANK,
        "score": (*SCORE, *RATING),
        "distance": DISTANCE,
        "items": LIST,
        "scores": ("itemscores", "recommendationscores", "recscores", "predscores", "predictionscores"),
        **_OCCASION,
        "served_at": (*_OCCASION["served_at"], *TIME),
    },
    "explanations": {"user_id": USER, "item_id": ITEM, "system": SYSTEM, "text": EXPLANATION, **_OCCASION},
    "labels": {
        "rater": RATER,
        "user_id": (*USER, "questionid", "promptid"),
        "item_id": ITEM,
        "system": SYSTEM,
        "system_a": ("systema", "modela", "model1", "system1"),
        "system_b": ("systemb", "modelb", "model2", "system2", "opponent"),
        "value": ("label", "answer", "verdict", "rating", "score", "preference", "winner", "choice"),
        "aspect": ("dimension", "criterion"),
        # a table of counts
        "wins": ("win", "won", "winsa", "awins", "winsofa"),
        "ties": ("tie", "tied", "draws", "draw"),
        "losses": ("loss", "lose", "loses", "lost", "winsb", "bwins", "winsofb"),
        "battles": ("n", "games", "total"),
        # the judgements of a pair by order
        "shown_first": ("first", "firstsystem", "firstmodel", "order", "listorder"),
        "verdict_1": ("g1winner", "winner1", "game1", "game1winner"),
        "verdict_2": ("g2winner", "winner2", "game2", "game2winner"),
        "note": ("comment", "comments", "remark"),
        **_OCCASION,
        "context": (*_OCCASION["context"], "turn"),
    },
}


def wanted_columns(kind: ImportKind) -> WantedColumns:
    return WantedColumns(KNOWN[kind], ALIASES[kind])


def has(names: Collection[str], aliases: Collection[str]) -> bool:
    """Whether one of the squashed column names is among the aliases."""
    return any(name in aliases for name in names)


_NUMBERED = re.compile(r"(|rec|recs|item|itemid|top|rank|pos|position|recommendation|recommended|iid)(\d+)")


def numbered(columns: Collection[str]) -> list[str]:
    """The columns of a wide table in order (`rec1`, `rec2`, ...), numbered from 0 or 1 without a gap; empty for any
    other table.
    """
    series: dict[str, dict[int, str]] = {}
    for column in columns:
        if match := _NUMBERED.fullmatch(squashed(column)):
            series.setdefault(match[1], {})[int(match[2])] = column
    for places in series.values():
        first = min(places)
        if len(places) > 1 and first in (0, 1) and max(places) == first + len(places) - 1:
            return [places[place] for place in sorted(places)]
    return []


_LENGTH = re.compile(
    r"(top|rec|recs|recommendation|recommendations|recommended)\d+(items|recs|recommendations)?"
)


def named_by_length(columns: Collection[str]) -> str:
    """The only column whose name is a length of lists (`top_5`, `recs10`); empty if there are none or several."""
    names = [column for column in columns if _LENGTH.fullmatch(squashed(column))]
    return names[0] if len(names) == 1 else ""


def list_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of a table of lists, where a column named by the length of lists holds them, and `id` beside whole lists
    is that of the user.
    """
    names = list(columns)
    if not {"items", "item_id"} & set(names) and (holder := named_by_length(names)):
        names[names.index(holder)] = "items"
    if "user_id" not in names and "item_id" not in names and ("items" in names or numbered(names)):
        names = ["user_id" if name.lower() == "id" else name for name in names]
    return tuple(names)


def gap(columns: Collection[str]) -> str:
    """A sentence on the gap that keeps the numbered columns from being a wide table; empty if there is none."""
    places: dict[str, dict[int, str]] = {}
    for column in columns:
        if match := _NUMBERED.fullmatch(squashed(column)):
            places.setdefault(match[1], {})[int(match[2])] = column
    for series in places.values():
        numbers = sorted(series)
        for last, following in pairwise(numbers):
            if following > last + 1:
                return (
                    f"The numbered columns have a gap: “{one_line(series[last], 60)}” is followed by"
                    f" “{one_line(series[following], 60)}”."
                )
    return ""


def uses(kind: ImportKind, original: Collection[str], plain: Collection[str]) -> str:
    """One line that says how each column of a file was read: `uid as user_id, rank; ignored: x`."""
    known, wide = KNOWN[kind], set(numbered(plain)) if kind == "lists" else set()
    pairs = list(zip(original, plain, strict=True))
    taken = [new if old == new else f"{old} as {new}" for old, new in pairs if new in known]
    if wide:
        first, *_, last = (old for old, new in pairs if new in wide)
        taken.append(f"{first} to {last} as the positions of the list")
    rest = [old for old, new in pairs if old and new not in known and new not in wide]
    others = "attributes" if kind in _WITH_ATTRIBUTES else "ignored"
    return ", ".join(taken) + (f"; {others}: {', '.join(rest)}" if rest else "")
