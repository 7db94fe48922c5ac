"""The ground truth of a list: the held-out events that name its occasion, or else those of its user."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

# user, context, time; None: one that no held-out event of the user names
TruthKey = tuple[str, str | None, str | None]


class HeldOut(NamedTuple):
    """One held-out event on an item. `mean` is the user's mean value over all valued events, shown and held out; None
    where every value above 0 is relevant.

    `context` and `served_at` name the occasion that it is about; empty: any.
    """

    item_id: str
    value: float | None
    mean: float | None
    context: str = ""
    served_at: str = ""


class GroundTruth(NamedTuple):
    """The ground truth of one list: the relevant items, and the gain of every held-out item: its value, 0 if that is
    negative (as in trec_eval), 1 if it has none."""

    relevant: frozenset[str]
    gains: Mapping[str, float]
    valued: bool


NOTHING = GroundTruth(frozenset(), {}, False)


def ground_truth(events: Iterable[HeldOut], relevant_from: float | None = None) -> GroundTruth:
    """Relevance and gains from held-out events of one user, oldest first.

    An item is relevant if it has an event without a value, or with a value of at least `relevant_from`; None: above 0 and
    at least the user's mean (in files of judgements 0 means "not relevant"). Of several values of an item the last counts.
    """
    gains: dict[str, float] = {}
    relevant: set[str] = set()
    valued = False
    for event in events:
        item, value = event.item_id, event.value
        if value is None:
            gains.setdefault(item, 1.0)
            relevant.add(item)
            continue
        valued = True
        gains[item] = max(0.0, value)
        if relevant_from is None:
            # rounding may put the mean of equal values slightly above them
            high = event.mean is None or value >= event.mean or math.isclose(value, event.mean)
            is_relevant = value > 0 and high
        else:
            is_relevant = value >= relevant_from
        if is_relevant:
            relevant.add(item)
    return GroundTruth(frozenset(relevant), gains, valued)


def truths_of(
    held_out: Mapping[str, Iterable[HeldOut]], relevant_from: float | None = None
) -> dict[TruthKey, GroundTruth]:
    """The truths of all lists; `truth_key` finds a list's. `held_out`: user -> events, oldest first.

    - A list with a context has the events that name it; where none does, those that name no context.
    - A list without a context has all events of its user.
    - Of these, an event that names a time counts for lists of that time, and for lists without one.
    """
    return {
        (user, context, time): ground_truth(chosen, relevant_from)
        for user, events in held_out.items()
        for context, here in _by_context(list(events))
        for time, chosen in _by_time(here)
    }


def truth_key(known: Container[TruthKey], user: str, context: str, served_at: str) -> TruthKey | None:
    """The key of a list's truth among the `known` ones; None if nothing is held out for its user."""
    for where in (context, None, ""):
        for time in (served_at, None, ""):
            if (user, where, time) in known:
                return user, where, time
    return None


def _by_context(events: Sequence[HeldOut]) -> Iterator[tuple[str | None, Sequence[HeldOut]]]:
    yield "", events
    named: dict[str, list[HeldOut]] = {}
    for event in events:
        named.setdefault(event.context, []).append(event)
    unnamed = named.pop("", [])
    if named:
        yield None, unnamed
        yield from named.items()


def _by_time(events: Sequence[HeldOut]) -> Iterator[tuple[str | None, Sequence[HeldOut]]]:
    yield "", events
    times = {event.served_at for event in events} - {""}
    if times:
        yield None, [event for event in events if not event.served_at]
    for time in times:
        yield time, [event for event in events if event.served_at in ("", time)]
