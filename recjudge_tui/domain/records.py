"""The records of import files, one for each row. Ids are text, never numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from recjudge_tui.domain.annotation import AS_GIVEN
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


class LabelFlag(NamedTuple):
    item_id: str
    issue: str
    reason: str = ""


class Game(NamedTuple):
    """One judgement of a pair in one order. `first`: which of the record's systems was shown first. `value` is 1 where
    `system_a` won, 0 for a tie, -1 where `system_b` won, None if the judgement failed."""

    first: Literal["a", "b"]
    value: float | None


class Label(NamedTuple):
    """One rater's verdict on one case, as imported.

    The columns that are filled say what was judged: `system_a` and `system_b` a pair of lists, `system` alone one list,
    `system` and `item_id` an explanation. `value` is a number on the protocol's scale (A/Tie/B = 1/0/-1, where A is
    `system_a`, the first of the two by name). `context` and `served_at` say on which occasion, where
    the user has several. With a `case_id` it is that case, whatever is current. Without a `rater_kind`, the rater's name
    decides (`roles.kind_by_name`). `value` is None if the answer failed: it was asked for and could not be read. `rule`
    says how it became a verdict. `scale` is that of its aspect where the file gives one. `games` are the judgements of a
    pair by order, where the file tells them; the value follows from them."""

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
    flags: tuple[LabelFlag, ...] = ()
    task: str = ""
    case_id: int | None = None
