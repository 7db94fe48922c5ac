"""Assigns cases to annotators: balanced, with overlap, reproducible from a seed. A later plan only adds tasks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from recjudge_tui.domain.annotation import FEWEST_ANNOTATORS
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import SEED
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.plan.plan import default_prompt
from recjudge_tui.runs.plan.selection import select_cases
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.runs.plan.users import cases_of_users
from recjudge_tui.store.cases import CaseKey, ensure_cases
from recjudge_tui.store.data import ItemViews
from recjudge_tui.store.database import Database
from recjudge_tui.store.people import (
    NewTask,
    add_tasks,
    excluded_cases,
    last_position,
    newest_run,
    task_annotators,
)
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater

Case = TypeVar("Case")
Rater = TypeVar("Rater", str, int)


@dataclass(frozen=True)
class AssignmentRequest:
    """Which cases to assign to whom.

    `per_case`: annotators per case. `overlap`: the share (0 to 1) of cases that all `annotators` judge; one annotator
    judges each of the others. Without either, two annotators judge each case, or one if there is only one.
    `prompt` provides the guidelines; if empty, the prompt of the protocol's newest run does, else the default prompt.
    `sample` and `seed` select the same cases as a run with these values.
    """

    protocol: str
    annotators: tuple[str, ...]
    prompt: str = ""
    sample: int | None = None
    overlap: float | None = None
    per_case: int | None = None
    seed: int = SEED
    systems: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnnotationPlan:
    """The result of a plan.

    `cases` have at least one annotator, `shared` two or more. `assigned` counts the new tasks per annotator, `left_out`
    the unassigned cases per reason.
    """

    protocol: str
    prompt: str
    cases: int
    shared: int
    assigned: dict[str, int]
    left_out: dict[str, int]

    def lines(self) -> list[str]:
        """The plan in text, one fact per line."""
        tasks = ", ".join(f"{name} {count:,}" for name, count in self.assigned.items())
        return [
            f"{self.protocol} by {self.prompt}: {self.cases:,} cases, {self.shared:,} of them with two or more annotators",
            f"newly assigned: {tasks}",
            *(f"left out: {count:,} × {reason}" for reason, count in self.left_out.items()),
        ]


def assign(
    cases: Sequence[Case],
    raters: Sequence[Rater],
    wanted: Sequence[int],
    taken: Mapping[Case, Collection[Rater]],
    excluded: Mapping[Rater, Collection[Case]],
    seed: int,
) -> dict[Rater, list[Case]]:
    """Assign each case until `wanted[i]` raters have case i, counting those who have it already (`taken`).

    The raters with the fewest new cases are chosen; ties are broken at random. Nobody gets a case twice, or one of
    their `excluded` cases. If nothing is taken or excluded, the numbers of cases per rater differ by at most one. The
    order of `raters` does not matter. Each rater's cases are in a random order.
    """
    rng = random.Random(f"{seed} assign")
    loads: dict[Rater, list[Case]] = {rater: [] for rater in sorted(raters)}
    for case, needed in zip(cases, wanted, strict=True):
        holders = taken.get(case, ())
        free = [r for r in loads if r not in holders and case not in excluded.get(r, ())]
        rng.shuffle(free)
        free.sort(key=lambda rater: len(loads[rater]))
        for rater in free[: max(needed - len(holders), 0)]:
            loads[rater].append(case)
    for rater, load in loads.items():
        random.Random(f"{seed} order {rater}").shuffle(load)
    return loads


def plan_annotation(db: Database, project_id: int, request: AssignmentRequest) -> AnnotationPlan:
    """Assign cases and store the tasks in one transaction. Earlier assignments stay as they are.

    Raises UsageError for invalid names, numbers or prompts, and when nothing is left to assign; RunError when the
    project has no case to judge.
    """
    chosen = protocol_named(request.protocol)
    names = checked_annotators(request)
    load_shipped(db)
    prompt_id, version, prompt, run_id = _guidelines(db, project_id, chosen, request.prompt)
    settings = _settings(chosen, request)
    left_out: Counter[str] = Counter()
    keys = _cases(db, project_id, chosen, settings, left_out)
    if not keys:
        reasons = ", ".join(f"{count} × {reason}" for reason, count in left_out.items())
        raise RunError("no case to judge", f"Left out: {reasons or 'nothing'}.")
    with db.transaction():
        ids = {ensure_rater(db, project_id, name, "annotator"): name for name in names}
        cases = ensure_cases(db, project_id, keys)
        taken = task_annotators(db, project_id, chosen.name, ids)
        excluded = {rater: excluded_cases(db, rater, chosen.name) for rater in ids}
        loads = _assigned(cases, ids, request, taken, excluded)
        for rater_id, load in loads.items():
            start = last_position(db, rater_id, chosen.name)
            firsts = _firsts(
                len(load), f"{request.seed} first {ids[rater_id]} {start}", chosen.facts.unit == "pair"
            )
            tasks = [
                NewTask(rater_id, case, start + place, first)
                for place, (case, first) in enumerate(zip(load, firsts, strict=True), 1)
            ]
            add_tasks(db, project_id, chosen.name, prompt_id, run_id, tasks)
        _refuse_empty_plan(loads, ids, cases, taken, excluded)
    annotator_counts = Counter(case for load in loads.values() for case in load)
    annotator_counts.update({case: len(taken[case]) for case in cases if case in taken})
    if len(annotator_counts) < len(cases):
        left_out["no annotator is free"] += len(cases) - len(annotator_counts)
    return AnnotationPlan(
        protocol=chosen.name,
        prompt=f"{prompt.name}@{version}",
        cases=len(annotator_counts),
        shared=sum(count >= FEWEST_ANNOTATORS for count in annotator_counts.values()),
        assigned={ids[rater]: len(load) for rater, load in loads.items()},
        left_out=dict(left_out),
    )


def checked_annotators(request: AssignmentRequest) -> tuple[str, ...]:
    """The annotators' names, stripped. Raises UsageError for missing, repeated or unreadable names and invalid numbers."""
    names = tuple(name.strip() for name in request.annotators)
    if not names or not all(names):
        raise UsageError("annotators need names", next_step="Add --annotators ana,ben.")
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise UsageError(f"annotator named twice: {', '.join(doubled)}")
    odd = [name for name in names if one_line(name, 60) != name]
    if odd:
        raise UsageError(
            f"the name “{one_line(odd[0], 60)}” cannot be displayed", next_step="Choose another name."
        )
    if request.overlap is not None and request.per_case is not None:
        raise UsageError("--overlap and --per-case cannot be combined", next_step="Use one of them.")
    if request.overlap is not None and not 0 <= request.overlap <= 1:
        raise UsageError(f"the overlap must be between 0 and 1, not {request.overlap:g}")
    if request.per_case is not None and request.per_case < 1:
        raise UsageError("a case needs at least one annotator")
    if request.sample is not None and request.sample < 1:
        raise UsageError("a sample needs at least one case")
    return names


def _guidelines(
    db: Database, project_id: int, chosen: Protocol, prompt_name: str
) -> tuple[int, int, Prompt, int | None]:
    """(id, version, prompt, run id): the prompt with the guidelines, and the newest run that used it, if any."""
    newest = None if prompt_name else newest_run(db, project_id, chosen.name)
    default = newest["prompt"] if newest is not None else default_prompt(db, project_id, chosen)
    prompt_id, version, stored = get_prompt(db, prompt_name or default)
    if stored.protocol != chosen.facts.prompt_protocol:
        raise UsageError(
            f"prompt “{stored.name}” is for {stored.protocol}, not for {chosen.facts.prompt_protocol}"
        )
    run = newest_run(db, project_id, chosen.name, prompt_id)
    return prompt_id, version, stored, None if run is None else run["id"]


def _settings(chosen: Protocol, request: AssignmentRequest) -> RunSettings:
    return settings_for(chosen.name, sample=request.sample, seed=request.seed, systems=request.systems)


def _cases(
    db: Database, project_id: int, chosen: Protocol, settings: RunSettings, left_out: Counter[str]
) -> list[CaseKey]:
    """The cases that a run with these settings would judge. Counts the other cases in `left_out`."""
    selection = select_cases(db, project_id, chosen.facts.unit, settings)
    cases: list[CaseKey] = []
    for _, keys in cases_of_users(
        db, project_id, selection, settings, chosen.facts, ItemViews(db, project_id)
    ):
        cases += keys
        if settings.sample is not None and len(cases) >= settings.sample:
            break
    left_out.update(selection.left_out)
    return cases[: settings.sample]


def _assigned(
    cases: list[int],
    ids: Mapping[int, str],
    request: AssignmentRequest,
    taken: Mapping[int, set[int]],
    excluded: Mapping[int, set[int]],
) -> dict[int, list[int]]:
    """New cases per rater id. Uses names instead of ids, so that a seed gives the same result in another database."""
    raters = {name: rater for rater, name in ids.items()}
    rng = random.Random(f"{request.seed} cases")
    order = list(range(len(cases)))
    rng.shuffle(order)
    by_place = {place: cases[place] for place in order}
    holders = {
        place: {ids.get(rater, f"\n{rater}") for rater in taken.get(case, ())}
        for place, case in by_place.items()
    }
    wanted = [_wanted(request, rank, len(order), holders[place], raters) for rank, place in enumerate(order)]
    most = max((len(holders[place] | raters.keys()) for place in order), default=0)
    if request.per_case is not None and request.per_case > most:
        raise UsageError(
            f"{request.per_case} annotators per case need at least {request.per_case} names",
            f"You gave {len(ids)}.",
        )
    excluded_places = {
        ids[rater]: {place for place, case in by_place.items() if case in excluded_ids}
        for rater, excluded_ids in excluded.items()
    }
    loads = assign(order, list(raters), wanted, holders, excluded_places, request.seed)
    return {raters[name]: [cases[place] for place in load] for name, load in loads.items()}


def _wanted(
    request: AssignmentRequest, rank: int, cases: int, holders: set[str], raters: Collection[str]
) -> int:
    """The number of annotators for the case at position `rank` in the seed's order."""
    if request.per_case is not None:
        return request.per_case
    if request.overlap is None:
        return min(FEWEST_ANNOTATORS, len(holders | set(raters)))
    return len(holders | set(raters)) if rank < round(request.overlap * cases) else 1


def _firsts(count: int, seed: str, pair: bool) -> list[str]:
    """Which list each task shows first: "a" and "b" equally often (within one), in random order; "" without a pair."""
    if not pair:
        return [""] * count
    rng = random.Random(seed)
    sides = ["a", "b"] if rng.random() < 0.5 else ["b", "a"]
    firsts = [sides[place % 2] for place in range(count)]
    rng.shuffle(firsts)
    return firsts


def _refuse_empty_plan(
    loads: Mapping[int, list[int]],
    ids: Mapping[int, str],
    cases: Sequence[int],
    taken: Mapping[int, set[int]],
    excluded: Mapping[int, set[int]],
) -> None:
    """Raises UsageError when the plan adds no task; this rolls back the surrounding transaction."""
    if any(loads.values()):
        return
    blocked = [ids[rater] for rater, case_ids in excluded.items() if any(case in case_ids for case in cases)]
    if blocked and not any(case in taken for case in cases):
        raise UsageError(
            f"{', '.join(sorted(blocked))} cannot judge these cases again",
            "These cases are assigned to them under another protocol, and a person gives one verdict per case.",
            "Use another name for this protocol, such as ana-arena.",
        )
    raise UsageError(
        "nothing is left to assign",
        "Every case already has its annotators.",
        "Raise --per-case, --overlap or --sample, or name other annotators.",
    )
