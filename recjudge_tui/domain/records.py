"""The records of import files, one for each row. Ids are text, never numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from recjudge_tui.domain.annotation import AS_GIVEN, ItemFlag
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.scales import Scale

ImportKind = Literal["items", "users", "events", "lists", "explanations", "labels"]
IMPORT_KINDS: tuple[ImportKind, ...] = ("items", "users", "events", "lists", "explanations", "labels")


class Item(NamedTuple):
    """`image` is as in the file: a path in its folder, a `data:` URI or an http(s) address. In the database it is a
    digest."""

    item_id: str
    title: str
    brand: str = ""
    category: str = ""
    attributes: Mapping[str, str] = {}
    image: str = ""


class User(NamedTuple):
    user_id: str
    attributes: Mapping[str, str] = {}


class Event(NamedTuple):
    """One thing a user did. `timestamp` is ISO 8601 in UTC (`2024-05-01T12:00:00+00:00`) or empty. A search has a `text`
    instead of an item. Types beginning `heldout_` are never shown to a judge. An event with a `context` or `served_at`
    concerns only the lists of that occasion."""

    user_id: str
    type: str
    item_id: str = ""
    text: str = ""
    timestamp: str = ""
    value: float | None = None
    context: str = ""
    served_at: str = ""


class RankedItem(NamedTuple):
    item_id: str
    score: float | None = None


class Slate(NamedTuple):
    """One system's ranked list for one user on one occasion, best first; ranks count from 1. `context` is empty if the
    data has none; `served_at` is ISO 8601 in UTC, empty if unknown."""

    user_id: str
    system: str
    items: tuple[RankedItem, ...]
    context: str = ""
    served_at: str = ""


class Explanation(NamedTuple):
    user_id: str
    item_id: str
    system: str
    text: str
    reference: str = ""
    attributes: Mapping[str, str] = {}
    context: str = ""
    served_at: str = ""


class Game(NamedTuple):
    """One judgement of a pair in one order. `first`: which of the record's systems was shown first. `value` is 1 where
    `system_a` won, 0 for a tie, -1 where `system_b` won, None if the judgement failed."""

    first: Literal["a", "b"]
    value: float | None


class Label(NamedTuple):
    """One rater's verdict on one case, as imported. `system_a` and `system_b` are filled for a pair, `system` alone for a
    list, with `item_id` for an explanation. `value` is on the protocol's scale (A/Tie/B = 1/0/-1, A the first of the two by
    name), None if the answer failed. `context`, `served_at`: on which occasion; a `case_id` names the case. Without a
    `rater_kind` the name decides (`roles.kind_by_name`). `rule`: how it became a verdict. `scale`: its aspect's, where the
    file gives one. `games`: the judgements of a pair by order, from which the value follows. `turned`: the file names the
    systems in the other order."""

    rater: str
    value: float | None
    aspect: str = OVERALL
    label: str = ""
    system: str = ""
    system_a: str = ""
    system_b: str = ""
    protocol: str = ""
    rater_kind: RaterKind | None = None
    rule: str = AS_GIVEN
    games: tuple[Game, ...] = ()
    scale: Scale | None = None
    user_id: str = ""
    item_id: str = ""
    context: str = ""
    served_at: str = ""
    note: str = ""
    flags: tuple[ItemFlag, ...] = ()
    task: str = ""
    case_id: int | None = None
    turned: bool = False
