"""A project of films with many lists a user: visits in contexts and on days, labelled by two people; users with a plan."""

from __future__ import annotations

from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.copies import fill
from tests.support.runs import load

# context -> when its lists were served
VISITS = {"home": "2024-05-01T08:00:00+00:00", "cart": "2024-05-31T23:59:59+00:00", "": ""}
PLANS = {"u0": "free", "u1": "free", "u2": "free", "u3": "paid", "u4": "paid", "u5": "", "u6": "free"}
# without an entry in the table of users
STRANGERS = ("u7",)
USERS = (*PLANS, *STRANGERS)
LISTS = ("user_id", "system", "item_id", "rank", "context", "served_at")
LABELS = ("rater", "user_id", "system", "system_a", "system_b", "value", "context", "served_at", "flags")


def make_visits(db: Database, visits: dict[str, str] = VISITS) -> int:
    """Lists of `a` and `b` for each user and visit, judged alone and in pairs by anna and ben, who flag an item
    of each poor list; user uN has N events and one held out. The project's name is films."""
    fill(db, ("visits", *visits.items()), lambda empty: _import_visits(empty, visits))
    return project_id(db, "films")


def _import_visits(db: Database, visits: dict[str, str]) -> None:
    load(
        db,
        "items",
        [("item_id", "title", "category"), *((f"i{n}", f"Film {n}", f"g{n % 3}") for n in range(40))],
    )
    load(
        db,
        "users",
        [("user_id", "plan", "age"), *((user, plan, n) for n, (user, plan) in enumerate(PLANS.items()))],
    )
    events = [
        (user, f"i{30 + day}", "purchase", f"2024-04-{day + 1:02d}")
        for n, user in enumerate(USERS)
        for day in range(n)
    ]
    held_out = [(user, f"i{n}", "heldout_purchase", "2024-06-05") for n, user in enumerate(USERS)]
    load(db, "events", [("user_id", "item_id", "type", "timestamp"), *events, *held_out])
    lists: list[tuple[object, ...]] = []
    labels: list[tuple[object, ...]] = []
    for n, user in enumerate(USERS):
        for place, (context, time) in enumerate(visits.items()):
            for system in ("a", "b"):
                first = n + 3 * place + (system == "b")
                lists += [
                    (user, system, f"i{(first + rank) % 30}", rank, context, time) for rank in (1, 2, 3)
                ]
            for rater, shift in (("anna", 0), ("ben", n % 2)):
                good = ("Good Match", "Partial Match", "Poor Match")[(n + place + shift) % 3]
                flags = f"i{n + 3 * place + 1}:owned" if good == "Poor Match" else ""
                labels.append((rater, user, "a", "", "", good, context, time, flags))
                winner = ("A", "B", "Tie")[(n * n + place + shift) % 3]
                labels.append((rater, user, "", "a", "b", winner, context, time, ""))
    load(db, "lists", [LISTS, *lists])
    load(db, "labels", [LABELS, *labels])
