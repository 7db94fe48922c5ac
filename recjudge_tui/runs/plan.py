"""Plan a run: from a request to the run as it is stored before its first call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product

from recjudge_tui.domain.calls import PROFILE, Message, Order, digest
from recjudge_tui.domain.event_types import Data, data_of
from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.domain.made_lists import ADVERSARIAL, adversarial_pair
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.roles import RaterKind, is_language_model
from recjudge_tui.domain.run import Estimate, RunSettings, form_words, sampling_of
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import ConstraintError, RunError, UsageError
from recjudge_tui.judges.registry import make_judge, takes_images
from recjudge_tui.protocols.registry import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.rendering import profile_messages, system_text
from recjudge_tui.runs import settings as run_settings
from recjudge_tui.runs.cases import ReadText, RunCases, Setup, cases_to_read, collect_cases, hashed
from recjudge_tui.runs.estimate import CallPlan, estimate, refuse_too_long, require_price
from recjudge_tui.store import runs as run_store
from recjudge_tui.store.calls import stored_reply
from recjudge_tui.store.cases import CaseKey, ShownCase, ensure_cases
from recjudge_tui.store.data import event_counts, of_slates
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out_copies
from recjudge_tui.store.prompts import domain_named, get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.system import few_collections

# ---- plan --------------------------------------------------------------------------------------------------------


# a reply of four scores and no reasoning
SCORES_ONLY_TOKENS = 40
# a larger page cache takes its whole size of memory and makes planning no faster
_CACHE_KIB = 12_288
# a plan makes many long-lived objects and hardly any cycles
_YOUNG_OBJECTS = 20_000_000

CaseCounter = Callable[[int], None]


@dataclass(frozen=True)
class RunRequest:
    """A run as the user requests it. `rater` is the name of the run's rater; empty: the rater that was asked the same
    before, see `series_name`. `prompt` is NAME[@VERSION]; empty: the protocol's default for the project's kind of data.
    `texts`: what a run reads instead of judging cases."""

    project_id: int
    judge: JudgeSpec
    settings: RunSettings
    rater: str = ""
    prompt: str = ""
    texts: tuple[ReadText, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A planned run; `run_id` is None where nothing was stored (a dry run), `existing` where it was planned before.
    `prompt` is NAME@VERSION. `first` are the messages of its first call, where it is planned now."""

    run_id: int | None
    rater: str
    prompt: str
    estimate: Estimate
    first: tuple[Message, ...] = ()
    protocol: str = ""
    existing: bool = False


@dataclass(frozen=True)
class Draft:
    """A run that is planned in full and not stored yet; `plan` has no run id, `setup` the words of the project's domain."""

    project_id: int
    plan: Plan
    rater_kind: RaterKind
    series: run_settings.Series
    setup: Setup
    cases: RunCases


@few_collections(_YOUNG_OBJECTS)
def draft_run(
    db: Database, request: RunRequest, *, store: bool, progress: CaseCounter = lambda _: None
) -> Draft:
    """Choose the cases of a run and estimate calls, tokens, cost and time. With `store`, snapshots of what will be shown
    are stored, so that `store_draft` can follow. `progress` gets the number of cases read so far. Raises UsageError or
    RunError when the settings do not fit the project."""
    settings, spec, project_id = request.settings, request.judge, request.project_id
    judge, protocol = make_judge(spec), protocol_named(settings.protocol)
    if settings.budget_usd is not None:
        require_price(spec)
    load_shipped(db)
    domain = settings.domain or run_settings.project_domain(db, project_id)
    name = request.prompt or default_prompt(db, project_id, settings.protocol, domain)
    prompt_id, version, prompt = get_prompt(db, name)
    run_settings.check_settings(settings, protocol, prompt, judge)
    known, takes = run_store.judge_capabilities(db, spec), takes_images(judge)
    if settings.images and (not takes or (known is not None and known.images is False)):
        raise UsageError(
            f"judge “{judge.name}” does not {'see' if takes else 'accept'} images",
            "This is the result of “recjudge judge test”." if takes else "",
            "Leave out --images, or choose a judge that sees images (recjudge docs images).",
        )
    settings = settings.model_copy(update={"variables": run_settings.domain_words(prompt, domain, settings)})
    prompt = prompt.with_variables({**form_words(settings), **settings.variables})
    setup, series = Setup(spec, settings, protocol, prompt), run_settings.Series(spec, prompt_id, settings)
    rater = request.rater or run_settings.series_name(db, project_id, series)
    run_settings.check_series(db, project_id, rater, series)
    if request.texts:
        cases = cases_to_read(db, request.texts, settings, store=store)
    else:
        with db.bulk_writing(_CACHE_KIB):
            cases = collect_cases(db, project_id, setup, rater, store=store, progress=progress)
    facts, past = protocol.facts, run_store.judge_past(db, spec).identity
    planned = CallPlan(
        aspects=call_aspects(settings, prompt),
        calls_a_case=max(map(len, cases.orders), default=orders_a_case(protocol, settings))
        * settings.repeats,
        profiles=cases.views if settings.profile == "llm" else 0,
        tokens_a_reply=facts.tokens_a_reply if settings.reasoning == "first" else SCORES_ONLY_TOKENS,
        at_once=settings.concurrency or judge.concurrency,
    )
    materials = cases.sample.materials()
    if past is not None and settings.use_cache and judge.cacheable and settings.profile != "llm":
        calls = len(cases.cases) * planned.calls_a_case * len(planned.aspects)
        key = past.model_copy(update={"headers": spec.headers}).cache_key()
        most = run_store.answered_calls(db, spec, prompt_id) / calls
        planned = planned._replace(stored=min(_stored_share(db, setup, materials, key), most))
    context = (past or known or Capabilities()).context_length
    if context and is_language_model(judge.rater_kind):
        refuse_too_long(prompt, materials, planned.aspects, planned.tokens_a_reply, context)
    undated = ""
    if n := cases.undated.total():
        events = f"{quantity(n, 'event')} of {quantity(len(cases.undated), 'user')}"
        verbs = ("has", "it is", "it") if n == 1 else ("have", "they are", "they")
        undated = "{} {} no time: {} shown, although {} may be later than the list".format(events, *verbs)
    preset = facts.published if settings.as_published else None
    expected = estimate(db, spec, judge.rater_kind, prompt, cases.sample, planned).model_copy(
        update={
            "left_out": dict(cases.left_out),
            "strata": cases.strata,
            "undated_note": undated,
            "copies_notes": tuple(held_out_copies(db, project_id).sentences),
            "published": preset.lines() if preset else (),
            "domain_note": run_settings.left_out_examples_note(prompt, domain),
        }
    )
    first = _first_messages(db, project_id, setup, cases, materials[0])
    plan = Plan(None, rater, f"{prompt.name}@{version}", expected, first, protocol.name)
    return Draft(project_id, plan, judge.rater_kind, series, setup, cases)


@few_collections(_YOUNG_OBJECTS)
def store_draft(db: Database, draft: Draft) -> Plan:
    """Store run, cases and calls in one transaction. Raises UsageError when the rater has judged such cases in the
    meantime, RunError when the project was changed."""
    project_id, rater, prompt_id = draft.project_id, draft.plan.rater, draft.series.prompt_id
    spec, settings, _, prompt = draft.setup
    aspects = call_aspects(settings, prompt)
    try:
        with db.bulk_writing(_CACHE_KIB), db.transaction():
            run_settings.check_series(db, project_id, rater, draft.series)
            rater_id = ensure_rater(db, project_id, rater, draft.rater_kind, {"judge": spec.spec})
            new = run_store.NewRun(project_id, rater_id, prompt_id, spec, settings, draft.plan.estimate)
            run_id = run_store.create_run(db, new)
            keys = [key for key, _ in draft.cases.cases]
            ids = ensure_cases(db, project_id, keys)
            views = [shown for _, shown in draft.cases.cases]
            run_store.add_cases(db, run_id, zip(ids, views, strict=True))
            # one for each user as of each time, before all calls that show it
            first_cases: dict[int, int] = {}
            if settings.profile == "llm":
                for case_id, shown in zip(ids, views, strict=True):
                    first_cases.setdefault(shown.user, case_id)
            profiles = (run_store.PlannedCall(case_id, "", PROFILE) for case_id in first_cases.values())
            orders = draft.cases.orders or case_orders(db, project_id, draft.setup, keys)
            planned = list(zip(ids, views, orders, strict=True))
            # then the question about an aspect follows the lists
            shared = len({system_text(prompt, settings.top_k, aspect) for aspect in aspects}) == 1
            calls = ordered_calls(planned, aspects, settings.repeats, aspect_last=shared)
            run_store.add_calls(db, run_id, chain(profiles, calls))
    except ConstraintError as error:
        raise RunError(
            "the project changed while the run was being planned",
            "Data that the run refers to was deleted.",
            "Plan the run again.",
        ) from error
    return replace(draft.plan, run_id=run_id)


def _stored_share(db: Database, setup: Setup, materials: Sequence[Material], key: str) -> float:
    """The share of the calls about these cases that have a stored reply of the judge with this cache key."""
    _, settings, protocol, prompt = setup
    orders, sampling = protocol.orders[: orders_a_case(protocol, settings)], sampling_of(settings, 0)
    requests = [
        protocol.request(prompt, material, order, aspect, sampling)
        for material, order, aspect in product(materials, orders, call_aspects(settings, prompt))
    ]
    return sum(stored_reply(db, each.request_hash(key)) is not None for each in requests) / len(requests)


def _first_messages(
    db: Database, project_id: int, setup: Setup, cases: RunCases, material: Material
) -> tuple[Message, ...]:
    _, settings, protocol, prompt = setup
    if settings.profile == "llm":
        return profile_messages(prompt, material)
    key = cases.cases[0][0]
    ((order, *_),) = cases.orders[:1] or case_orders(db, project_id, setup, [key])
    aspect = call_aspects(settings, prompt)[0]
    return protocol.request(prompt, material, order, aspect, sampling_of(settings, 0)).messages


def default_prompt(db: Database, project_id: int, protocol: str, domain: str = "") -> str:
    """The protocol's prompt for the domain (empty: that of the project's data). If that is unknown: the prompt for media
    if users rate more than they buy, for shopping if they buy more, and the protocol's first prompt if they do neither."""
    prompts = protocol_named(protocol).facts.prompts
    domain = domain or run_settings.project_domain(db, project_id)
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


# ---- call order --------------------------------------------------------------------------------------------------


# a case with what is shown of it, and the orders in which its lists are shown
CaseCalls = tuple[int, ShownCase, tuple[Order, ...]]


def ordered_calls(
    cases: Sequence[CaseCalls], aspects: Sequence[str], repeats: int, *, aspect_last: bool
) -> Iterator[run_store.PlannedCall]:
    """Every call of the cases. Users keep their order. Cases that show the same data about a user move to the place of the
    first of them. The calls about them are sorted by the list shown first, then by the other one, then by aspect; by
    aspect first if prompts do not end with it. Repeats of a prompt follow each other.

    A prompt consists of the guidelines, the user, the lists and the question, in this order. A server that remembers only
    its last prompt thus reads each part as rarely as one that remembers them all. With two systems, a case's second order
    follows its first one."""
    by_user: dict[int, list[CaseCalls]] = {}
    for case in cases:
        by_user.setdefault(case[1].user, []).append(case)
    for shown_alike in by_user.values():
        prompts = _prompts(shown_alike)
        by_aspect = ((prompt, aspect) for aspect in aspects for prompt in prompts)
        for (case_id, order), aspect in product(prompts, aspects) if aspect_last else by_aspect:
            for sample in range(repeats):
                yield run_store.PlannedCall(case_id, order, aspect, sample)


def _prompts(cases: Sequence[CaseCalls]) -> list[tuple[int, Order]]:
    """(case, order) of the prompts about one user, in the order in which their lists first occur."""
    rank: dict[int | None, int] = {}
    prompts = []
    for case_id, shown, orders in cases:
        for order in orders:
            parts = (shown.slate_b, shown.slate_a) if order == "ba" else (shown.slate_a, shown.slate_b)
            ranks = tuple(rank.setdefault(part, len(rank)) for part in (shown.example, *parts))
            prompts.append((ranks, case_id, order))
    # stable: explanations of one user stay in the order of their items
    prompts.sort(key=lambda prompt: prompt[0])
    return [(case_id, order) for _, case_id, order in prompts]


# ---- orders ------------------------------------------------------------------------------------------------------


def orders_a_case(protocol: Protocol, settings: RunSettings) -> int:
    """How many orders each case is asked in."""
    return len(protocol.orders) if settings.swap else 1


def case_orders(
    db: Database, project_id: int, setup: Setup, keys: Sequence[CaseKey]
) -> list[tuple[Order, ...]]:
    """The orders of each case, cases in the order of the plan. A pair asked once shows the tested system first and the
    baseline second, as RecSys Arena does. Without a baseline the order is drawn: for adversarial cases by the seed, for
    others by the content of the lists, not the names of their systems; of equal lists, by the order of import."""
    _, settings, protocol, _ = setup
    if protocol.name == ADVERSARIAL:
        return _blocks_of_two(keys, partial(_foreign_first, settings.seed))
    if orders_a_case(protocol, settings) == len(protocol.orders):
        return [protocol.orders] * len(keys)
    if settings.baseline:
        return [("ba" if key.system_a == settings.baseline else "ab",) for key in keys]
    contents = of_slates(db, project_id, "digest")

    def a_first(key: CaseKey, _: int) -> bool:
        of = settings.seed, key.user_id, *key.occasion
        a, b = ((digest(*of, contents[slate]), slate) for slate in (key.slate_a, key.slate_b) if slate)
        return a < b

    return _blocks_of_two(keys, a_first)


def _foreign_first(seed: int, key: CaseKey, block: int) -> bool:
    """The same for the two cases of a user, so that they do not differ by position."""
    pair = adversarial_pair(key.system_a, key.system_b)
    assert pair is not None, f"{key.system_a} and {key.system_b} are not an adversarial pair"
    return bool(hashed(f"{seed}|{pair.system}|{block}") & 1)


def _blocks_of_two(
    keys: Sequence[CaseKey], a_first: Callable[[CaseKey, int], bool]
) -> list[tuple[Order, ...]]:
    """Permuted blocks: of each two consecutive cases of two systems, each system comes first once, in the first case of
    a numbered block as `a_first` says. This balances the positions, and a longer run begins like a shorter one."""
    blocks: dict[tuple[str, str], list[bool]] = {}
    orders: list[tuple[Order, ...]] = []
    for key in keys:
        firsts = blocks.setdefault((key.system_a, key.system_b), [])
        block, is_second = divmod(len(firsts), 2)
        firsts.append(not firsts[-1] if is_second else a_first(key, block))
        orders.append(("ab" if firsts[-1] else "ba",))
    return orders


# ---- ablation ----------------------------------------------------------------------------------------------------


PROMPTS = ("generic", "overspecified", "saer")


def arms_of(db: Database, project_id: int, judge: JudgeSpec, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """The raters that will answer, and their prompts, in the order of `names`; `generic`, `overspecified` and `saer` are
    the shipped ones for the project's kind of data, anything else is a prompt's own NAME[@VERSION]. Raises UsageError for
    fewer than two, one named twice, and a prompt that does not compare two lists; NotFoundError for an unknown prompt."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(
            "an ablation compares two or more different prompts", f"Requested: {', '.join(names) or 'none'}."
        )
    load_shipped(db)
    chosen = protocol_named(ADVERSARIAL)
    usual = default_prompt(db, project_id, ADVERSARIAL)
    full = {"saer": usual} | {
        name: usual.replace(f"{chosen.facts.prompt_protocol}-", f"{name}-") for name in PROMPTS[:2]
    }
    arms = []
    for name in names:
        prompt = full.get(name, name)
        of = get_prompt(db, prompt)[2].protocol
        if of != chosen.facts.prompt_protocol:
            raise UsageError(f"prompt “{prompt}” is for {of}, not for {chosen.facts.prompt_protocol}")
        arms.append((f"{judge.rater} {name}", prompt))
    return arms
