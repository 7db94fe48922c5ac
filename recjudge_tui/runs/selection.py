"""Which cases a run judges: lists, pairs, explanations, adversarial pairs, planted faults; and the examples shown."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations, groupby, zip_longest
from operator import attrgetter
from typing import Literal, NamedTuple, TypeVar

from recjudge_tui.domain.calls import Order
from recjudge_tui.domain.made_lists import (
    FAULT_KINDS,
    FaultKind,
    Variant,
    adversarial_pair,
    pair_names,
    planted_name,
)
from recjudge_tui.domain.material import CaseKind, ExplanationView, ItemView
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter, compared_times, earlier, parse_time
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.selection import Level, activity_levels
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.rules.faults import (
    ISSUE_OF,
    Fault,
    catalogue_of,
    fault,
    shopper_of,
)
from recjudge_tui.runs.context import is_empty, no_history, shown_user
from recjudge_tui.runs.settings import project_domain
from recjudge_tui.store.cases import (
    CaseKey,
    PlantedFault,
    check_contexts,
    generated_slate,
    held_out_items,
    items_had,
    known_generated_slate,
    save_fault,
)
from recjudge_tui.store.data import (
    CurrentSlate,
    ItemViews,
    check_judgeable,
    current_explanations,
    current_slates,
    explanation_systems,
    explanation_view,
    newest_slates,
    scores_of,
    shown_event_counts,
    slate_items,
    slate_tops,
    systems,
    truth_raters,
    users_where,
)
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_histories, read_history
from recjudge_tui.store.imports import known_ids
from recjudge_tui.store.raters import rater_row

# ---- stratify ----------------------------------------------------------------------------------------------------


LEVELS = 4
Cases = TypeVar("Cases")


def across_levels(
    by_user: Sequence[tuple[str, Cases]], levels: Sequence[Level], *, idle: bool
) -> list[tuple[str, Cases]]:
    """The users in turn from each level, keeping their order within a level, so that any number of users from the front
    has a share of each level. Users without events come last unless `idle` ones are judged too."""
    parts = [[entry for entry in by_user if entry[0] in level.users] for level in levels]
    last = parts.pop(0) if not idle and levels and levels[0].high == 0 else []
    return [entry for turn in zip_longest(*parts) for entry in turn if entry is not None] + last


def _shuffled(
    db: Database, project_id: int, by_user: list[tuple[str, Cases]], settings: RunSettings
) -> list[tuple[str, Cases]]:
    """The users in random order, spread over the activity levels if the settings say so."""
    random.Random(settings.seed).shuffle(by_user)
    if settings.stratify != "activity":
        return by_user
    levels = levels_of(db, project_id, [user for user, _ in by_user], settings)
    return across_levels(by_user, levels, idle=settings.no_history)


def levels_of(db: Database, project_id: int, users: Collection[str], settings: RunSettings) -> list[Level]:
    """The activity levels of these users, by the number of events in the window that the run shows."""
    until = parse_time(settings.as_of) if settings.as_of else ""
    counts = shown_event_counts(db, project_id, settings.history_days, until)
    return activity_levels({user: counts.get(user, 0) for user in users}, LEVELS)


def drawn_by_level(levels: Sequence[Level], drawn: Collection[str]) -> dict[str, int]:
    """Name of each level -> how many of its users were drawn."""
    counts = Counter(level.name for level in levels for user in drawn if user in level.users)
    return {level.name: counts[level.name] for level in levels}


# ---- selection ---------------------------------------------------------------------------------------------------


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
    users = users_where(db, project_id, settings.where) if settings.where else keys_by_user.keys()
    by_user: list[tuple[str, list[CaseKey]]] = []
    for user_id, keys in keys_by_user.items():
        kept = [] if user_id not in users else _asked_for(keys, occasions, left_out)
        if kept:
            by_user.append((user_id, sorted(kept, key=_occasion)))
    if settings.sample is not None or settings.until:
        by_user = _shuffled(db, project_id, by_user, settings)
    return Selection(by_user, left_out)


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


# ---- made lists --------------------------------------------------------------------------------------------------


USERS = 100
T = TypeVar("T")


def _made(
    db: Database,
    project_id: int,
    settings: RunSettings,
    left_out: Counter[str],
    make: Callable[[str, CurrentSlate], T | str | None],
    none_fits: str,
    failure: tuple[str, str],
) -> list[T]:
    """What `make` gives for one list of each of `sample` users (default 100), drawn by `seed`, equally many from each
    system, with the list that was served last. If it gives None, the user's list by the next system is tried (`none_fits`
    where there is no other); a text is the reason why the user is skipped. Raises RunError, with title and next step
    `failure`, when nothing was made.
    """
    wanted = settings.sample or USERS
    systems, slates = chosen_systems(db, project_id, settings, "list"), newest_slates(db, project_id)
    room = {s: wanted // len(systems) + (at < wanted % len(systems)) for at, s in enumerate(systems)}
    made: list[T] = []
    for user, _ in _shuffled(db, project_id, [(user, None) for user in sorted(slates)], settings):
        # the system that needs the most users first; the user may have no list by it
        fitting = sorted((s for s in systems if room[s] and s in slates[user]), key=lambda s: -room[s])
        reason = none_fits if fitting else ""
        for system in fitting:
            one = make(user, slates[user][system])
            if isinstance(one, str):
                reason = one
                break
            if one is not None:
                room[system] -= 1
                made.append(one)
                reason = ""
                break
        if reason:
            left_out[reason] += 1
        if len(made) == wanted:
            return made
    if not made:
        reasons = ", ".join(f"{n} × {reason}" for reason, n in left_out.items())
        title, next_step = failure
        raise RunError(title, f"Left out: {reasons}." if reasons else "Nobody has a list.", next_step)
    left_out[f"user missing: only {len(made)} of the requested {wanted} are suitable"] = wanted - len(made)
    return made


# how many other users' lists are tried until one differs from the own list
TRIES = 50
NO_OTHER = "user whose list does not differ from other users'"
NOTHING_LEFT = "pair without the items the user already has: nothing is left of the foreign list"
SAME_LEFT = "pair without the items the user already has: both lists have the same items"


class Lists(NamedTuple):
    """The two lists of one user before they are stored: the imported ones, and the items of each."""

    user_id: str
    own: CurrentSlate
    foreign: CurrentSlate
    other: str
    own_items: list[str]
    foreign_items: list[str]

    def key(self, variant: Variant, foreign: int, own: int) -> CaseKey:
        a, b = pair_names(variant, self.own.system)
        occasion = self.own.occasion._asdict()
        return CaseKey("pair", self.user_id, a, b, slate_a=foreign, slate_b=own, **occasion)


def adversarial_cases(db: Database, project_id: int, settings: RunSettings, *, store: bool) -> Selection:
    """Two cases for each user: the pair as published, and the pair without the items that give the foreign list away.

    Users without history are skipped. The user and the system alone determine whose list is the foreign one, so runs with
    other seeds, and labels, use the same pairs. Lists with the same items as the user's own are skipped, because they are
    no test. The second case removes from the foreign list the items that the user already has, and cuts both lists to equal
    length. Without `store` (a dry run), the second case has the lists of the first. Raises RunError when there is no pair.
    """
    left_out: Counter[str] = Counter()
    slates, top_k = newest_slates(db, project_id), settings.top_k
    rings: dict[str, list[tuple[int, str]]] = {}

    def pair_of(user: str, own: CurrentSlate) -> Lists | str | None:
        """The foreign list is that of one of the users who follow on a ring of hashes, which stays when users are added."""
        system, own_items = own.system, slate_items(db, own.slate_id)
        if system not in rings:
            rings[system] = sorted((_number(name), name) for name, mine in slates.items() if system in mine)
        ring = rings[system]
        start = bisect(ring, (_number(f"{user}|{system}"), ""))
        for step in range(min(len(ring), TRIES + 1)):
            other = ring[(start + step) % len(ring)][1]
            items = slate_items(db, slates[other][system].slate_id)
            if other != user and set(items[:top_k]) != set(own_items[:top_k]):
                shown = shown_user(read_history(db, project_id, user), settings, own.occasion)
                if not settings.no_history and is_empty(shown):
                    return no_history(own.occasion.served_at)
                return Lists(user, own, slates[other][system], other, own_items, items)
        return None

    failure = (
        "no adversarial pairs can be made",
        "At least two users need events, and different lists by the same system.",
    )
    by_user = []
    drawn = _made(db, project_id, settings, left_out, pair_of, NO_OTHER, failure)
    with db.transaction():
        for lists in drawn:
            keys = [lists.key("published", lists.foreign.slate_id, lists.own.slate_id)]
            keys += _unseen(db, project_id, lists, top_k, left_out, store=store)
            by_user.append((lists.user_id, keys))
    return Selection(by_user, left_out)


def positions(keys: Sequence[CaseKey], seed: int) -> list[Order]:
    """The list shown first in each case, at random: `ab` the foreign one, `ba` the own one.

    Permuted blocks of two: of each two consecutive cases of one kind and system, one at random has the own list first.
    This balances the positions, and a longer run begins like a shorter one.
    """
    met: Counter[tuple[str, str]] = Counter()
    orders: list[Order] = []
    for key in keys:
        pair = adversarial_pair(key.system_a, key.system_b)
        assert pair is not None, f"{key.system_a} and {key.system_b} are not an adversarial pair"
        place = met[pair]
        met[pair] += 1
        # the two cases of a user have the same order, so that they do not differ by position
        coin = _number(f"{seed}|{pair.system}|{place // 2}") & 1
        orders.append("ab" if coin ^ (place & 1) else "ba")
    return orders


def _unseen(
    db: Database, project_id: int, lists: Lists, top_k: int, left_out: Counter[str], *, store: bool
) -> list[CaseKey]:
    has = items_had(db, project_id, lists.user_id)
    fresh = [item for item in lists.foreign_items if item not in has]
    length = min(len(fresh), len(lists.own_items))
    foreign, own = fresh[:length], lists.own_items[:length]
    if set(foreign[:top_k]) == set(own[:top_k]):
        left_out[SAME_LEFT if foreign else NOTHING_LEFT] += 1
        return []
    foreign_id, own_id = lists.foreign.slate_id, lists.own.slate_id
    if store:
        a, b = pair_names("unseen", lists.own.system)
        if foreign != lists.foreign_items:
            foreign_id = generated_slate(db, project_id, lists.other, a, lists.foreign.occasion, foreign)
        if own != lists.own_items:
            own_id = generated_slate(db, project_id, lists.user_id, b, lists.own.occasion, own)
    return [lists.key("unseen", foreign_id, own_id)]


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


NOTHING_FITS = "list into which no fault can be planted"


def planted_cases(
    db: Database, project_id: int, settings: RunSettings, prompt: Prompt, *, store: bool
) -> Selection:
    """For each user one list with a fault of each kind that can be planted into it, at a random place.

    Fault and position depend only on the user, the system, the kind and the seed. Kinds for which the prompt has no
    issue are left out. Without `store` (a dry run), the system's own lists replace lists that do not exist yet.
    Raises RunError when nothing can be planted.
    """
    named = {" ".join(issue.name.casefold().split()) for issue in prompt.issues}
    kinds = tuple(kind for kind in FAULT_KINDS if ISSUE_OF[kind] in named)
    if not kinds:
        raise RunError(
            f"prompt “{prompt.name}” asks for none of the issues that can be planted",
            f"These are: {', '.join(ISSUE_OF.values())}.",
            "Choose another --prompt.",
        )
    left_out: Counter[str] = Counter()
    views, known = ItemViews(db, project_id), known_ids(db, project_id, "items")
    ids = sorted(known)
    of_item = views.of(ids)
    catalogue = catalogue_of(of_item[item] for item in ids)
    domain = settings.domain or project_domain(db, project_id)

    def faults_of(user_id: str, source: CurrentSlate) -> _Faults | str:
        history = read_histories(db, project_id, [user_id], views)[user_id]
        user = shown_user(history, settings, source.occasion)
        if is_empty(user):
            return no_history(source.occasion.served_at)
        items = slate_tops(db, views, [source.slate_id], settings.top_k)[source.slate_id]
        shopper = shopper_of(user, held_out_items(db, project_id, user_id), domain)
        found: dict[FaultKind, Fault] = {}
        for kind in kinds:
            rng = random.Random(f"{settings.seed}|{user_id}|{source.system}|{kind}")
            if planted := fault(kind, shopper, items, catalogue, rng):
                found[kind] = planted
        for kind in kinds if found else ():
            if kind not in found:
                left_out[f"list into which no fault of kind {kind} can be planted"] += 1
        return _Faults(user_id, source, items, found) if found else NOTHING_FITS

    failure = (
        "no fault can be planted into these lists",
        "Users need events before their lists, and items need titles and categories.",
    )
    made = _made(db, project_id, settings, left_out, faults_of, "", failure)
    with db.transaction():
        by_user = [
            (one.user_id, [_planted(db, project_id, one, kind, store) for kind in one.faults]) for one in made
        ]
    new = {fault.item.item_id: fault.item for one in made for fault in one.faults.values()}
    return Selection(by_user, left_out, tuple(view for name, view in new.items() if name not in known))


class _Faults(NamedTuple):
    """The faults that can be planted into a list, before they are stored."""

    user_id: str
    source: CurrentSlate
    items: tuple[ItemView, ...]
    faults: dict[FaultKind, Fault]


def _planted(db: Database, project_id: int, one: _Faults, kind: FaultKind, store: bool) -> CaseKey:
    """The case of the list with one of the faults."""
    source, planted = one.source, one.faults[kind]
    ids = [item.item_id for item in one.items]
    instead, ids[planted.place] = ids[planted.place], planted.item.item_id
    name, occasion = planted_name(kind, source.system), source.occasion
    if store:
        slate_id = generated_slate(db, project_id, one.user_id, name, occasion, ids)
        where = planted.place + 1
        save_fault(db, PlantedFault(slate_id, source.slate_id, kind, planted.item.item_id, where, instead))
    else:
        slate_id = known_generated_slate(db, project_id, one.user_id, name, occasion, ids) or source.slate_id
    return CaseKey("list", one.user_id, name, slate_a=slate_id, **occasion._asdict())


# ---- shots -------------------------------------------------------------------------------------------------------


OWN_PAIR = "the example's own pair"
NO_EXAMPLE = "no example"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Shots:
    """The examples of a run. `pairs` maps a user to the (user, item) pair whose explanations are the examples for that
    user's cases: one pair for all (`one`) or a pair of the user's own (`personal`). `scored` maps
    (user, item, system) to the explanation's id and scores; `own_scores`: those of the users themselves."""

    pairs: dict[str, Pair]
    scored: dict[tuple[str, str, str], tuple[int, dict[str, float]]]
    keep_own_pair: bool
    form: Literal["one", "personal"]
    own_scores: bool

    def refusal(self, key: CaseKey) -> str:
        """The reason why a case is not judged; empty if it is."""
        pair = self.pairs.get(key.user_id)
        if pair is None:
            return NO_EXAMPLE
        if pair == (key.user_id, key.item_id) and not self.keep_own_pair:
            return OWN_PAIR
        return "" if (*pair, key.system_a) in self.scored else NO_EXAMPLE

    def view(self, db: Database, project_id: int, key: CaseKey) -> ExplanationView:
        """The example of a case that is not refused: the same system's explanation of the example pair, with its scores."""
        explanation_id, scores = self.scored[(*self.pairs[key.user_id], key.system_a)]
        return explanation_view(db, project_id, explanation_id).model_copy(
            update={"scores": scores, "form": self.form, "own_scores": self.own_scores}
        )


def choose_shots(
    db: Database, project_id: int, settings: RunSettings, prompt: Prompt, systems: Iterable[str]
) -> Shots:
    """Draw the example pairs by the run's seed.

    `one`: a random pair (u0, i0) of all that were scored. `personal`: for each user a random item i0 of those the
    user's explanations were scored for. An explanation can be an example when the rater scored every aspect of the
    prompt, and its text has not changed since. Raises UsageError when it is not clear whose scores are meant,
    RunError when nothing was scored.
    """
    rater = settings.examples_from
    if not rater:
        names = truth_raters(db, project_id)
        if len(names) != 1:
            raise UsageError(
                "it is not clear whose scores the examples should show",
                f"Raters of kind ground_truth with such scores: {', '.join(names) or 'none'}.",
                "Name one with --examples-from RATER.",
            )
        (rater,) = names
    row, wanted, chosen = rater_row(db, project_id, rater), [a.name for a in prompt.aspects], set(systems)
    given, texts = scores_of(db, row["id"]), current_explanations(db, project_id)
    scored = {}
    for key in texts:
        # scores of an earlier text do not count
        scores = given.get(key._replace(id=0), {}) | given.get(key, {})
        if key.system in chosen and all(aspect in scores for aspect in wanted):
            scored[key[:3]] = (key.id, {aspect: scores[aspect] for aspect in wanted})
    if not scored:
        raise RunError(
            f"“{rater}” has scored no explanation that could be an example",
            f"An example needs a score on {', '.join(wanted)}.",
            "Name another rater with --examples-from, or import its labels.",
        )
    pairs = sorted({(user, item) for user, item, _ in scored})
    if settings.shots == "one":
        of_user = dict.fromkeys((key.user_id for key in texts), random.Random(settings.seed).choice(pairs))
    else:
        # a generator for each user, so that the draw does not depend on the other users in the project
        of_user = {
            user: random.Random(f"{settings.seed}/{user}").choice(list(own))
            for user, own in groupby(pairs, key=lambda pair: pair[0])
        }
    form: Literal["one", "personal"] = "one" if settings.shots == "one" else "personal"
    return Shots(of_user, scored, settings.keep_example_pair, form, row["kind"] == "ground_truth")
