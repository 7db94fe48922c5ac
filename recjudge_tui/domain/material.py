"""The material of one case that a judge is shown, as snapshots that never change once stored."""

from __future__ import annotations

from functools import cached_property
from json.encoder import encode_basestring
from typing import Literal, NamedTuple

from pydantic import Field
from pydantic_core import to_json

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.text import quantity

CaseKind = Literal["list", "pair", "explanation"]


def json_text(value: object) -> str:
    """The value as in the JSON of a model."""
    if isinstance(value, str):
        return encode_basestring(value)
    return to_json(value, inf_nan_mode="null").decode()


class ImageView(Model):
    """A stored image. `digest` is the SHA-256 (hex) of its bytes, which are JPEG; the sizes are in pixels."""

    digest: str
    width: int
    height: int


class ItemView(Model):
    """An item as it was when the run was planned. `image` is set only if the judge is shown it."""

    item_id: str
    title: str
    brand: str = ""
    category: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    image: ImageView | None = None

    @cached_property
    def characters(self) -> int:
        """The approximate length of the item in a prompt."""
        return len(self.title) + len(self.category) + len(self.brand) + 30

    @cached_property
    def compact_json(self) -> str:
        """The JSON of the item in a snapshot, cached because the same item is in thousands of snapshots."""
        return self.model_dump_json(exclude_defaults=True)


class ShownEvent(Model):
    """One event with its item resolved; `timestamp` ISO 8601 UTC or empty; `text` the words of a search. `scale` has the
    lowest and the highest possible value, if the data's layout defines them."""

    type: str
    timestamp: str = ""
    item: ItemView | None = None
    text: str = ""
    value: float | None = None
    scale: tuple[float, float] | None = None

    @cached_property
    def compact_json(self) -> str:
        """The JSON of the event in a snapshot, cached because several occasions of a user show the same event. It equals
        `model_dump_json` without defaults, and includes the item's JSON unchanged."""
        fields = [f'"type":{json_text(self.type)}']
        if self.timestamp:
            fields.append(f'"timestamp":{json_text(self.timestamp)}')
        if self.item is not None:
            fields.append(f'"item":{self.item.compact_json}')
        if self.text:
            fields.append(f'"text":{json_text(self.text)}')
        if self.value is not None:
            fields.append(f'"value":{json_text(self.value)}')
        if self.scale is not None:
            fields.append(f'"scale":{json_text(self.scale)}')
        return f"{{{','.join(fields)}}}"


class UserView(Model):
    """A user and their events within the window, newest first: purchases, ratings and such (`history`), `searches`,
    `clicks`, all `others`; `browsed` names of categories, `preferences` short statements from recent activity. `as_of`: the
    end of the window (ISO 8601 UTC; empty when no event has a time). `profile`: a text that a model wrote, if the run
    asked."""

    user_id: str
    attributes: dict[str, str] = Field(default_factory=dict)
    as_of: str = ""
    history: tuple[ShownEvent, ...] = ()
    searches: tuple[ShownEvent, ...] = ()
    clicks: tuple[ShownEvent, ...] = ()
    others: tuple[ShownEvent, ...] = ()
    browsed: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    profile: str = ""


def undated_text(user: UserView, served_at: str) -> str:
    """A note that events without a time are shown, which may be later than the list. Empty if the time of the list is
    unknown, or all events have a time."""
    shown = (*user.history, *user.searches, *user.clicks, *user.others)
    undated = sum(not event.timestamp for event in shown)
    if not served_at or not undated:
        return ""
    return f"{undated} of {quantity(len(shown), 'event')} have no time and may be later than the list"


def bounds(length: int) -> tuple[int, int]:
    """How many fitting items make a list of this length good and partial: ceil(0.7 n) and ceil(0.4 n), by integer
    arithmetic: 10 → (7, 4), 5 → (4, 2), 7 → (5, 3)."""
    return -(-7 * length // 10), -(-4 * length // 10)


class SlateView(Model):
    """The top K of one list, best first. It does not name the system, which a judge must not see."""

    items: tuple[ItemView, ...]


class ExplanationView(Model):
    """A text that explains a recommendation. Of an example: its `scores` by aspect, whether all users have the same one
    (`one`) or their own (`personal`), and whether the scores are those of its reader (`own_scores`)."""

    item: ItemView
    text: str
    scores: dict[str, float] = Field(default_factory=dict)
    form: Literal["", "one", "personal"] = ""
    own_scores: bool = False


class CaseViews(NamedTuple):
    """The fields of a Material while a run is planned, which may have a hundred thousand of them."""

    kind: CaseKind
    user: UserView
    slates: tuple[SlateView, ...]
    explanation: ExplanationView | None
    example: ExplanationView | None
    top_k: int


class Material(Model):
    """Everything shown about one case. `slates` are in the order of the case's systems (a, then b). A slate may be
    shorter than `top_k`. `example` is the scored example of a one-shot question about an explanation."""

    kind: CaseKind
    user: UserView
    slates: tuple[SlateView, ...] = ()
    explanation: ExplanationView | None = None
    example: ExplanationView | None = None
    top_k: int = 10

    def items_with_images(self) -> tuple[ItemView, ...]:
        """The judged items whose images are shown, in the order shown."""
        items = [item for slate in self.slates for item in slate.items]
        if self.explanation is not None:
            items.append(self.explanation.item)
        return tuple(item for item in items if item.image is not None)

    def swapped(self) -> Material:
        """The same case with the two lists in the other order; of two texts about it, the one given in that order."""
        text = self.example or self.explanation
        return self.model_copy(update={"slates": self.slates[::-1], "explanation": text})
