"""Selects the cases of a run: every list, pair of lists or explanation of the named users and systems."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, groupby
from operator import attrgetter
from typing import NamedTuple

from recjudge_tui.domain.material import CaseKind, ItemView
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, compared_times, earlier
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.runs.plan.stratify import stratified
from recjudge_tui.store.cases import CaseKey, check_contexts
from recjudge_tui.store.data import (
    CurrentSlate,
    check_judgeable,
    current_explanations,
    current_slates,
    explanation_systems,
    systems,
)
from recjudge_tui.store.database import Database

_occasion = attrgetter("context", "served_at")


class Selection(NamedTuple):
    """Cases by user, and the number of cases left out by reason.

    `made`: items in their lists that are not in the catalogue.
    """

    by_user: list[tuple[str, list[CaseKey]]]
    left_out: Counter[str]
    made: tuple[ItemView, ...] = ()


def select_cases(db: Database, project_id: int, kind: CaseKind, settings: RunSettings) -> Selection:
    """The cases in the order they will be judged: user by user, users by name or in the random order of `seed`."""
    chosen, occasions = chosen_systems(db, project_id, settings, kind), settings.occasions
    check_contexts(db, project_id, occasions)
    left_out: Counter[str] = Counter()
    if kind == "explanation":
        keys_by_user = _explanations(db, project_id, chosen)
    else:
        keys_by_user = {
            user_id: [
                key
                for here in _served(slates, occasions)
                for key in _of_context(kind, user_id, here, chosen, settings.baseline, left_out)
            ]
            for user_id, slates in current_slates(db, project_id).items()
        }
    by_user: list[tuple[str, list[CaseKey]]] = []
    for user_id, keys in keys_by_user.items():
        kept = _asked_for(keys, occasions, left_out)
        if kept:
            by_user.append((user_id, sorted(kept, key=_occasion)))
    return Selection(_drawn(db, project_id, by_user, settings), left_out)


def _served(slates: list[CurrentSlate], occasions: OccasionFilter) -> Iterator[list[CurrentSlate]]:
    """The lists of a user by context, if any can be chosen.

    Pairs are formed before times are filtered, so that a filter never creates pairs that do not exist without it.
    """
    for context, group in groupby(slates, key=attrgetter("occasion.context")):
        here = list(group)
        if occasions == EVERY_OCCASION:
            yield here
            continue
        times = {slate.occasion.served_at for slate in here}
        if occasions.has_context(context) and any(not time or occasions.has_time(time) for time in times):
            yield here


def _asked_for(keys: list[CaseKey], occasions: OccasionFilter, left_out: Counter[str]) -> list[CaseKey]:
    """The cases of these occasions; if a time is chosen, cases without a time are counted."""
    if occasions == EVERY_OCCASION:
        return keys
    here = [key for key in keys if occasions.has_context(key.context)]
    if occasions.is_timed and (untimed := sum(not key.served_at for key in here)):
        left_out["case without served_at, because a time was chosen"] += untimed
    return [key for key in here if occasions.has_time(key.served_at)]


def _drawn(
    db: Database, project_id: int, by_user: list[tuple[str, list[CaseKey]]], settings: RunSettings
) -> list[tuple[str, list[CaseKey]]]:
    if settings.sample is None and not settings.until:
        return by_user
    random.Random(settings.seed).shuffle(by_user)
    drawn = stratified(db, project_id, by_user, settings)
    return drawn if settings.until else _in_rounds(drawn, settings.seed)


def _in_rounds(drawn: list[tuple[str, list[CaseKey]]], seed: int) -> list[tuple[str, list[CaseKey]]]:
    """One occasion of each user, then another one of each, so that a sample does not consist of many occasions of a
    few users. The order of a user's occasions is random and does not depend on the other users in the project.
    """
    rounds: list[list[tuple[str, list[CaseKey]]]] = []
    for user_id, keys in drawn:
        occasions = [list(group) for _, group in groupby(keys, key=_occasion)]
        if len(occasions) > 1:
            random.Random(f"{seed}/{user_id}").shuffle(occasions)
        for place, here in enumerate(occasions):
            if place == len(rounds):
                rounds.append([])
            rounds[place].append((user_id, here))
    return [entry for entries in rounds for entry in entries]


def _explanations(db: Database, project_id: int, chosen: list[str]) -> dict[str, list[CaseKey]]:
    by_user: dict[str, list[CaseKey]] = {}
    for key in current_explanations(db, project_id):
        if key.system in chosen:
            about = CaseKey("explanation", key.user_id, key.system, item_id=key.item_id)
            case = about._replace(explanation_id=key.id, **key.occasion._asdict())
            by_user.setdefault(key.user_id, []).append(case)
    return by_user


def chosen_systems(db: Database, project_id: int, settings: RunSettings, kind: CaseKind) -> list[str]:
    """The systems of the run by name. Raises NotFoundError for unknown ones, UsageError or RunError for too few."""
    what = "explanations" if kind == "explanation" else "lists"
    known = explanation_systems(db, project_id) if kind == "explanation" else systems(db, project_id)
    named = [*settings.systems, *([settings.baseline] if settings.baseline else [])]
    check_judgeable(db, project_id, named, known, what)
    chosen = sorted(set(named)) if settings.systems else known
    needed = 2 if kind == "pair" or settings.until else 1
    if chosen and len(chosen) < needed <= len(known):
        raise UsageError(
            "a comparison needs two systems",
            f"The project has {what} by: {', '.join(known)}.",
            "Name two of them with --systems, or leave it out and name one with --baseline.",
        )
    if len(chosen) < needed:
        raise RunError(
            f"there are no {what} to judge" if not chosen else "a comparison needs lists by two systems",
            f"The project has {what} by: {', '.join(known) or 'no system'}.",
            f"Import {what} with “recjudge import FILE -p PROJECT --as {what}”.",
        )
    return chosen


def _of_context(
    kind: CaseKind,
    user_id: str,
    slates: list[CurrentSlate],
    chosen: list[str],
    baseline: str,
    left_out: Counter[str],
) -> Iterator[CaseKey]:
    """The cases of one user and context; lists of two contexts are never compared."""
    context = slates[0].occasion.context
    by_system: dict[str, dict[str, int]] = {}
    for slate in slates:
        by_system.setdefault(slate.system, {})[slate.occasion.served_at] = slate.slate_id
    if kind == "list":
        for system in chosen:
            if system not in by_system:
                left_out[f"no list by {system}"] += 1
            for time, slate_id in by_system.get(system, {}).items():
                yield CaseKey("list", user_id, system, slate_a=slate_id, context=context, served_at=time)
        return
    for first, second in combinations(chosen, 2):
        if baseline and baseline not in (first, second):
            continue
        missing = [system for system in (first, second) if system not in by_system]
        if missing:
            left_out[f"no list by {' and '.join(missing)}"] += 1
            continue
        a, b = by_system[first], by_system[second]
        times = compared_times(a, b)
        for time_a, time_b in times:
            yield CaseKey(
                *("pair", user_id, first, second),
                slate_a=a[time_a],
                slate_b=b[time_b],
                context=context,
                served_at=earlier(time_a, time_b),
            )
        if alone := len(a) + len(b) - 2 * len(times):
            left_out["list without one by the other system at the same time"] += alone
