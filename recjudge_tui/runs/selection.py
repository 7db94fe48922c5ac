"""Which cases a run judges: lists, pairs, explanations, adversarial pairs, planted faults; and the examples shown."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
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
    Catalogue,
    Fault,
    Shopper,
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


def stratified(
    db: Database, project_id: int, by_user: Sequence[tuple[str, Cases]], settings: RunSettings
) -> list[tuple[str, Cases]]:
    """The users, already in random order; spread over the activity levels if the settings say so."""
    if settings.stratify != "activity":
        return list(by_user)
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
    return stratified(db, project_id, by_user, settings)


def _shuffled(db: Database, project_id: int, users: Iterable[str], settings: RunSettings) -> list[str]:
    """The users in random order, spread over the activity levels if the settings say so."""
    drawn = [(user, None) for user in sorted(users)]
    random.Random(settings.seed).shuffle(drawn)
    return [user for user, _ in stratified(db, project_id, drawn, settings)]


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


# ---- adversarial -------------------------------------------------------------------------------------------------


USERS = 100
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


def adversarial_cases(db: Database, project_id: int, settings: RunSettings, *, store: bool) -> Selection:
    """Two cases for each user: the pair as published, and the pair without the items that give the foreign list away.

    `sample` users (default 100) are drawn by `seed`, equally many from each system; users without history are skipped.
    The user and the system alone determine whose list is the foreign one, so runs with other seeds, and labels, use
    the same pairs. Lists with the same items as the user's own are skipped, because they are no test. The second
    case removes from the foreign list the items that the user already has, and cuts both lists to equal length.
    Without `store` (a dry run), the second case has the lists of the first. Raises RunError when there is no pair.
    """
    wanted = settings.sample or USERS
    left_out: Counter[str] = Counter()
    drawn = _drawn_of_adversarial(db, project_id, settings, wanted, left_out)
    if not drawn:
        raise _nobody(left_out)
    if len(drawn) < wanted:
        left_out[f"user missing: only {len(drawn)} of the requested {wanted} are suitable"] = wanted - len(
            drawn
        )
    by_user = []
    with db.transaction():
        for lists in drawn:
            keys = [_key(lists, "published", lists.foreign.slate_id, lists.own.slate_id)]
            unseen = _unseen(db, project_id, lists, settings.top_k, left_out, store=store)
            by_user.append((lists.user_id, keys + unseen))
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


def _drawn_of_adversarial(
    db: Database, project_id: int, settings: RunSettings, wanted: int, left_out: Counter[str]
) -> list[Lists]:
    systems = chosen_systems(db, project_id, settings, "list")
    slates = newest_slates(db, project_id)
    rings = {system: _Ring(user for user, own in slates.items() if system in own) for system in systems}
    room = {s: wanted // len(systems) + (at < wanted % len(systems)) for at, s in enumerate(systems)}
    users = _shuffled(db, project_id, slates, settings)
    drawn: list[Lists] = []
    for user in users:
        # the system that needs the most users; the user may have no list by this system
        for system in sorted((s for s in systems if room[s] and s in slates[user]), key=lambda s: -room[s]):
            if lists := _foreign(db, rings[system], user, system, slates, settings.top_k):
                occasion = lists.own.occasion
                history = read_history(db, project_id, user)
                if not settings.no_history and is_empty(shown_user(history, settings, occasion)):
                    left_out[no_history(occasion.served_at)] += 1
                    break
                room[system] -= 1
                drawn.append(lists)
                break
        else:
            left_out[NO_OTHER] += any(room[s] and s in slates[user] for s in systems)
        if len(drawn) == wanted:
            break
    left_out += Counter()
    return drawn


class _Ring:
    """The users of a system on a hash ring: the order is arbitrary but stable when users are added."""

    def __init__(self, users: Iterable[str]) -> None:
        self._places = sorted((_number(user), user) for user in users)

    def after(self, user: str, system: str) -> Iterator[str]:
        """Other users, starting at a position on the ring that this user and system determine."""
        start = bisect(self._places, (_number(f"{user}|{system}"), ""))
        for step in range(min(len(self._places), TRIES + 1)):
            other = self._places[(start + step) % len(self._places)][1]
            if other != user:
                yield other


def _foreign(
    db: Database, ring: _Ring, user: str, system: str, slates: dict[str, dict[str, CurrentSlate]], top_k: int
) -> Lists | None:
    own = slates[user][system]
    own_items = slate_items(db, own.slate_id)
    for other in ring.after(user, system):
        foreign = slates[other][system]
        items = slate_items(db, foreign.slate_id)
        if set(items[:top_k]) != set(own_items[:top_k]):
            return Lists(user, own, foreign, other, own_items, items)
    return None


def _key(lists: Lists, variant: Variant, foreign: int, own: int) -> CaseKey:
    a, b = pair_names(variant, lists.own.system)
    return CaseKey("pair", lists.user_id, a, b, slate_a=foreign, slate_b=own, **lists.own.occasion._asdict())


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
    return [_key(lists, "unseen", foreign_id, own_id)]


def _nobody(left_out: Counter[str]) -> RunError:
    reasons = ", ".join(f"{n} × {reason}" for reason, n in left_out.items() if n)
    return RunError(
        "no adversarial pairs can be made",
        f"Left out: {reasons}." if reasons else "Nobody has a list.",
        "At least two users need events, and different lists by the same system.",
    )


def _number(text: str) -> int:
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


# ---- planted -----------------------------------------------------------------------------------------------------


NOTHING_FITS = "list into which no fault can be planted"


class _MadeList(NamedTuple):
    """A list with a fault, before it is stored."""

    user_id: str
    source: CurrentSlate
    kind: FaultKind
    items: tuple[ItemView, ...]
    fault: Fault

    @property
    def name(self) -> str:
        return planted_name(self.kind, self.source.system)

    @property
    def ids(self) -> list[str]:
        planted = [*self.items]
        planted[self.fault.place] = self.fault.item
        return [item.item_id for item in planted]


@dataclass(frozen=True)
class _Planter:
    """The data that all lists of a run share."""

    db: Database
    project_id: int
    settings: RunSettings
    kinds: tuple[FaultKind, ...]
    items: ItemViews
    catalogue: Catalogue
    domain: str


def planted_cases(
    db: Database, project_id: int, settings: RunSettings, prompt: Prompt, *, store: bool
) -> Selection:
    """For each user one list with a fault of each kind that can be planted into it, at a random place.

    `sample` users (default 100) are drawn by `seed`, equally many from each system, with the list that was served last.
    Fault and position depend only on the user, the system, the kind and the seed. Kinds for which the prompt has no
    issue are left out. Without `store` (a dry run), the system's own lists replace lists that do not exist yet.
    Raises RunError when nothing can be planted.
    """
    left_out: Counter[str] = Counter()
    planter = _planter(db, project_id, settings, prompt)
    made = _drawn_of_planted(planter, left_out)
    if not made:
        reasons = ", ".join(f"{n} × {reason}" for reason, n in left_out.items())
        raise RunError(
            "no fault can be planted into these lists",
            f"Left out: {reasons}." if reasons else "Nobody has a list.",
            "Users need events before their lists, and items need titles and categories.",
        )
    by_user: dict[str, list[CaseKey]] = {}
    with db.transaction():
        for entry in made:
            slate_id = _stored(planter, entry) if store else _known(planter, entry)
            occasion = entry.source.occasion._asdict()
            key = CaseKey("list", entry.user_id, entry.name, slate_a=slate_id, **occasion)
            by_user.setdefault(entry.user_id, []).append(key)
    known = known_ids(db, project_id, "items")
    views = {entry.fault.item.item_id: entry.fault.item for entry in made}
    return Selection(
        list(by_user.items()), left_out, tuple(view for name, view in views.items() if name not in known)
    )


def _planter(db: Database, project_id: int, settings: RunSettings, prompt: Prompt) -> _Planter:
    named = {" ".join(issue.name.casefold().split()) for issue in prompt.issues}
    kinds = tuple(kind for kind in FAULT_KINDS if ISSUE_OF[kind] in named)
    if not kinds:
        raise RunError(
            f"prompt “{prompt.name}” asks for none of the issues that can be planted",
            f"These are: {', '.join(ISSUE_OF.values())}.",
            "Choose another --prompt.",
        )
    items = ItemViews(db, project_id)
    ids = sorted(known_ids(db, project_id, "items"))
    views = items.of(ids)
    catalogue = catalogue_of(views[item] for item in ids)
    domain = settings.domain or project_domain(db, project_id)
    return _Planter(db, project_id, settings, kinds, items, catalogue, domain)


def _drawn_of_planted(planter: _Planter, left_out: Counter[str]) -> list[_MadeList]:
    settings = planter.settings
    wanted = settings.sample or USERS
    systems = chosen_systems(planter.db, planter.project_id, settings, "list")
    slates = newest_slates(planter.db, planter.project_id)
    room = {s: wanted // len(systems) + (at < wanted % len(systems)) for at, s in enumerate(systems)}
    users = _shuffled(planter.db, planter.project_id, slates, settings)
    made: list[_MadeList] = []
    drawn = 0
    for user_id in users:
        # the system that needs the most users; the user may have no list by it
        fitting = sorted((s for s in systems if room[s] and s in slates[user_id]), key=lambda s: -room[s])
        if not fitting:
            continue
        if lists := _with_faults(planter, user_id, slates[user_id][fitting[0]], left_out):
            room[fitting[0]] -= 1
            drawn += 1
            made += lists
        if drawn == wanted:
            break
    else:
        left_out[f"user missing: only {drawn} of the requested {wanted} are suitable"] = wanted - drawn
    return made


def _with_faults(
    planter: _Planter, user_id: str, source: CurrentSlate, left_out: Counter[str]
) -> list[_MadeList]:
    db, project_id, settings = planter.db, planter.project_id, planter.settings
    history = read_histories(db, project_id, [user_id], planter.items)[user_id]
    user = shown_user(history, settings, source.occasion)
    if is_empty(user):
        left_out[no_history(source.occasion.served_at)] += 1
        return []
    items = slate_tops(db, planter.items, [source.slate_id], settings.top_k)[source.slate_id]
    shopper = shopper_of(user, held_out_items(db, project_id, user_id), planter.domain)
    faults = [(kind, _fault(planter, shopper, kind, source.system, items)) for kind in planter.kinds]
    made = [_MadeList(user_id, source, kind, items, drawn) for kind, drawn in faults if drawn]
    for kind, drawn in faults:
        left_out[f"list into which no fault of kind {kind} can be planted"] += made != [] and drawn is None
    left_out[NOTHING_FITS] += not made
    left_out += Counter()
    return made


def _fault(
    planter: _Planter, shopper: Shopper, kind: FaultKind, system: str, items: Sequence[ItemView]
) -> Fault | None:
    rng = random.Random(f"{planter.settings.seed}|{shopper.user.user_id}|{system}|{kind}")
    return fault(kind, shopper, items, planter.catalogue, rng)


def _stored(planter: _Planter, entry: _MadeList) -> int:
    slate_id = generated_slate(
        planter.db, planter.project_id, entry.user_id, entry.name, entry.source.occasion, entry.ids
    )
    place = entry.fault.place
    save_fault(
        planter.db,
        PlantedFault(
            slate_id, entry.source.slate_id, entry.kind, entry.fault.item.item_id, place + 1,
            entry.items[place].item_id,
        ),
    )  # fmt: skip
    return slate_id


def _known(planter: _Planter, entry: _MadeList) -> int:
    slate_id = known_generated_slate(
        planter.db, planter.project_id, entry.user_id, entry.name, entry.source.occasion, entry.ids
    )
    return entry.source.slate_id if slate_id is None else slate_id


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
    rater = settings.examples_from or _only_truth(db, project_id)
    wanted = [aspect.name for aspect in prompt.aspects]
    scored = _scored(db, project_id, rater, wanted, set(systems))
    if not scored:
        raise RunError(
            f"“{rater}” has scored no explanation that could be an example",
            f"An example needs a score on {', '.join(wanted)}.",
            "Name another rater with --examples-from, or import its labels.",
        )
    return Shots(
        pairs=_pairs(db, project_id, settings, scored),
        scored=scored,
        keep_own_pair=settings.keep_example_pair,
        form="one" if settings.shots == "one" else "personal",
        own_scores=rater_row(db, project_id, rater)["kind"] == "ground_truth",
    )


def _scored(
    db: Database, project_id: int, rater: str, wanted: Sequence[str], systems: set[str]
) -> dict[tuple[str, str, str], tuple[int, dict[str, float]]]:
    """The current texts that were scored on all of `wanted`; scores of an earlier text do not count."""
    given = scores_of(db, rater_row(db, project_id, rater)["id"])
    scored = {}
    for key in current_explanations(db, project_id):
        scores = given.get(key._replace(id=0), {}) | given.get(key, {})
        if key.system in systems and all(aspect in scores for aspect in wanted):
            scored[key[:3]] = (key.id, {aspect: scores[aspect] for aspect in wanted})
    return scored


def _only_truth(db: Database, project_id: int) -> str:
    names = truth_raters(db, project_id)
    if len(names) != 1:
        raise UsageError(
            "it is not clear whose scores the examples should show",
            f"Raters of kind ground_truth with such scores: {', '.join(names) or 'none'}.",
            "Name one with --examples-from RATER.",
        )
    return names[0]


def _pairs(
    db: Database, project_id: int, settings: RunSettings, scored: Iterable[tuple[str, str, str]]
) -> dict[str, Pair]:
    pairs = sorted({(user, item) for user, item, _ in scored})
    users = {key.user_id for key in current_explanations(db, project_id)}
    if settings.shots == "one":
        return dict.fromkeys(users, random.Random(settings.seed).choice(pairs))
    own: dict[str, list[Pair]] = {}
    for pair in pairs:
        own.setdefault(pair[0], []).append(pair)
    # a generator for each user, so that the draw does not depend on the other users in the project
    return {
        user: random.Random(f"{settings.seed}/{user}").choice(candidates) for user, candidates in own.items()
    }
