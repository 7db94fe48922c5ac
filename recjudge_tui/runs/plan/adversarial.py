"""Choose the adversarial pairs of a run: each user's own list against a list made for somebody else (SAER)."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from recjudge_tui.domain.calls import Order
from recjudge_tui.domain.made_lists import Variant, adversarial_pair, pair_names
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import RunError
from recjudge_tui.runs.plan.context import is_empty, no_history, shown_user
from recjudge_tui.runs.plan.selection import Selection, chosen_systems
from recjudge_tui.store.cases import CaseKey, generated_slate, items_had
from recjudge_tui.store.data import CurrentSlate, newest_slates, slate_items
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history

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
    drawn = _drawn(db, project_id, settings, wanted, left_out)
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


def _drawn(
    db: Database, project_id: int, settings: RunSettings, wanted: int, left_out: Counter[str]
) -> list[Lists]:
    systems = chosen_systems(db, project_id, settings, "list")
    slates = newest_slates(db, project_id)
    rings = {system: _Ring(user for user, own in slates.items() if system in own) for system in systems}
    room = {s: wanted // len(systems) + (at < wanted % len(systems)) for at, s in enumerate(systems)}
    users = sorted(slates)
    random.Random(settings.seed).shuffle(users)
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
