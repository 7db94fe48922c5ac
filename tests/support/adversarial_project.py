"""A project whose foreign lists give themselves away, and judges that always do one thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from recjudge_tui.domain.calls import Order, Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.calls import CallKey
from recjudge_tui.store.cases import CaseKey, case_row
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.copies import fill
from tests.support.requests import recording
from tests.support.runs import RULES, load, plan_run

SYSTEMS = ("als", "pop")


def make_taste_project(db: Database, users: int = 12, length: int = 6, *, name_of: str = "u") -> int:
    """Users of one of three genres, four films of which they rated; two systems recommend six more of it.

    The lists of every user begin with a film that the user after next rated, so that a foreign list often holds
    something the user already has.
    """
    fill(db, ("tastes", users, length, name_of), lambda empty: _import_tastes(empty, users, length, name_of))
    return project_id(db, "films")


def _import_tastes(db: Database, users: int, length: int, name_of: str) -> None:
    genres = 3
    films = [(f"g{g}f{n}", f"Film {n} of genre {g}", f"genre {g}") for g in range(genres) for n in range(60)]
    load(db, "items", [("item_id", "title", "category"), *films])
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "timestamp", "value")]
    lists: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    for n in range(users):
        user, genre = f"{name_of}{n:02d}", n % genres
        for day in range(4):
            events.append((user, f"g{genre}f{(n + day) % 20}", "rating", f"2024-05-0{day + 1}T12:00:00Z", 5))
        events.append((user, f"g{genre}f59", "heldout_rating", "2024-06-01T12:00:00Z", 5))
        for at, system in enumerate(SYSTEMS):
            other = (n + 2) % users
            own = [f"g{genre}f{20 + (n * 3 + at * 7 + rank) % 38}" for rank in range(length - 2)]
            shared = [f"g{other % genres}f{other % 20}", f"g{other % genres}f{(other + 1) % 20}"]
            lists += [(user, system, item, rank) for rank, item in enumerate([*own, *shared], start=1)]
    load(db, "events", events)
    load(db, "lists", lists)


def planned_pairs(
    db: Database,
    judge: JudgeSpec = RULES,
    *,
    rater: str = "",
    prompt: str = "",
    dry_run: bool = False,
    **wished: Any,
) -> Plan:
    return plan_run(
        db,
        RunRequest(project_id(db, "films"), judge, wish(**wished), rater=rater, prompt=prompt),
        dry_run=dry_run,
    )


def wish(**wished: Any) -> RunSettings:
    return settings_for("adversarial", **{"sample": 12, "top_k": 6, **wished})


def judged_pairs_run(db: Database, judge: JudgeSpec = RULES, **wished: Any) -> int:
    """The id of a run of adversarial pairs that is done."""
    run_id = planned_pairs(db, judge, **wished).run_id
    assert run_id is not None
    assert work(db.path, run_id).state == "done"
    return run_id


def keys_of(db: Database, run_id: int) -> list[tuple[CaseKey, Order]]:
    """The cases of a run in the order of their calls, and the order in which each was shown."""
    rows = db.rows(
        """SELECT c.kind, c.user_id, c.system_a, c.system_b, c.item_id, c.slate_a, c.slate_b, c.explanation_id,
             k.list_order FROM calls k JOIN cases c ON c.id = k.case_id WHERE k.run_id = ? ORDER BY k.id""",
        (run_id,),
    )
    return [(CaseKey(*tuple(row)[:8]), row["list_order"]) for row in rows]


def recorded(db: Database, path: Path, choose: Callable[[Order, str], str], **wished: Any) -> JudgeSpec:
    """A judge that answers every adversarial pair of such a run as `choose` says: order shown and case's
    system b -> Set 1, Set 2 or Tie."""
    plan = planned_pairs(db, RULES, rater=f"recorder of {path.stem}", **wished)

    def reply(key: CallKey, _: Request) -> object:
        winner = choose(key.order, case_row(db, key.case_id)["system_b"])
        return {"reasoning": "recorded", "winner": winner}

    return recording(db, plan, path, reply)


def first_list(order: Order, _: str) -> str:
    return "Set 1"
