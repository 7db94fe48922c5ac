"""Plan a run: from a request to the run as it is stored before its first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from recjudge_tui.domain.calls import PROFILE, Message
from recjudge_tui.domain.event_types import Data, data_of
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.run import Estimate, RunSettings, form_words, sampling_of
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import ConstraintError, NoCasesError, RunError
from recjudge_tui.judges.prefix_memory import prefix_memory
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.templates.rendering import profile_messages
from recjudge_tui.runs.garbage import YOUNG_OBJECTS_OF_A_PLAN, few_collections
from recjudge_tui.runs.plan.call_order import CaseCalls, guidelines_are_shared, ordered_calls
from recjudge_tui.runs.plan.cases import EarlierCases, RunCases, collect_cases
from recjudge_tui.runs.plan.domain import (
    domain_words,
    left_out_examples_note,
    project_domain,
    unknown_domain_note,
)
from recjudge_tui.runs.plan.estimate import CallPlan, Reuse, estimate
from recjudge_tui.runs.plan.images import check_images, check_sight
from recjudge_tui.runs.plan.orders import case_orders, orders_a_case
from recjudge_tui.runs.plan.reuse import reused_share
from recjudge_tui.runs.plan.series import AlreadyJudgedError, check_series, series_name
from recjudge_tui.runs.plan.settings import check_settings
from recjudge_tui.runs.prices import require_price
from recjudge_tui.store.cases import CaseKey, ensure_cases, judged_cases
from recjudge_tui.store.data import event_counts, slate_digests
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out_copies
from recjudge_tui.store.prompts import domain_named, get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater, find_rater
from recjudge_tui.store.runs import NewRun, PlannedCall, add_calls, add_cases, create_run, model_owners

# a reply of four scores and no reasoning
SCORES_ONLY_TOKENS = 40
# a larger page cache takes its whole size of memory and makes planning no faster
_CACHE_KIB = 12_288

CaseCounter = Callable[[int], None]


@dataclass(frozen=True)
class RunRequest:
    """A run as the user requests it.

    `rater` is the name of the run's rater; empty: the rater that was asked the same before, see `series_name`.
    `prompt` is NAME[@VERSION]; empty: the protocol's default for the project's kind of data.
    """

    project_id: int
    judge: JudgeSpec
    settings: RunSettings
    rater: str = ""
    prompt: str = ""


@dataclass(frozen=True)
class Plan:
    """A planned run; `run_id` is None where nothing was stored (a dry run). `prompt` is NAME@VERSION. `first` are the
    messages of its first call."""

    run_id: int | None
    rater: str
    prompt: str
    estimate: Estimate
    first: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A run that is planned in full and not stored yet; `plan` has no run id."""

    request: RunRequest
    plan: Plan
    rater_kind: RaterKind
    protocol: Protocol
    prompt_id: int
    prompt: Prompt
    cases: RunCases


@few_collections(YOUNG_OBJECTS_OF_A_PLAN)
def draft_run(
    db: Database, request: RunRequest, *, store: bool, progress: CaseCounter | None = None
) -> Draft:
    """Choose the cases of a run and estimate calls, tokens, cost and time.

    With `store`, snapshots of what will be shown are stored, so that `store_draft` can follow. `progress` gets the
    number of cases read so far. Raises UsageError or RunError when the settings do not fit the project.
    """
    settings, judge = request.settings, make_judge(request.judge)
    protocol = protocol_named(settings.protocol)
    if settings.budget_usd is not None:
        require_price(request.judge)
    load_shipped(db)
    domain = settings.domain or project_domain(db, request.project_id)
    name = request.prompt or default_prompt(db, request.project_id, protocol, domain)
    prompt_id, version, prompt = get_prompt(db, name)
    check_settings(settings, protocol, prompt, judge)
    check_sight(db, request.judge, judge, settings)
    settings = settings.model_copy(update={"variables": domain_words(prompt, domain, settings)})
    request = replace(request, settings=settings)
    prompt = prompt.with_variables({**form_words(settings), **settings.variables})
    rater = _rater(db, request, prompt_id)
    cases = _cases_of(db, request, protocol, prompt, rater, store=store, progress=progress)
    check_images(cases.sample, settings)
    preset = protocol.facts.published if settings.as_published else None
    planned = CallPlan(
        aspects=call_aspects(settings, prompt),
        calls_a_case=orders_a_case(protocol, settings) * settings.repeats,
        profiles=cases.views if settings.profile == "llm" else 0,
        tokens_a_reply=protocol.facts.tokens_a_reply if settings.reasoning == "first" else SCORES_ONLY_TOKENS,
        reuse=_reuse(db, request, protocol, prompt, cases),
    )
    expected = estimate(db, request.judge, judge.rater_kind, prompt, cases.sample, planned).model_copy(
        update={
            "left_out": dict(cases.left_out),
            "strata": cases.strata,
            "undated_note": _undated_note(cases.undated),
            "copies_notes": tuple(held_out_copies(db, request.project_id).sentences),
            "published": preset.lines() if preset else (),
            "domain_note": left_out_examples_note(prompt, domain) if domain else unknown_domain_note(prompt),
        }
    )
    first = _first_messages(db, request, protocol, prompt, cases)
    plan = Plan(None, rater, f"{prompt.name}@{version}", expected, first)
    return Draft(request, plan, judge.rater_kind, protocol, prompt_id, prompt, cases)


def _cases_of(
    db: Database,
    request: RunRequest,
    protocol: Protocol,
    prompt: Prompt,
    rater: str,
    *,
    store: bool,
    progress: CaseCounter | None,
) -> RunCases:
    """The cases to judge. Raises AlreadyJudgedError or NoCasesError if none is left."""
    settings = request.settings
    judged = EarlierCases(rater, _already_judged(db, request, rater, protocol))
    with db.bulk_writing(_CACHE_KIB):
        cases = collect_cases(
            db, request.project_id, protocol, prompt, settings, judged, store=store, progress=progress
        )
    if not cases.cases and (count := cases.left_out[judged.reason]):
        raise AlreadyJudgedError(rater, count)
    if not cases.cases:
        raise NoCasesError(
            "there are no cases to judge",
            _reasons(cases.left_out, settings),
            "Check --systems, --context, --from, --to, --history-days and --no-history.",
        )
    return cases


@few_collections(YOUNG_OBJECTS_OF_A_PLAN)
def store_draft(db: Database, draft: Draft) -> Plan:
    """Store run, cases and calls in one transaction.

    Raises UsageError when the rater has judged such cases in the meantime, RunError when the project was changed.
    """
    try:
        run_id = _store(db, draft)
    except ConstraintError as error:
        raise RunError(
            "the project changed while the run was being planned",
            "Data that the run refers to was deleted.",
            "Plan the run again.",
        ) from error
    return replace(draft.plan, run_id=run_id)


def _store(db: Database, draft: Draft) -> int:
    request, settings, rater = draft.request, draft.request.settings, draft.plan.rater
    aspects = call_aspects(settings, draft.prompt)
    with db.bulk_writing(_CACHE_KIB), db.transaction():
        recipe = {"judge": request.judge.spec}
        check_series(db, request.project_id, rater, request.judge, draft.prompt_id, settings)
        rater_id = ensure_rater(db, request.project_id, rater, draft.rater_kind, recipe)
        run_id = create_run(
            db,
            NewRun(
                request.project_id, rater_id, draft.prompt_id, request.judge, settings, draft.plan.estimate
            ),
        )
        keys = [key for key, _ in draft.cases.cases]
        ids = ensure_cases(db, request.project_id, keys)
        views = [shown for _, shown in draft.cases.cases]
        add_cases(db, run_id, zip(ids, views, strict=True))
        if settings.profile == "llm":
            # one for each user as of each time, before all calls that show it
            first_cases: dict[int, int] = {}
            for case_id, shown in zip(ids, views, strict=True):
                first_cases.setdefault(shown.user, case_id)
            add_calls(db, run_id, (PlannedCall(case_id, "", PROFILE) for case_id in first_cases.values()))
        all_orders = case_orders(
            draft.protocol, settings, keys, lambda: slate_digests(db, request.project_id)
        )
        planned = list(map(CaseCalls, ids, views, all_orders))
        shared = guidelines_are_shared(draft.prompt, settings.top_k, aspects)
        add_calls(db, run_id, ordered_calls(planned, aspects, settings.repeats, aspect_last=shared))
    return run_id


def _reuse(
    db: Database, request: RunRequest, protocol: Protocol, prompt: Prompt, cases: RunCases
) -> Reuse | None:
    """What the judge's server reuses of prompts, if it is known to reuse any."""
    settings = request.settings
    memory = prefix_memory(request.judge, model_owners(db, request.judge))
    # a profile is not written yet
    if memory is None or settings.profile == "llm":
        return None
    orders = protocol.orders[: orders_a_case(protocol, settings)]
    sample = [views for _, views in cases.sample.kept]
    aspects = call_aspects(settings, prompt)
    share = reused_share(memory, protocol, prompt, settings, aspects, orders, sample)
    return Reuse(memory.server, share)


def _first_messages(
    db: Database, request: RunRequest, protocol: Protocol, prompt: Prompt, cases: RunCases
) -> tuple[Message, ...]:
    settings, material = request.settings, cases.sample.materials()[0]
    if settings.profile == "llm":
        return profile_messages(prompt, material)
    keys = [key for key, _ in cases.cases[:1]]
    orders = case_orders(protocol, settings, keys, lambda: slate_digests(db, request.project_id))
    aspect = call_aspects(settings, prompt)[0]
    return protocol.request(prompt, material, orders[0][0], aspect, sampling_of(settings, 0)).messages


def default_prompt(db: Database, project_id: int, protocol: Protocol, domain: str = "") -> str:
    """The protocol's prompt for the domain (empty: that of the project's data).

    If that is unknown: the prompt for media if users rate more than they buy, for shopping if they buy more, and the
    protocol's first prompt if they do neither.
    """
    prompts = protocol.facts.prompts
    domain = domain or project_domain(db, project_id)
    if domain and (data := domain_named(domain).data) in prompts:
        return prompts[data]
    counts: Counter[Data | None] = Counter()
    for event_type, n in event_counts(db, project_id).items():
        counts[data_of(event_type)] += n
    kind: Data = "media" if counts["media"] > counts["shopping"] else "shopping"
    known = counts["media"] or counts["shopping"]
    return prompts[kind] if known and kind in prompts else next(iter(prompts.values()))


def call_aspects(settings: RunSettings, prompt: Prompt) -> tuple[str, ...]:
    """The aspects that calls are about: all in one call (the empty name), or one by one."""
    return tuple(spec.name for spec in prompt.aspects) if settings.aspects == "single" else ("",)


def _rater(db: Database, request: RunRequest, prompt_id: int) -> str:
    """The rater of the run. Raises UsageError when it was asked something else about such cases."""
    where = db, request.project_id
    if not request.rater:
        return series_name(*where, request.judge.rater, request.judge, prompt_id, request.settings)
    check_series(*where, request.rater, request.judge, prompt_id, request.settings)
    return request.rater


def _undated_note(undated: Counter[str]) -> str:
    if not undated:
        return ""
    events = f"{quantity(undated.total(), 'event')} of {quantity(len(undated), 'user')}"
    if undated.total() == 1:
        return f"{events} has no time: it is shown, although it may be later than the list"
    return f"{events} have no time: they are shown, although they may be later than the list"


def _already_judged(db: Database, request: RunRequest, rater: str, protocol: Protocol) -> set[CaseKey]:
    """The cases with a valid verdict of the rater, unless they are to be judged again."""
    rater_id = find_rater(db, request.project_id, rater)
    if rater_id is None or request.settings.again:
        return set()
    return judged_cases(db, rater_id, protocol.name)


def _reasons(left_out: Counter[str], settings: RunSettings) -> str:
    if not left_out and settings.occasions.is_timed:
        return "Nothing was served in the chosen time."
    return "Left out: " + (", ".join(f"{n} × {reason}" for reason, n in left_out.items()) or "nothing") + "."
