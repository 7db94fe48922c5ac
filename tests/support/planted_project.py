"""A shop in which every kind of fault can be planted, and judges that always flag one thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from recjudge_tui.domain.calls import Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import PLANTED
from recjudge_tui.domain.material import SlateView
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import Plan, RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.store.calls import CallKey
from recjudge_tui.store.cases import PlantedFault
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects import project_id
from tests.support.requests import recording
from tests.support.runs import RULES, load, plan_run

SYSTEMS = ("als", "pop")
_HAD = (
    ("kettle", "Electric Kettle Steel", "Kitchen", "Corrick"),
    ("shampoo", "Everyday Shampoo, 1000 ml", "Hair", "Pellwick"),
    ("comb", "Wooden Comb", "Hair", "Oakly"),
    ("plates", "Stoneware Plates", "Kitchen", "Claymore"),
    ("brush", "Bristle Brush", "Hair", "Oakly"),
)
_OTHERS = (
    ("kettle2", "Whistling Kettle Copper", "Kitchen", "Boilwell"),
    ("guitar", "Acoustic Guitar", "Instruments", "Strumme"),
)
# what is recommended: no item is like another, or like what anybody has
LISTED = tuple(
    (f"l{n}", f"{word} Thing", "Hair" if n % 2 else "Kitchen", "")
    for n, word in enumerate(("Amber", "Birch", "Cedar", "Dune", "Ember", "Fjord", "Grove", "Heath"))
)


def make_shop(db: Database, users: int = 6, length: int = 5) -> int:
    """Users u0, u1, ... who bought a kettle, shampoo, plates, a comb and a brush; two systems recommend some of LISTED."""
    load(db, "items", [("item_id", "title", "category", "brand"), *_HAD, *_OTHERS, *LISTED])
    events: list[tuple[object, ...]] = [("user_id", "item_id", "type", "timestamp")]
    lists: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    for n in range(users):
        bought = ("comb", "plates", "brush", "kettle", "shampoo")
        events += [
            (f"u{n}", item, "purchase", f"2024-05-0{day}T12:00:00Z") for day, item in enumerate(bought, 1)
        ]
        for at, system in enumerate(SYSTEMS):
            lists += [
                (f"u{n}", system, f"l{(n + at + rank) % len(LISTED)}", rank + 1) for rank in range(length)
            ]
    load(db, "events", events)
    load(db, "lists", lists)
    return project_id(db, "films")


def planned_faults(
    db: Database, judge: JudgeSpec = RULES, *, rater: str = "", dry_run: bool = False, **wished: Any
) -> Plan:
    settings = settings_for(PLANTED, **{"sample": 4, "top_k": 5, **wished})
    return plan_run(db, RunRequest(project_id(db, "films"), judge, settings, rater=rater), dry_run=dry_run)


def judged_faults_run(db: Database, judge: JudgeSpec = RULES, **wished: Any) -> int:
    """The id of a run on lists with planted faults that is done."""
    run_id = planned_faults(db, judge, **wished).run_id
    assert run_id is not None
    assert work(db.path, run_id).state == "done"
    return run_id


def faults_of(db: Database, run_id: int) -> dict[int, PlantedFault]:
    """case id -> what was planted."""
    rows = db.rows(
        """SELECT rc.case_id, p.* FROM run_cases rc JOIN cases c ON c.id = rc.case_id
           JOIN planted_faults p ON p.slate_id = c.slate_a WHERE rc.run_id = ? ORDER BY rc.case_id""",
        (run_id,),
    )
    return {row[0]: PlantedFault(*tuple(row)[1:]) for row in rows}


def flagging_judge(
    db: Database,
    path: Path,
    choose: Callable[[PlantedFault, SlateView], list[tuple[int, str]]],
    **wished: Any,
) -> JudgeSpec:
    """A judge that flags the places (from 1) and issues that `choose` returns for each list with a planted fault."""
    plan = planned_faults(db, RULES, rater=f"recorder of {path.stem}", **wished)
    assert plan.run_id is not None
    faults = faults_of(db, plan.run_id)

    def reply(key: CallKey, request: Request) -> object:
        flags = choose(faults[key.case_id], request.material.slates[0])
        flagged = [{"item": place, "issue": issue, "reason": "recorded"} for place, issue in flags]
        return {"reasoning": "recorded", "category": "Poor Match", "flagged_items": flagged}

    return recording(db, plan, path, reply)
