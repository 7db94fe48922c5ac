"""Plan a run: from a request to the run as it is stored before its first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from recjudge_tui.domain.calls import PROFILE, Message
from recjudge_tui.domain.event_types import Data, data_of
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.roles import RaterKind, is_language_model
from recjudge_tui.domain.run import Estimate, RunSettings, form_words, sampling_of
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import ConstraintError, NoCasesError, RunError, UsageError
from recjudge_tui.judges.base import Judge, takes_images
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.rendering import profile_messages
from recjudge_tui.runs.cases import EarlierCases, RunCases, collect_cases
from recjudge_tui.runs.estimate import CallPlan, Sample, estimate, refuse_too_long
from recjudge_tui.runs.garbage import YOUNG_OBJECTS_OF_A_PLAN, few_collections
from recjudge_tui.runs.order import (
    CaseCalls,
    case_orders,
    guidelines_are_shared,
    ordered_calls,
    orders_a_case,
)
from recjudge_tui.runs.prices import require_price
from recjudge_tui.runs.settings import (
    AlreadyJudgedError,
    check_series,
    check_settings,
    domain_words,
    left_out_examples_note,
    project_domain,
    series_name,
)
from recjudge_tui.store.calls import stored_reply
from recjudge_tui.store.cases import CaseKey, ensure_cases, judged_cases
from recjudge_tui.store.data import event_counts, slate_digests
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out_copies
from recjudge_tui.store.prompts import domain_named, get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater, find_rater
from recjudge_tui.store.runs import (
    NewRun,
    PlannedCall,
    add_calls,
    add_cases,
    answered_calls,
    create_run,
    judge_capabilities,
    judge_past,
)

# ---- images ------------------------------------------------------------------------------------------------------


_OTHERWISE = "Leave out --images, or choose a judge that sees images (docs/images.md)."


def check_sight(db: Database, spec: JudgeSpec, judge: Judge, settings: RunSettings) -> None:
    """Raises UsageError if images are to be shown to a judge that does not accept images, or that could not see them
    in a test.
    """
    if not settings.images:
        return
    if not takes_images(judge):
        raise UsageError(f"judge “{judge.name}” does not accept images", next_step=_OTHERWISE)
    known = judge_capabilities(db, spec)
    if known is not None and known.images is False:
        raise UsageError(
            f"judge “{judge.name}” does not see images",
            "This is the result of “recjudge judge test”.",
            _OTHERWISE,
        )


def check_images(sample: Sample, settings: RunSettings) -> None:
    """Raises RunError if images are to be shown but none of the judged items has one."""
    if settings.images and sample.cases and not sample.images:
        raise RunError(
            "none of the items to judge has an image",
            next_step="Import items with images (docs/images.md), or leave out --images.",
        )


# ---- plan --------------------------------------------------------------------------------------------------------


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
    """A planned run; `run_id` is None where nothing was stored (a dry run), `existing` where it was planned before. `prompt`
    is NAME@VERSION. `first` are the messages of its first call, where it is planned now."""

    run_id: int | None
    rater: str
    prompt: str
    estimate: Estimate
    first: tuple[Message, ...] = ()
    protocol: str = ""
    existing: bool = False


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
        at_once=settings.concurrency or judge.concurrency,
    )
    count = len(cases.cases) * planned.calls_a_case * len(planned.aspects)
    share = _stored_share(db, request, protocol, prompt_id, prompt, cases, count)
    planned = planned._replace(stored=share)
    known = judge_past(db, request.judge).identity or judge_capabilities(db, request.judge)
    if known is not None and known.context_length and is_language_model(judge.rater_kind):
        materials = cases.sample.materials()
        refuse_too_long(prompt, materials, planned.aspects, planned.tokens_a_reply, known.context_length)
    expected = estimate(db, request.judge, judge.rater_kind, prompt, cases.sample, planned).model_copy(
        update={
            "left_out": dict(cases.left_out),
            "strata": cases.strata,
            "undated_note": _undated_note(cases.undated),
            "copies_notes": tuple(held_out_copies(db, request.project_id).sentences),
            "published": preset.lines() if preset else (),
            "domain_note": left_out_examples_note(prompt, domain),
        }
    )
    first = _first_messages(db, request, protocol, prompt, cases)
    plan = Plan(None, rater, f"{prompt.name}@{version}", expected, first, protocol.name)
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


def _stored_share(
    db: Database,
    asked: RunRequest,
    protocol: Protocol,
    prompt_id: int,
    prompt: Prompt,
    cases: RunCases,
    calls: int,
) -> float:
    """The share of the calls that have a stored reply, by those of the sampled cases."""
    settings, judge = asked.settings, make_judge(asked.judge)
    identity = judge_past(db, asked.judge).identity
    if identity is None or not (settings.use_cache and judge.cacheable) or settings.profile == "llm":
        return 0.0
    key = identity.model_copy(update={"headers": asked.judge.headers}).cache_key()
    orders = protocol.orders[: orders_a_case(protocol, settings)]
    requests = [
        protocol.request(prompt, material, order, aspect, sampling_of(settings, 0))
        for material, order, aspect in product(
            cases.sample.materials(), orders, call_aspects(settings, prompt)
        )
    ]
    stored = sum(stored_reply(db, request.request_hash(key)) is not None for request in requests)
    return min(stored / len(requests), answered_calls(db, asked.judge, prompt_id) / calls)


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


# ---- ablation ----------------------------------------------------------------------------------------------------


PROMPTS = ("generic", "overspecified", "saer")


class Arm(NamedTuple):
    """One prompt of the comparison: its name as given, its full name, and the rater that will answer."""

    name: str
    prompt: str
    rater: str


def arms_of(db: Database, project_id: int, judge: JudgeSpec, names: tuple[str, ...]) -> list[Arm]:
    """The arms in the order of `names`; `generic`, `overspecified` and `saer` are the shipped ones for the
    project's kind of data, anything else is a prompt's own NAME[@VERSION].

    Raises UsageError for fewer than two, one named twice, and a prompt that does not compare two lists;
    NotFoundError for an unknown prompt.
    """
    if len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(
            "an ablation compares two or more different prompts", f"Requested: {', '.join(names) or 'none'}."
        )
    load_shipped(db)
    chosen = protocol(ADVERSARIAL)
    usual = default_prompt(db, project_id, chosen)
    full = {"saer": usual} | {
        name: usual.replace(f"{chosen.facts.prompt_protocol}-", f"{name}-") for name in PROMPTS[:2]
    }
    arms = []
    for name in names:
        prompt = full.get(name, name)
        of = get_prompt(db, prompt)[2].protocol
        if of != chosen.facts.prompt_protocol:
            raise UsageError(f"prompt “{prompt}” is for {of}, not for {chosen.facts.prompt_protocol}")
        arms.append(Arm(name, prompt, f"{judge.rater} {name}"))
    return arms
