"""A project of films whose lists are imported again and again, each time with other items."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recjudge_tui.store.database import Database
from tests.support.runs import load

USERS = tuple(f"u{n:02d}" for n in range(12))
SYSTEMS = ("als", "knn", "pop")
LABELS = {"pairwise": ("A", "Tie", "B"), "pointwise": ("Good Match", "Partial Match", "Poor Match")}
_ITEMS = 40
_LENGTH = 4


def make_films(db: Database) -> None:
    """Items, what users rated, and what they rated later; no lists yet."""
    items = [(f"i{n}", f"Film number {n}", f"genre {n % 5}") for n in range(_ITEMS)]
    load(db, "items", [("item_id", "title", "category"), *items])
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "timestamp", "value")]
    for n, user in enumerate(USERS):
        events += [(user, f"i{(n * 3 + day) % _ITEMS}", "rating", f"2024-05-0{day}T12:00:00Z", 2 + (n + day) % 4)
                   for day in range(1, 6)]  # fmt: skip
        events += [(user, f"i{(n * 5 + later) % _ITEMS}", "heldout_rating", "2024-06-01T12:00:00Z", 5)
                   for later in range(8)]  # fmt: skip
    load(db, "events", events)


def import_lists(db: Database, generation: int, users: Sequence[str] = USERS) -> None:
    """A list by every system for each user. Of `pop` every third list is the same in all generations."""
    rows: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank", "score")]
    for n, user in enumerate(USERS):
        for at, system in enumerate(SYSTEMS):
            start = n * (5 - at) + at * 2 + (0 if _stays(n, system) else generation * (7 + 2 * at))
            rows += [(user, system, f"i{(start + rank * (1 + at)) % _ITEMS}", rank + 1, _LENGTH - rank)
                     for rank in range(_LENGTH) if user in users]  # fmt: skip
    load(db, "lists", rows)


def import_labels(db: Database, generation: int, rater: str = "people", users: Sequence[str] = USERS) -> None:
    """Labels of every list and every pair of lists that stands now, by one person; they differ where the lists do."""
    rows: list[tuple[object, ...]] = [
        ("rater", "user_id", "system", "system_a", "system_b", "aspect", "value", "protocol")
    ]
    for n, user in enumerate(users):
        for at, system in enumerate(SYSTEMS):
            # a person who labels the same list again says the same
            moved = 0 if _stays(n, system) else generation
            value = LABELS["pointwise"][(n + at * 2 + moved) % 3]
            rows.append((rater, user, system, "", "", "overall", value, "pointwise"))
            value = LABELS["pairwise"][(n * 2 + at + generation) % 3]
            pair = sorted((system, SYSTEMS[(at + 1) % 3]))
            rows.append((rater, user, "", *pair, "overall", value, "pairwise"))
    load(db, "labels", rows)


def _stays(user: int, system: str) -> bool:
    return system == "pop" and user % 3 == 0


Run = Callable[[str], tuple[int, str, str]]


def judge_all(run: Run, judge: str, name: str) -> None:
    """Judge every list alone and in pairs: as SAER does under this name, as RecSys Arena does under one beside it."""
    for protocol in ("pointwise", "pairwise", "absolute", "arena"):
        name = f"{name} wide" if protocol == "absolute" else name
        code, _, err = run(f"run {protocol} -p films --judge {judge} --name '{name}' --top 4")
        assert code == 0, err
