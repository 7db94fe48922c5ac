"""From settings to a run that is written down in full before its first call."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.model.judge import JudgeSpec
from recjudge_tui.model.material import Material, SlateView, UserView
from recjudge_tui.model.records import RaterKind
from recjudge_tui.model.run import Estimate, RunSettings
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.running.context import is_empty, user_view
from recjudge_tui.running.estimate import Sample, estimate
from recjudge_tui.running.lease import refuse_when_active
from recjudge_tui.running.prices import UNKNOWN_PRICE, price_of
from recjudge_tui.running.selection import select_cases
from recjudge_tui.store.cases import CaseKey, ensure_case
from recjudge_tui.store.catalogue import event_counts, slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater, find_rater, judged_kinds
from recjudge_tui.store.runs import (
    NewRun,
    PlannedCall,
    add_calls,
    add_case,
    create_run,
    run_row,
    runs_of_rater,
    set_settings,
)
from recjudge_tui.store.snapshots import ShownCase, save_snapshot

USERS_A_TRANSACTION = 100
_MEDIA_EVENTS = ("rating", "watch", "play", "listen", "read")
_SHOP_EVENTS = ("purchase", "order", "buy", "cart")


@dataclass
class Draft:
    """A plan being made: small for each case, because a plan may hold a hundred thousand of them."""

    cases: list[tuple[CaseKey, ShownCase]] = field(default_factory=list)
    sample: Sample = field(default_factory=Sample)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Plan:
    """A run as planned; `run_id` is None for a dry run."""

    run_id: int | None
    rater: str
    prompt: str
    estimate: Estimate


def plan_run(
    db: Database,
    project_id: int,
    judge: JudgeSpec,
    settings: RunSettings,
    *,
    rater: str = "",
    prompt: str = "",
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Plan:
    """Choose the cases, keep what will be shown of them, and write run, cases and calls in one transaction.

    `rater` and `prompt` default to the judge's own name and the protocol's prompt for the project's kind
    of data. `progress` is told the number of cases looked at. Raises UsageError or RunError when the
    settings do not fit the project; nothing is left of such a plan.
    """
    face = make_judge(judge)
    chosen = protocol_named(settings.protocol)
    if settings.budget_usd is not None:
        _check_price(judge)
    load_shipped(db)
    prompt_id, version, text = get_prompt(db, prompt or default_prompt(db, project_id, chosen))
    if text.protocol != chosen.name:
        raise UsageError(f"prompt “{text.name}” is for {text.protocol}, not for {chosen.name}")
    if rater and (known := find_rater(db, project_id, rater)) is not None:
        _check_free(db, known, rater, chosen)
    draft = _draft(db, project_id, chosen, settings, store=not dry_run, progress=progress)
    if not draft.cases:
        raise RunError(
            "no case to judge", _reasons(draft.left_out), "See --systems, --history-days and --no-history."
        )
    calls_a_case = len(chosen.orders if settings.swap else chosen.orders_once) * settings.repeats
    expected = estimate(db, judge, face.rater_kind, text, draft.sample, calls_a_case)
    expected = expected.model_copy(update={"left_out": dict(draft.left_out)})
    name = rater or _free_name(db, project_id, face.name, chosen)
    label = f"{text.name}@{version}"
    if dry_run:
        return Plan(None, name, label, expected)
    new = NewRun(project_id, 0, prompt_id, judge, settings, expected)
    try:
        run_id = _write(db, new, name, face.rater_kind, chosen, draft)
    except sqlite3.IntegrityError as error:
        raise RunError(
            "the project was changed while the run was planned",
            "What it refers to is gone.",
            "Plan it again.",
        ) from error
    return Plan(run_id, name, label, expected)


def change_budget(db: Database, run_id: int, usd: float) -> None:
    """Give a run another budget, which counts what it has spent before.

    Raises RunError when a process works on the run, or the price of its judge is not known.
    """
    row = run_row(db, run_id)
    refuse_when_active(db, run_id)
    _check_price(JudgeSpec.model_validate_json(row["judge"]))
    settings = RunSettings.model_validate_json(row["settings"])
    set_settings(db, run_id, settings.model_copy(update={"budget_usd": usd}))


def _check_price(judge: JudgeSpec) -> None:
    if make_judge(judge).rater_kind == "judge" and price_of(judge) is None:
        raise RunError(*UNKNOWN_PRICE)


def default_prompt(db: Database, project_id: int, chosen: Protocol) -> str:
    """The protocol's prompt for films and the like when people here rate far more than they buy, else for shopping."""
    counts = event_counts(db, project_id)
    consumed = sum(n for kind, n in counts.items() if kind.startswith(_MEDIA_EVENTS))
    bought = sum(n for kind, n in counts.items() if kind.startswith(_SHOP_EVENTS))
    domain = "media" if consumed > bought else "shopping"
    return chosen.default_prompts.get(domain) or next(iter(chosen.default_prompts.values()))


def _draft(
    db: Database,
    project_id: int,
    chosen: Protocol,
    settings: RunSettings,
    *,
    store: bool,
    progress: Callable[[int], None] | None,
) -> Draft:
    selection = select_cases(db, project_id, chosen.case_kind, settings)
    draft = Draft(left_out=selection.left_out)
    wanted = min(n for n in (settings.limit, settings.sample, 1 << 60) if n is not None)
    views = _users(db, project_id, selection.by_user, settings, draft.left_out)
    batch: list[tuple[UserView, list[CaseKey]]] = []
    seen = 0
    for user, keys in views:
        taken = keys[: wanted - seen]
        batch.append((user, taken))
        seen += len(taken)
        if len(batch) >= USERS_A_TRANSACTION or seen >= wanted:
            _keep(db, project_id, batch, settings, draft, store=store)
            batch = []
            if progress:
                progress(seen)
        if seen >= wanted:
            break
    _keep(db, project_id, batch, settings, draft, store=store)
    return draft


def _users(
    db: Database,
    project_id: int,
    by_user: list[tuple[str, list[CaseKey]]],
    settings: RunSettings,
    left_out: Counter[str],
) -> Iterator[tuple[UserView, list[CaseKey]]]:
    for user_id, keys in by_user:
        user = user_view(db, project_id, user_id, settings)
        if is_empty(user) and not settings.no_history:
            left_out["user without history"] += len(keys)
        else:
            yield user, keys


def _keep(
    db: Database,
    project_id: int,
    batch: list[tuple[UserView, list[CaseKey]]],
    settings: RunSettings,
    draft: Draft,
    *,
    store: bool,
) -> None:
    """Snapshots in a short transaction of their own: a plan of an hour must not lock others out."""
    shown = [
        (user, [(key, _slates(db, project_id, key, settings.top_k)) for key in keys]) for user, keys in batch
    ]
    for user, cases in shown:
        for key, slates in cases:
            material = Material(kind=key.kind, user=user, slates=slates, top_k=settings.top_k)
            draft.sample.add(material)
    if not store:
        draft.cases += [(key, ShownCase(0)) for _, cases in shown for key, _ in cases]
        return
    with db.transaction():
        for user, cases in shown:
            user_snapshot = save_snapshot(db, "user", user)
            for key, slates in cases:
                kept = [save_snapshot(db, "slate", slate) for slate in slates]
                draft.cases.append((key, ShownCase(user_snapshot, *kept)))


def _slates(db: Database, project_id: int, key: CaseKey, top_k: int) -> tuple[SlateView, ...]:
    return tuple(
        SlateView(items=slate_top(db, project_id, slate, top_k))
        for slate in (key.slate_a, key.slate_b)
        if slate is not None
    )


def _write(db: Database, run: NewRun, rater: str, kind: RaterKind, chosen: Protocol, draft: Draft) -> int:
    orders = chosen.orders if run.settings.swap else chosen.orders_once
    with db.transaction():
        rater_id = ensure_rater(db, run.project_id, rater, kind, {"judge": run.judge.spec})
        _check_free(db, rater_id, rater, chosen)
        run_id = create_run(db, run._replace(rater_id=rater_id))
        calls: list[PlannedCall] = []
        for key, shown in draft.cases:
            case_id = ensure_case(db, run.project_id, key)
            add_case(db, run_id, case_id, shown)
            calls += [
                PlannedCall(case_id, order, sample=sample)
                for sample in range(run.settings.repeats)
                for order in orders
            ]
        add_calls(db, run_id, calls)
    return run_id


def _free_name(db: Database, project_id: int, name: str, chosen: Protocol) -> str:
    """The judge's own name, numbered when it already has a run on this kind of case."""
    number, candidate = 1, name
    while (found := find_rater(db, project_id, candidate)) is not None and not _is_free(db, found, chosen):
        number += 1
        candidate = f"{name}#{number}"
    return candidate


def _is_free(db: Database, rater_id: int, chosen: Protocol) -> bool:
    kinds = {protocol_named(row["protocol"]).case_kind for row in runs_of_rater(db, rater_id)}
    return chosen.case_kind not in kinds | judged_kinds(db, rater_id)


def _check_free(db: Database, rater_id: int, rater: str, chosen: Protocol) -> None:
    if not _is_free(db, rater_id, chosen):
        raise UsageError(
            f"rater “{rater}” has judged such cases already",
            "One rater gives one verdict on a case.",
            "Choose another --name, or delete the earlier run or import.",
        )


def _reasons(left_out: Counter[str]) -> str:
    return "Left out: " + (", ".join(f"{n} × {reason}" for reason, n in left_out.items()) or "nothing") + "."
