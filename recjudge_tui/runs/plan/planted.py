"""Choose the lists of a run into which faults are planted, and plant one of each kind that the user's history
allows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from recjudge_tui.domain.made_lists import FAULT_KINDS, FaultKind, planted_name
from recjudge_tui.domain.material import ItemView
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.errors import RunError
from recjudge_tui.judges.rules.faults import (
    ISSUE_OF,
    Catalogue,
    Fault,
    Shopper,
    catalogue_of,
    fault,
    shopper_of,
)
from recjudge_tui.runs.plan.context import is_empty, no_history, shown_user
from recjudge_tui.runs.plan.domain import project_domain
from recjudge_tui.runs.plan.selection import Selection, chosen_systems
from recjudge_tui.store.cases import (
    CaseKey,
    PlantedFault,
    generated_slate,
    held_out_items,
    known_generated_slate,
    save_fault,
)
from recjudge_tui.store.data import CurrentSlate, ItemViews, newest_slates, slate_tops
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_histories
from recjudge_tui.store.imports import known_ids

USERS = 100
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
    made = _drawn(planter, left_out)
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


def _drawn(planter: _Planter, left_out: Counter[str]) -> list[_MadeList]:
    settings = planter.settings
    wanted = settings.sample or USERS
    systems = chosen_systems(planter.db, planter.project_id, settings, "list")
    slates = newest_slates(planter.db, planter.project_id)
    room = {s: wanted // len(systems) + (at < wanted % len(systems)) for at, s in enumerate(systems)}
    users = sorted(slates)
    random.Random(settings.seed).shuffle(users)
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
