"""Real lists against random ones on MovieLens-100k: the built-in judge must tell them apart."""

from __future__ import annotations

import csv
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from recjudge_tui.domain.material import CaseKind, ItemView, Material, ShownEvent, SlateView, UserView
from recjudge_tui.judges.rules.evidence import GOOD, PARTIAL, POOR
from recjudge_tui.judges.rules.judge import Subject, winner

pytestmark = pytest.mark.data
REAL = ("popularity", "cooccurrence", "embedding")


@dataclass(frozen=True)
class World:
    items: dict[str, ItemView]
    users: dict[str, UserView]
    lists: dict[str, dict[str, tuple[str, ...]]]

    def material(self, user_id: str, *systems: str) -> Material:
        slates = tuple(
            SlateView(items=tuple(self.items[i] for i in self.lists[system][user_id])) for system in systems
        )
        kind: CaseKind = "list" if len(slates) == 1 else "pair"
        return Material(kind=kind, user=self.users[user_id], slates=slates)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _user(user_id: str, events: list[dict[str, str]], items: dict[str, ItemView]) -> UserView:
    """Ratings of the 183 days before the user's last event, newest first, at most 100."""
    ordered = sorted(events, key=lambda e: e["timestamp"], reverse=True)
    as_of = ordered[0]["timestamp"]
    since = (datetime.fromisoformat(as_of) - timedelta(days=183)).isoformat()
    history = tuple(
        ShownEvent(
            type=e["type"], timestamp=e["timestamp"], item=items[e["item_id"]], value=float(e["value"])
        )
        for e in ordered
        if e["timestamp"] >= since
    )
    return UserView(user_id=user_id, as_of=as_of, history=history[:100])


@pytest.fixture(scope="module")
def world() -> World:
    folder = Path(os.environ["RECJUDGE_DATA"]) / "ml100k"
    items = {
        r["item_id"]: ItemView(
            item_id=r["item_id"], title=r["title"], category=r["category"],
            attributes={"release_date": r["release_date"]},
        )
        for r in _rows(folder / "items.csv")
    }  # fmt: skip
    events = defaultdict(list)
    for row in _rows(folder / "events.csv"):
        events[row["user_id"]].append(row)
    lists: dict[str, dict[str, tuple[str, ...]]] = {}
    for system in REAL:
        ranked = defaultdict(list)
        for row in _rows(folder / f"lists_{system}.csv"):
            ranked[row["user_id"]].append((int(row["rank"]), row["item_id"]))
        lists[system] = {u: tuple(i for _, i in sorted(r)) for u, r in ranked.items()}
    catalogue = sorted(items)
    for name in ("random", "random again", "random any"):
        lists[name] = {}
        for user_id, seen in events.items():
            rated = set() if name == "random any" else {e["item_id"] for e in seen}
            pool = [i for i in catalogue if i not in rated]
            lists[name][user_id] = tuple(random.Random(f"{name}-{user_id}").sample(pool, 10))
    return World(items, {u: _user(u, e, items) for u, e in events.items()}, lists)


def held_out(world: World) -> list[str]:
    """The half of the users on whom no threshold was chosen."""
    return sorted(world.users, key=int)[1::2]


def shares(world: World, system: str) -> dict[str, float]:
    users = held_out(world)
    counts = Counter(Subject(world.material(u, system)).lists[0].category for u in users)
    return {label: counts[label] / len(users) for label in (GOOD, PARTIAL, POOR)}


def duel(world: World, a: str, b: str) -> tuple[int, int, int]:
    """Wins of a, ties, wins of b over the held-out users."""
    counts = Counter(winner("overall", Subject(world.material(u, a, b))) for u in held_out(world))
    return counts[1], counts[0], counts[-1]


@pytest.mark.parametrize("system", REAL)
@pytest.mark.parametrize("chance", ["random", "random again", "random any"])
def test_real_list_beats_random_one(world: World, system: str, chance: str) -> None:
    wins, ties, losses = duel(world, system, chance)
    assert wins / (wins + losses) > 0.85
    # lists with the same label are a tie
    assert wins / (wins + ties + losses) > 0.5


@pytest.mark.parametrize("system", REAL)
def test_shares_of_real_lists_are_clearly_better(world: World, system: str) -> None:
    real, chance = shares(world, system), shares(world, "random")
    assert real[GOOD] > chance[GOOD] + 0.25
    assert real[POOR] < chance[POOR] - 0.08


def test_two_random_lists_are_even(world: World) -> None:
    wins, _, losses = duel(world, "random", "random again")
    assert 0.35 < wins / (wins + losses) < 0.65


def test_film_histories_raise_no_shopping_issue(world: World) -> None:
    found = {
        finding.issue
        for system in (*REAL, "random")
        for u in world.users
        for finding in Subject(world.material(u, system)).lists[0].findings
    }
    assert not found & {"durable-goods redundancy", "consumable pacing"}
