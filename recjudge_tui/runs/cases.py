"""Which cases a run judges (lists, pairs, explanations, adversarial pairs, planted faults), what it shows of them, as it is
stored, with which examples, and the request of a call, the same one every time."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import combinations, groupby, zip_longest
from operator import attrgetter
from typing import Literal, NamedTuple, TypeVar

from recjudge_tui.domain import made_lists
from recjudge_tui.domain.calls import PROFILE, Order, Request, digest
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import (
    CaseKind,
    CaseViews,
    ExplanationView,
    ItemView,
    Material,
    SlateView,
    UserView,
)
from recjudge_tui.domain.occasions import (
    EVERY_OCCASION,
    Occasion,
    OccasionFilter,
    compared_times,
    earlier,
    parse_time,
)
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import ProtocolFacts
from recjudge_tui.domain.run import RunSettings, form_words, sampling_of
from recjudge_tui.domain.selection import Level, activity_levels
from recjudge_tui.errors import NoCasesError, NoProfileError, ReplyFault, RunError, UsageError
from recjudge_tui.judges.rules.issues import ISSUE_OF, Catalogue, Fault, Shopper, fault
from recjudge_tui.protocols.registry import Protocol, profile_request
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.replies import profile_text
from recjudge_tui.runs.context import is_empty, no_history, shown_user
from recjudge_tui.runs.estimate import Sample
from recjudge_tui.runs.settings import AlreadyJudgedError, project_domain
from recjudge_tui.store import cases as case_store
from recjudge_tui.store import data as data_store
from recjudge_tui.store.calls import CallKey, profile_reply
from recjudge_tui.store.cases import CaseKey, ShownCase, load_material, save_snapshots
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.histories import read_histories, read_history
from recjudge_tui.store.imports import known_ids
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.raters import find_rater, rater_row

NOT_BEFORE = "event at or after the time the list was served: not shown"
_USERS_AT_ONCE = 100

UserCases = tuple[UserView, list[CaseKey]]

# ---- levels of activity ------------------------------------------------------------------------------------------


LEVELS = 4
Cases = TypeVar("Cases")
ByUser = list[tuple[str, Cases]]
UserKeys = ByUser[list[CaseKey]]


def across_levels(by_user: ByUser[Cases], levels: Sequence[Level], *, idle: bool) -> ByUser[Cases]:
    """The users in turn from each level, keeping their order within a level, so that any number of users from the front
    has a share of each level. Users without events come last unless `idle` ones are judged too."""
    parts = [[entry for entry in by_user if entry[0] in level.users] for level in levels]
    last = parts.pop(0) if not idle and levels and levels[0].high == 0 else []
    return [entry for turn in zip_longest(*parts) for entry in turn if entry is not None] + last


# ---- selection ---------------------------------------------------------------------------------------------------


USERS = 100
_occasion = attrgetter("context", "served_at")


@dataclass(frozen=True)
class Chooser:
    """Chooses the cases of a run with these settings, by user, and reads what is shown of them; `left_out` counts those
    that are not judged, by reason, and `undated` the events without a time by user, of users whose lists have one. `made`:
    items in their lists that are not in the catalogue."""

    db: Database
    project_id: int
    settings: RunSettings
    left_out: Counter[str] = field(default_factory=Counter)
    undated: Counter[str] = field(default_factory=Counter)
    made: dict[str, ItemView] = field(default_factory=dict)

    @cached_property
    def items(self) -> data_store.ItemViews:
        """Read when the cases are chosen."""
        return data_store.ItemViews(self.db, self.project_id, tuple(self.made.values()))

    def systems(self, kind: CaseKind) -> list[str]:
        """The systems by name. Raises NotFoundError for unknown ones, UsageError or RunError for too few."""
        db, project_id, settings = self.db, self.project_id, self.settings
        what, content = ("explanations", data_store.TEXTS) if kind == "explanation" else ("lists", None)
        known = data_store.systems(db, project_id, content)
        named = [*settings.systems, *([settings.baseline] if settings.baseline else [])]
        data_store.check_judgeable(db, project_id, named, known, what)
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

    def levels(self, users: Collection[str]) -> list[Level]:
        """The activity levels of these users, by the number of events in the window that the run shows."""
        until = parse_time(self.settings.as_of) if self.settings.as_of else ""
        counts = data_store.shown_event_counts(self.db, self.project_id, self.settings.history_days, until)
        return activity_levels({user: counts.get(user, 0) for user in users}, LEVELS)

    def _shuffled(self, by_user: ByUser[Cases]) -> ByUser[Cases]:
        """The users in random order, spread over the activity levels if the settings say so."""
        random.Random(self.settings.seed).shuffle(by_user)
        if self.settings.stratify != "activity":
            return by_user
        levels = self.levels([user for user, _ in by_user])
        return across_levels(by_user, levels, idle=self.settings.no_history)

    def cases(self, kind: CaseKind) -> UserKeys:
        """The cases in the order they will be judged: user by user, users by name or in the random order of `seed`."""
        db, project_id, settings, occasions = self.db, self.project_id, self.settings, self.settings.occasions
        chosen = self.systems(kind)
        case_store.check_contexts(db, project_id, occasions)
        keys_by_user: dict[str, list[CaseKey]] = {}
        if kind == "explanation":
            for key in data_store.current_explanations(db, project_id):
                if key.system in chosen:
                    about = CaseKey("explanation", key.user_id, key.system, item_id=key.item_id)
                    case = about._replace(explanation_id=key.id, **key.occasion._asdict())
                    keys_by_user.setdefault(key.user_id, []).append(case)
        else:
            for user_id, slates in data_store.current_slates(db, project_id).items():
                served = _served(slates, occasions)
                keys_by_user[user_id] = [
                    key for here in served for key in self._of_context(kind, user_id, here, chosen)
                ]
        users = (
            data_store.users_where(db, project_id, settings.where) if settings.where else keys_by_user.keys()
        )
        by_user: UserKeys = []
        for user_id, keys in keys_by_user.items():
            if user_id in users and (kept := self._asked_for(keys)):
                by_user.append((user_id, sorted(kept, key=_occasion)))
        if settings.sample is not None or settings.until:
            by_user = self._shuffled(by_user)
        return by_user

    def _asked_for(self, keys: list[CaseKey]) -> list[CaseKey]:
        """The cases of the chosen occasions; if a time is chosen, cases without a time are counted."""
        if (occasions := self.settings.occasions) == EVERY_OCCASION:
            return keys
        here = [key for key in keys if occasions.has_context(key.context)]
        if occasions.is_timed and (untimed := sum(not key.served_at for key in here)):
            self.left_out["case without served_at, because a time was chosen"] += untimed
        return [key for key in here if occasions.has_time(key.served_at)]

    def _of_context(
        self, kind: CaseKind, user_id: str, slates: list[data_store.CurrentSlate], chosen: list[str]
    ) -> Iterator[CaseKey]:
        """The cases of one user and context; lists of two contexts are never compared."""
        context, baseline = slates[0].occasion.context, self.settings.baseline
        by_system: dict[str, dict[str, int]] = {}
        for slate in slates:
            by_system.setdefault(slate.system, {})[slate.occasion.served_at] = slate.slate_id
        if kind == "list":
            for system in chosen:
                if system not in by_system:
                    self.left_out[f"no list by {system}"] += 1
                for time, slate_id in by_system.get(system, {}).items():
                    yield CaseKey("list", user_id, system, slate_a=slate_id, context=context, served_at=time)
            return
        for first, second in combinations(chosen, 2):
            if baseline and baseline not in (first, second):
                continue
            missing = [system for system in (first, second) if system not in by_system]
            if missing:
                self.left_out[f"no list by {' and '.join(missing)}"] += 1
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
                self.left_out["list without one by the other system at the same time"] += alone

    def _made(
        self,
        make: Callable[[str, data_store.CurrentSlate], list[CaseKey] | str | None],
        none_fits: str,
        failure: tuple[str, str],
    ) -> UserKeys:
        """The cases that `make` gives for one list of each of `sample` users (default 100), drawn by `seed`, equally many
        from each system, with the list that was served last. If it gives None, the user's list by the next system is tried
        (`none_fits` where there is no other); a text is the reason why the user is skipped. Raises RunError, with title
        and next step `failure`, when nothing was made."""
        wanted, left_out = self.settings.sample or USERS, self.left_out
        systems, slates = self.systems("list"), data_store.newest_slates(self.db, self.project_id)
        room = {s: wanted // len(systems) + (at < wanted % len(systems)) for at, s in enumerate(systems)}
        made: UserKeys = []
        for user, _ in self._shuffled([(user, None) for user in sorted(slates)]):
            # the system that needs the most users first; the user may have no list by it
            fitting = sorted((s for s in systems if room[s] and s in slates[user]), key=lambda s: -room[s])
            reason = none_fits if fitting else ""
            for system in fitting:
                one = make(user, slates[user][system])
                if one is not None:
                    reason = one if isinstance(one, str) else ""
                    if not isinstance(one, str):
                        room[system] -= 1
                        made.append((user, one))
                    break
            if reason:
                left_out[reason] += 1
            if len(made) == wanted:
                return made
        if not made:
            reasons = ", ".join(f"{n} × {reason}" for reason, n in left_out.items())
            title, next_step = failure
            raise RunError(title, f"Left out: {reasons}." if reasons else "Nobody has a list.", next_step)
        missing = f"user missing: only {len(made)} of the requested {wanted} are suitable"
        left_out[missing] = wanted - len(made)
        return made

    def adversarial(self, *, store: bool) -> UserKeys:
        """Two cases for each user: the pair as published, and the pair without the items that give the foreign list away.

        The user and the system alone determine whose list is the foreign one, so runs with other seeds, and labels, use
        the same pairs. Users without history, and lists with the same items as the user's own, are skipped. The second
        case removes from the foreign list the items that the user already has, and cuts both lists to equal length;
        without `store` (a dry run) it has the lists of the first. Raises RunError when there is no pair."""
        db, project_id, top_k = self.db, self.project_id, self.settings.top_k
        slates = data_store.newest_slates(db, project_id)
        rings: dict[str, list[tuple[int, str]]] = {}

        def pair_of(user: str, own: data_store.CurrentSlate) -> list[CaseKey] | str | None:
            """The foreign list is that of a user who follows on a ring of hashes, which stays when users are added."""
            system, own_items = own.system, data_store.slate_items(db, own.slate_id)
            if system not in rings:
                rings[system] = sorted(
                    (hashed(name), name) for name, mine in slates.items() if system in mine
                )
            ring = rings[system]
            start = bisect(ring, (hashed(f"{user}|{system}"), ""))
            for step in range(min(len(ring), TRIES + 1)):
                other = ring[(start + step) % len(ring)][1]
                foreign = slates[other][system]
                items = data_store.slate_items(db, foreign.slate_id)
                if other != user and set(items[:top_k]) != set(own_items[:top_k]):
                    shown = shown_user(read_history(db, project_id, user), self.settings, own.occasion)
                    if not self.settings.no_history and is_empty(shown):
                        return no_history(own.occasion.served_at)
                    unseen = self._unseen((user, own, own_items), (other, foreign, items), store=store)
                    return [_pair_key("published", user, own, foreign.slate_id, own.slate_id), *unseen]
            return None

        failure = (
            "no adversarial pairs can be made",
            "At least two users need events, and different lists by the same system.",
        )
        with db.transaction() if store else nullcontext():
            return self._made(pair_of, NO_OTHER, failure)

    def _unseen(self, mine: UsersList, foreign: UsersList, *, store: bool) -> list[CaseKey]:
        db, project_id, top_k = self.db, self.project_id, self.settings.top_k
        (user, own_slate, own_items), (other, other_slate, other_items) = mine, foreign
        has = case_store.items_had(db, project_id, user)
        fresh = [item for item in other_items if item not in has]
        length = min(len(fresh), len(own_items))
        theirs, own = fresh[:length], own_items[:length]
        if set(theirs[:top_k]) == set(own[:top_k]):
            self.left_out[SAME_LEFT if theirs else NOTHING_LEFT] += 1
            return []
        foreign_id, own_id = other_slate.slate_id, own_slate.slate_id
        if store:
            a, b = made_lists.pair_names("unseen", own_slate.system)
            if theirs != other_items:
                foreign_id = case_store.generated_slate(
                    db, project_id, other, a, other_slate.occasion, theirs
                )
            if own != own_items:
                own_id = case_store.generated_slate(db, project_id, user, b, own_slate.occasion, own)
        return [_pair_key("unseen", user, own_slate, foreign_id, own_id)]

    def planted(self, prompt: Prompt, *, store: bool) -> UserKeys:
        """For each user one list with a fault of each kind that can be planted into it, at a random place. Fault and
        position depend only on the user, the system, the kind and the seed. Kinds for which the prompt has no issue are
        left out. Without `store` (a dry run), the system's own lists replace lists that do not exist yet. Raises RunError
        when nothing can be planted."""
        db, project_id, settings = self.db, self.project_id, self.settings
        named = {" ".join(issue.name.casefold().split()) for issue in prompt.issues}
        kinds = tuple(kind for kind in made_lists.FAULT_KINDS if ISSUE_OF[kind] in named)
        if not kinds:
            raise RunError(
                f"prompt “{prompt.name}” asks for none of the issues that can be planted",
                f"These are: {', '.join(ISSUE_OF.values())}.",
                "Choose another --prompt.",
            )
        views, known = data_store.ItemViews(db, project_id), known_ids(db, project_id, "items")
        ids = sorted(known)
        of_item = views.of(ids)
        catalogue = Catalogue(tuple(of_item[item] for item in ids))
        domain = settings.domain or project_domain(db, project_id)

        def faults_of(user_id: str, source: data_store.CurrentSlate) -> list[CaseKey] | str:
            history = read_histories(db, project_id, [user_id], views)[user_id]
            user = shown_user(history, settings, source.occasion)
            if is_empty(user):
                return no_history(source.occasion.served_at)
            items = data_store.slate_tops(db, views, [source.slate_id], settings.top_k)[source.slate_id]
            shopper = Shopper(user, case_store.held_out_items(db, project_id, user_id), domain)
            found: dict[made_lists.FaultKind, Fault] = {}
            for kind in kinds:
                rng = random.Random(f"{settings.seed}|{user_id}|{source.system}|{kind}")
                if planted := fault(kind, shopper, items, catalogue, rng):
                    found[kind] = planted
            if not found:
                return NOTHING_FITS
            for kind in kinds:
                if kind not in found:
                    self.left_out[f"list into which no fault of kind {kind} can be planted"] += 1
            self.made.update(
                (one.item.item_id, one.item) for one in found.values() if one.item.item_id not in known
            )
            ids, keys = [item.item_id for item in items], []
            for kind, planted in found.items():
                place, name = planted.place, made_lists.planted_name(kind, source.system)
                changed = [*ids[:place], planted.item.item_id, *ids[place + 1 :]]
                slate = (db, project_id, user_id, name, source.occasion, changed)
                if store:
                    slate_id = case_store.generated_slate(*slate)
                    of = (slate_id, source.slate_id, kind, planted.item.item_id, place + 1, ids[place])
                    case_store.save_fault(db, case_store.PlantedFault(*of))
                else:
                    slate_id = case_store.known_generated_slate(*slate) or source.slate_id
                keys.append(CaseKey("list", user_id, name, slate_a=slate_id, **source.occasion._asdict()))
            return keys

        failure = (
            "no fault can be planted into these lists",
            "Users need events before their lists, and items need titles and categories.",
        )
        with db.transaction() if store else nullcontext():
            return self._made(faults_of, "", failure)

    def users(self, by_user: UserKeys, facts: ProtocolFacts) -> Iterator[UserCases]:
        """Each user as of each time with the cases of that time, in order. Users without the history that is needed are
        left out. These cases, and events that are not shown because they are not before the time the list was served, are
        counted in `left_out`, events without a time in `undated`."""
        settings, needed, left_out = self.settings, facts.needs_history, self.left_out
        history_needed = (needed or settings.profile == "llm") and not settings.no_history
        for start in range(0, len(by_user), _USERS_AT_ONCE):
            chunk = by_user[start : start + _USERS_AT_ONCE]
            histories = read_histories(self.db, self.project_id, {user for user, _ in chunk}, self.items)
            for user_id, all_keys in chunk:
                history = histories[user_id]
                if history.undated and any(key.served_at for key in all_keys):
                    self.undated[user_id] = history.undated
                # what is shown with a case depends on its time, and on its context if an event is held out for a context
                whole = history.differs_by_context
                for occasion, group in groupby(
                    all_keys, key=lambda key: key.occasion if whole else Occasion("", key.served_at)
                ):
                    keys = list(group)
                    user = shown_user(history, settings, occasion, needed=needed)
                    if later := history.count_from(occasion.served_at):
                        left_out[NOT_BEFORE] += later
                    if history_needed and is_empty(user):
                        left_out[no_history(occasion.served_at)] += len(keys)
                    else:
                        yield user, keys

    def with_examples(self, by_user: UserKeys, shots: Shots) -> UserKeys:
        """The cases that have an example to show; the others are counted by reason."""
        kept: UserKeys = []
        for user_id, keys in by_user:
            refusals = [shots.refusal(key) for key in keys]
            self.left_out.update(filter(None, refusals))
            if shown := [key for key, reason in zip(keys, refusals, strict=True) if not reason]:
                kept.append((user_id, shown))
        return kept

    def show(self, batch: list[UserCases], shots: Shots | None, result: RunCases, *, store: bool) -> None:
        """Read what is shown of some cases, and with `store`, store snapshots of it."""
        db, project_id, settings = self.db, self.project_id, self.settings
        keys = [key for _, some in batch for key in some]
        lists = {slate: None for key in keys for slate in (key.slate_a, key.slate_b) if slate is not None}
        texts = {key.explanation_id: None for key in keys if key.explanation_id is not None}
        tops = data_store.slate_tops(db, self.items, lists, settings.top_k)
        explained = {text: data_store.explanation_view(db, project_id, text) for text in texts}
        if settings.images:
            shown = {item.item_id for top in tops.values() for item in top}
            images = data_store.item_images(
                db, project_id, shown | {view.item.item_id for view in explained.values()}
            )
            tops = {slate: data_store.with_images(top, images) for slate, top in tops.items()}
            explained = {
                text: view.model_copy(update={"item": data_store.with_images([view.item], images)[0]})
                for text, view in explained.items()
            }
        slates = {slate: SlateView(items=top) for slate, top in tops.items()}
        cases: list[tuple[CaseKey, CaseViews]] = []
        for user, some in batch:
            for key in some:
                views = CaseViews(
                    kind=key.kind,
                    user=user,
                    slates=tuple([slates[s] for s in (key.slate_a, key.slate_b) if s is not None]),
                    explanation=None if key.explanation_id is None else explained[key.explanation_id],
                    example=shots.view(db, project_id, key) if shots else None,
                    top_k=settings.top_k,
                )
                cases.append((key, views))
                result.sample.add(views)
        result.users.update(user.user_id for user, _ in batch)
        result.views += len(batch)
        result.cases += _snapshots(db, cases, slates, store=store)

    def shots(self, kind: CaseKind, prompt: Prompt) -> Shots:
        """Draw the example pairs by the run's seed.

        `one`: a random pair (u0, i0) of all that were scored. `personal`: for each user a random item i0 of those the
        user's explanations were scored for. An explanation can be an example when the rater scored every aspect of the
        prompt, and its text has not changed since. Raises UsageError when it is not clear whose scores are meant, RunError
        when nothing was scored."""
        db, project_id, settings = self.db, self.project_id, self.settings
        rater, chosen = settings.examples_from, self.systems(kind)
        if not rater:
            names = data_store.truth_raters(db, project_id)
            if len(names) != 1:
                raise UsageError(
                    "it is not clear whose scores the examples should show",
                    f"Raters of kind ground_truth with such scores: {', '.join(names) or 'none'}.",
                    "Name one with --examples-from RATER.",
                )
            (rater,) = names
        row, wanted = rater_row(db, project_id, rater), [a.name for a in prompt.aspects]
        given, texts = data_store.scores_of(db, row["id"]), data_store.current_explanations(db, project_id)
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
        of_user: dict[str, Pair]
        if settings.shots == "one":
            drawn = random.Random(settings.seed).choice(pairs)
            of_user = dict.fromkeys((key.user_id for key in texts), drawn)
        else:
            # a generator for each user, so that the draw does not depend on the other users in the project
            of_user = {
                user: random.Random(f"{settings.seed}/{user}").choice(list(own))
                for user, own in groupby(pairs, key=lambda pair: pair[0])
            }
        form: Literal["one", "personal"] = "one" if settings.shots == "one" else "personal"
        return Shots(of_user, scored, settings.keep_example_pair, form, row["kind"] == "ground_truth")


def _served(
    slates: list[data_store.CurrentSlate], occasions: OccasionFilter
) -> Iterator[list[data_store.CurrentSlate]]:
    """The lists of a user by context, if any can be chosen. Pairs are formed before times are filtered, so that a filter
    never creates pairs that do not exist without it."""
    for context, group in groupby(slates, key=attrgetter("occasion.context")):
        here = list(group)
        times = {slate.occasion.served_at for slate in here}
        if occasions == EVERY_OCCASION or (
            occasions.has_context(context) and any(not time or occasions.has_time(time) for time in times)
        ):
            yield here


# ---- made lists --------------------------------------------------------------------------------------------------


# how many other users' lists are tried until one differs from the own list
TRIES = 50
NO_OTHER = "user whose list does not differ from other users'"
NOTHING_LEFT = "pair without the items the user already has: nothing is left of the foreign list"
SAME_LEFT = "pair without the items the user already has: both lists have the same items"
NOTHING_FITS = "list into which no fault can be planted"


# a user, one of the user's lists, and its items
UsersList = tuple[str, data_store.CurrentSlate, list[str]]


def _pair_key(
    variant: made_lists.Variant, user: str, own: data_store.CurrentSlate, foreign_id: int, own_id: int
) -> CaseKey:
    a, b = made_lists.pair_names(variant, own.system)
    return CaseKey("pair", user, a, b, slate_a=foreign_id, slate_b=own_id, **own.occasion._asdict())


def hashed(text: str) -> int:
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


# ---- examples ----------------------------------------------------------------------------------------------------


OWN_PAIR = "the example's own pair"
NO_EXAMPLE = "no example"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Shots:
    """The examples of a run. `pairs` maps a user to the (user, item) pair whose explanations are the examples for that
    user's cases: one pair for all (`one`) or a pair of the user's own (`personal`). `scored` maps (user, item, system) to
    the explanation's id and scores; `own_scores`: those of the users themselves."""

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
        return data_store.explanation_view(db, project_id, explanation_id).model_copy(
            update={"scores": scores, "form": self.form, "own_scores": self.own_scores}
        )


# ---- requests ----------------------------------------------------------------------------------------------------


class Setup(NamedTuple):
    """The judge, settings and prompt of a run."""

    spec: JudgeSpec
    settings: RunSettings
    protocol: Protocol
    prompt: Prompt


def setup_of(db: Database, run: StoredRow) -> Setup:
    """The setup of a row of `runs`; the prompt has the run's own words for its variables."""
    settings = RunSettings.model_validate_json(run["settings"])
    prompt = prompt_by_id(db, run["prompt_id"]).with_variables({**form_words(settings), **settings.variables})
    return Setup(
        JudgeSpec.model_validate_json(run["judge"]), settings, protocol_named(run["protocol"]), prompt
    )


def material_now(db: Database, case: StoredRow, facts: ProtocolFacts, settings: RunSettings) -> Material:
    """What a judge would be shown of a case (a row of `cases`) with the present data."""
    key, shown = CaseKey(*(case[name] for name in CaseKey._fields)), RunCases()
    history = read_history(db, case["project_id"], key.user_id)
    user = shown_user(history, settings, key.occasion, needed=facts.needs_history)
    Chooser(db, case["project_id"], settings).show([(user, [key])], None, shown, store=False)
    return shown.sample.materials()[0]


def build_request(
    db: Database, run_id: int, setup: Setup, key: CallKey, material: Material | None = None
) -> tuple[Material, Request]:
    """The request of a call, and the material its reply is read against (None: not read yet). Raises NoProfileError,
    PromptError for a prompt that cannot be rendered, and NotFoundError for an image that is not stored any more."""
    _, settings, protocol, prompt = setup
    material = material or load_material(db, run_id, key.case_id, settings.top_k)
    sampling = sampling_of(settings, key.sample)
    if key.aspect == PROFILE:
        return material, profile_request(prompt, material, sampling)
    if settings.profile == "llm":
        reply = profile_reply(db, run_id, key.case_id)
        if reply is None:
            raise NoProfileError("the profile of this user could not be written")
        try:
            profile = profile_text(reply)
        except ReplyFault as fault:
            raise NoProfileError(f"the written profile of this user cannot be used: {fault}") from fault
        user = material.user.model_copy(update={"profile": profile})
        material = material.model_copy(update={"user": user})
    request = protocol.request(prompt, material, key.order, key.aspect, sampling)
    if key.sample:
        request = request.model_copy(update={"sample": key.sample})
    if digests := {placed.image.digest for message in request.messages for placed in message.images}:
        contents, messages = data_store.image_contents(db, digests), []
        for message in request.messages:
            images = tuple(p.model_copy(update={"data": contents[p.image.digest]}) for p in message.images)
            messages.append(message.model_copy(update={"images": images}))
        request = request.model_copy(update={"messages": tuple(messages)})
    return material, request


# ---- cases -------------------------------------------------------------------------------------------------------


# of shown events and items together: about 3 MB of text, which takes some ten times as much memory before it is stored
_SHOWN_A_TRANSACTION = 20_000


@dataclass
class RunCases:
    """The cases of a run, with little data each, because a run may have a hundred thousand. `cases` has each case with the
    ids of its snapshots, `users` the users they belong to; `views` counts the users as of each time shown. `strata` counts
    the users drawn from each activity level, `left_out` the cases not judged, by reason, and `undated` the events without
    a time by user, of users whose lists have one. `orders` of each case, where the texts that are read give them."""

    cases: list[tuple[CaseKey, ShownCase]] = field(default_factory=list)
    users: set[str] = field(default_factory=set)
    views: int = 0
    sample: Sample = field(default_factory=Sample)
    left_out: Counter[str] = field(default_factory=Counter)
    strata: dict[str, int] = field(default_factory=dict)
    undated: Counter[str] = field(default_factory=Counter)
    orders: list[tuple[Order, ...]] = field(default_factory=list)


class ReadText(NamedTuple):
    """A text that a run reads about a case instead of judging it. `order`: that in which a reason's rater saw the lists."""

    case_id: int
    order: Order
    text: str


def digest_of(texts: Iterable[ReadText]) -> str:
    return digest([list(text) for text in texts])


def cases_to_read(db: Database, texts: Sequence[ReadText], settings: RunSettings, *, store: bool) -> RunCases:
    """The cases that these texts are about, in their order; with `store`, snapshots of what is shown are stored. Of a case
    with a reason in each order, that of `ba` stands in the place of an example."""
    by_case: dict[int, dict[Order, ExplanationView]] = {}
    for case_id, order, text in texts:
        view = ExplanationView(item=ItemView(item_id="", title=""), text=text)
        by_case.setdefault(case_id, {})[order] = view
    result = RunCases(sample=Sample(has_images=False))
    cases: list[tuple[CaseKey, CaseViews]] = []
    for case_id, of in by_case.items():
        row = case_store.case_row(db, case_id)
        key = CaseKey(*(row[name] for name in CaseKey._fields))
        result.orders.append(tuple(sorted(of)))
        first, second, *_ = (*(of[order] for order in result.orders[-1]), None)
        views = CaseViews(key.kind, UserView(user_id=key.user_id), (), first, second, settings.top_k)
        cases.append((key, views))
        result.sample.add(views)
        result.users.add(key.user_id)
    result.cases = _snapshots(db, cases, {}, store=store)
    return result


def _snapshots(
    db: Database, cases: list[tuple[CaseKey, CaseViews]], slates: Mapping[int, SlateView], *, store: bool
) -> list[tuple[CaseKey, ShownCase]]:
    """The cases with the ids of snapshots of what is shown, which are stored in a short transaction of their own, so that
    a plan that takes an hour does not lock out others; without `store`, of none."""
    if not store:
        return [(key, ShownCase(0)) for key, _ in cases]
    users = list({id(views.user): views.user for _, views in cases}.values())
    with db.transaction():
        user_ids = dict(zip(map(id, users), save_snapshots(db, "user", users), strict=True))
        slate_ids: dict[int | None, int] = dict(
            zip(slates, save_snapshots(db, "slate", slates.values()), strict=True)
        )
        parts = (views.explanation for _, views in cases), (views.example for _, views in cases)
        texts = zip(*(_saved_texts(db, list(part)) for part in parts), strict=True)
    of = slate_ids.get
    return [
        (key, ShownCase(user_ids[id(views.user)], of(key.slate_a), of(key.slate_b), *text))
        for (key, views), text in zip(cases, texts, strict=True)
    ]


def _saved_texts(db: Database, texts: Sequence[ExplanationView | None]) -> list[int | None]:
    """The id of each text's snapshot; None for none."""
    ids = iter(save_snapshots(db, "explanation", [text for text in texts if text is not None]))
    return [None if text is None else next(ids) for text in texts]


def collect_cases(
    db: Database,
    project_id: int,
    setup: Setup,
    rater: str,
    *,
    store: bool,
    progress: Callable[[int], None],
) -> RunCases:
    """The cases in the order they are judged. With `store`, snapshots of what is shown are stored; without it (a dry run)
    nothing is. `progress` gets the number of cases read so far. Cases that the rater has judged already count towards
    `limit` and `sample`, and are left out. Raises AlreadyJudgedError, NoCasesError or RunError if none is left to judge."""
    _, settings, protocol, prompt = setup
    rater_id = None if settings.again else find_rater(db, project_id, rater)
    judged = set() if rater_id is None else case_store.judged_cases(db, rater_id, protocol.name)
    earlier = f"already judged by {rater}"
    choose = Chooser(db, project_id, settings)
    if protocol.name == made_lists.ADVERSARIAL:
        by_user = choose.adversarial(store=store)
    elif protocol.name == made_lists.PLANTED:
        by_user = choose.planted(prompt, store=store)
    else:
        by_user = choose.cases(protocol.facts.unit)
    pool = tuple(user for user, _ in by_user)
    shots = None
    if settings.shots != "none":
        shots = choose.shots(protocol.facts.unit, prompt)
        by_user = choose.with_examples(by_user, shots)
    result = RunCases(
        left_out=choose.left_out, undated=choose.undated, sample=Sample(has_images=settings.images)
    )
    # the users of a test of judges were drawn already
    asked = (settings.limit, None if protocol.facts.tests_judges else settings.sample, 1 << 60)
    wanted = min(n for n in asked if n is not None)
    people: set[str] = set()
    batch: list[UserCases] = []
    count = shown = 0
    for user, taken in choose.users(by_user, protocol.facts):
        if user.user_id not in people and len(people) == wanted:
            break
        people.add(user.user_id)
        fresh = [key for key in taken if key not in judged] if judged else taken
        if len(fresh) < len(taken):
            result.left_out[earlier] += len(taken) - len(fresh)
        if fresh:
            batch.append((user, fresh))
        count += len(taken)
        events = len(user.history) + len(user.searches) + len(user.clicks) + len(user.others)
        shown += events + len(fresh) * 2 * settings.top_k
        if shown >= _SHOWN_A_TRANSACTION:
            choose.show(batch, shots, result, store=store)
            batch, shown = [], 0
            progress(count)
    choose.show(batch, shots, result, store=store)
    progress(count)
    if not result.cases:
        if done := result.left_out[earlier]:
            raise AlreadyJudgedError(rater, done)
        why = ", ".join(f"{n} × {reason}" for reason, n in result.left_out.items()) or "nothing"
        is_late = not result.left_out and settings.occasions.is_timed
        raise NoCasesError(
            "there are no cases to judge",
            "Nothing was served in the chosen time." if is_late else f"Left out: {why}.",
            "Check --systems, --context, --from, --to, --history-days and --no-history.",
        )
    if settings.images and not result.sample.images:
        raise RunError(
            "none of the items to judge has an image",
            next_step="Import items with images (recjudge docs images), or leave out --images.",
        )
    if settings.stratify != "none":
        result.strata = {level.name: len(level.users & result.users) for level in choose.levels(pool)}
    return result
