"""What a run shows of its cases, as it is stored, and the request of a call, the same one every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, repeat
from typing import NamedTuple

from recjudge_tui.domain.calls import PROFILE, Order, Request
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import ADVERSARIAL, PLANTED
from recjudge_tui.domain.material import CaseViews, ExplanationView, Material, SlateView, UserView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import ProtocolFacts
from recjudge_tui.domain.run import RunSettings, form_words, sampling_of
from recjudge_tui.errors import NoProfileError, ReplyFault
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import profile_request
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.replies import profile_text
from recjudge_tui.runs.context import is_empty, no_history, shown_user
from recjudge_tui.runs.estimate import Sample
from recjudge_tui.runs.reading import ReadText, read_cases, sample_of, store_read
from recjudge_tui.runs.selection import (
    Chooser,
    Selection,
    Shots,
    drawn_by_level,
)
from recjudge_tui.store import data as data_store
from recjudge_tui.store.calls import CallKey, profile_reply
from recjudge_tui.store.cases import (
    CaseKey,
    ShownCase,
    load_material,
    save_snapshots,
)
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.histories import read_histories, read_history
from recjudge_tui.store.prompts import prompt_by_id

# ---- users -------------------------------------------------------------------------------------------------------


NOT_BEFORE = "event at or after the time the list was served: not shown"
_USERS_AT_ONCE = 100

UserCases = tuple[UserView, list[CaseKey]]


def cases_of_users(
    db: Database,
    project_id: int,
    selection: Selection,
    settings: RunSettings,
    facts: ProtocolFacts,
    items: data_store.ItemViews,
    undated: Counter[str] | None = None,
) -> Iterator[UserCases]:
    """Each user as of each time with the cases of that time, in the order of the selection. Users without the history that
    is needed are left out. These cases, and events that are not shown because they are not before the time the list was
    served, are counted in the selection's `left_out`. `undated` gets the number of events without a time of each user
    whose lists have one."""
    needed = facts.needs_history
    history_needed = (needed or settings.profile == "llm") and not settings.no_history
    left_out: Counter[str] = selection.left_out
    for start in range(0, len(selection.by_user), _USERS_AT_ONCE):
        chunk = selection.by_user[start : start + _USERS_AT_ONCE]
        histories = read_histories(db, project_id, {user for user, _ in chunk}, items)
        for user_id, all_keys in chunk:
            history = histories[user_id]
            if undated is not None and history.undated and any(key.served_at for key in all_keys):
                undated[user_id] = history.undated
            # what is shown with a case depends on its time, and on its context if an event is held out for a context
            whole = history.differs_by_context
            for occasion, group in groupby(
                all_keys, key=lambda key: key.occasion if whole else Occasion("", key.served_at)
            ):
                keys = list(group)
                user = shown_user(history, settings, occasion, needed=needed)
                if later := history.count_from(occasion.served_at):
                    left_out[NOT_BEFORE] += later
                if history_needed and is_empty(user):
                    left_out[no_history(occasion.served_at)] += len(keys)
                else:
                    yield user, keys


# ---- requests ----------------------------------------------------------------------------------------------------


class Setup(NamedTuple):
    """The judge, settings and prompt of a run."""

    spec: JudgeSpec
    settings: RunSettings
    protocol: Protocol
    prompt: Prompt


def setup_of(db: Database, run: StoredRow) -> Setup:
    """The setup of a row of `runs`; the prompt has the run's own words for its variables."""
    settings = RunSettings.model_validate_json(run["settings"])
    prompt = prompt_by_id(db, run["prompt_id"]).with_variables({**form_words(settings), **settings.variables})
    return Setup(
        JudgeSpec.model_validate_json(run["judge"]), settings, protocol_named(run["protocol"]), prompt
    )


def material_now(db: Database, case: StoredRow, facts: ProtocolFacts, settings: RunSettings) -> Material:
    """What a judge would be shown of a case (a row of `cases`) with the present data."""
    project_id, text = case["project_id"], case["explanation_id"]
    history = read_history(db, project_id, case["user_id"])
    occasion = Occasion(case["context"], case["served_at"])
    slates = (slate for slate in (case["slate_a"], case["slate_b"]) if slate is not None)
    return Material(
        kind=facts.unit,
        user=shown_user(history, settings, occasion, needed=facts.needs_history),
        slates=tuple(
            SlateView(items=data_store.slate_top(db, project_id, slate, settings.top_k)) for slate in slates
        ),
        explanation=None if text is None else data_store.explanation_view(db, project_id, text),
        top_k=settings.top_k,
    )


def build_request(db: Database, run_id: int, setup: Setup, key: CallKey) -> tuple[Material, Request]:
    """The request of a call, and the material its reply is read against. Raises NoProfileError, and PromptError for a
    prompt that cannot be rendered."""
    _, settings, protocol, prompt = setup
    material = load_material(db, run_id, key.case_id, settings.top_k)
    sampling = sampling_of(settings, key.sample)
    if key.aspect == PROFILE:
        return material, profile_request(prompt, material, sampling)
    if settings.profile == "llm":
        reply = profile_reply(db, run_id, key.case_id)
        if reply is None:
            raise NoProfileError("the profile of this user could not be written")
        try:
            profile = profile_text(reply)
        except ReplyFault as fault:
            raise NoProfileError(f"the written profile of this user cannot be used: {fault}") from fault
        user = material.user.model_copy(update={"profile": profile})
        material = material.model_copy(update={"user": user})
    request = protocol.request(prompt, material, key.order, key.aspect, sampling)
    if key.sample:
        request = request.model_copy(update={"sample": key.sample})
    return material, with_image_contents(db, request)


def with_image_contents(db: Database, request: Request) -> Request:
    """The request with the content of its images. Raises NotFoundError for an image that is not stored any more."""
    digests = {placed.image.digest for message in request.messages for placed in message.images}
    if not digests:
        return request
    contents, messages = data_store.image_contents(db, digests), []
    for message in request.messages:
        images = tuple(p.model_copy(update={"data": contents[p.image.digest]}) for p in message.images)
        messages.append(message.model_copy(update={"images": images}))
    return request.model_copy(update={"messages": tuple(messages)})


# ---- cases -------------------------------------------------------------------------------------------------------


# of shown events and items together: about 3 MB of text, which takes some ten times as much memory before it is stored
_SHOWN_A_TRANSACTION = 20_000


class EarlierCases(NamedTuple):
    """The cases that the rater of a run has already judged; they count towards `limit` and `sample`, and are left out."""

    rater: str
    cases: Collection[CaseKey]

    @property
    def reason(self) -> str:
        return f"already judged by {self.rater}"


@dataclass
class RunCases:
    """The cases of a run, with little data each, because a run may have a hundred thousand. `cases` has each case with the
    ids of its snapshots, `users` the users they belong to; `views` counts the users as of each time shown. `strata` counts
    the users drawn from each activity level, `left_out` the cases not judged, by reason, and `undated` the events without
    a time by user, of users whose lists have one. `orders` of each case, where the texts that are read give them."""

    cases: list[tuple[CaseKey, ShownCase]] = field(default_factory=list)
    users: set[str] = field(default_factory=set)
    views: int = 0
    sample: Sample = field(default_factory=Sample)
    left_out: Counter[str] = field(default_factory=Counter)
    strata: dict[str, int] = field(default_factory=dict)
    undated: Counter[str] = field(default_factory=Counter)
    orders: list[tuple[Order, ...]] = field(default_factory=list)


def cases_to_read(db: Database, texts: Sequence[ReadText], settings: RunSettings, *, store: bool) -> RunCases:
    """The cases that these texts are about."""
    cases = read_cases(db, texts, settings.top_k)
    with db.transaction() if store else nullcontext():
        shown = store_read(db, cases) if store else [ShownCase(0)] * len(cases)
    return RunCases(
        cases=[(case.key, ids) for case, ids in zip(cases, shown, strict=True)],
        users={case.key.user_id for case in cases},
        sample=sample_of(cases),
        orders=[case.orders for case in cases],
    )


def collect_cases(
    db: Database,
    project_id: int,
    setup: Setup,
    judged: EarlierCases,
    *,
    store: bool,
    progress: Callable[[int], None] | None,
) -> RunCases:
    """The cases in the order they are judged. With `store`, snapshots of what is shown are stored; without it (a dry run)
    nothing is. `progress` gets the number of cases read so far."""
    _, settings, protocol, prompt = setup
    choose = Chooser(db, project_id, settings)
    if protocol.name == ADVERSARIAL:
        selection = choose.adversarial(store=store)
    elif protocol.name == PLANTED:
        selection = choose.planted(prompt, store=store)
    else:
        selection = choose.cases(protocol.facts.unit)
    pool = tuple(user for user, _ in selection.by_user)
    shots = None
    if settings.shots != "none":
        shots = choose.shots(protocol.facts.unit, prompt)
        selection = _with_examples(selection, shots)
    items = data_store.ItemViews(db, project_id, selection.made)
    result = RunCases(left_out=selection.left_out, sample=Sample(has_images=settings.images))
    # the users of a test of judges were drawn already
    asked = (settings.limit, None if protocol.facts.tests_judges else settings.sample, 1 << 60)
    wanted = min(n for n in asked if n is not None)
    add = partial(_add, db, project_id, settings, shots, items)
    people: set[str] = set()
    batch: list[UserCases] = []
    count = shown = 0
    views = cases_of_users(db, project_id, selection, settings, protocol.facts, items, result.undated)
    for user, taken in views:
        if user.user_id not in people and len(people) == wanted:
            break
        people.add(user.user_id)
        fresh = [key for key in taken if key not in judged.cases] if judged.cases else taken
        if len(fresh) < len(taken):
            result.left_out[judged.reason] += len(taken) - len(fresh)
        if fresh:
            batch.append((user, fresh))
        count += len(taken)
        events = len(user.history) + len(user.searches) + len(user.clicks) + len(user.others)
        shown += events + len(fresh) * 2 * settings.top_k
        if shown >= _SHOWN_A_TRANSACTION:
            add(batch, result, store=store)
            batch, shown = [], 0
            if progress:
                progress(count)
    add(batch, result, store=store)
    if progress:
        progress(count)
    if settings.stratify != "none":
        result.strata = drawn_by_level(choose.levels(pool), result.users)
    return result


def _with_examples(selection: Selection, shots: Shots) -> Selection:
    """The cases that have an example to show; the others are counted by reason."""
    left_out = Counter(selection.left_out)
    by_user = []
    for user_id, keys in selection.by_user:
        refusals = [shots.refusal(key) for key in keys]
        left_out.update(reason for reason in refusals if reason)
        kept = [key for key, reason in zip(keys, refusals, strict=True) if not reason]
        if kept:
            by_user.append((user_id, kept))
    return Selection(by_user, left_out)


def _add(
    db: Database,
    project_id: int,
    settings: RunSettings,
    shots: Shots | None,
    items: data_store.ItemViews,
    batch: list[UserCases],
    result: RunCases,
    *,
    store: bool,
) -> None:
    """Read what is shown of some cases, and store snapshots of it in a short transaction of their own, so that a plan that
    takes an hour does not lock out others."""
    keys = [key for _, some in batch for key in some]
    lists = {slate: None for key in keys for slate in (key.slate_a, key.slate_b) if slate is not None}
    texts = {key.explanation_id: None for key in keys if key.explanation_id is not None}
    tops = data_store.slate_tops(db, items, lists, settings.top_k)
    explained = {text: data_store.explanation_view(db, project_id, text) for text in texts}
    if settings.images:
        shown = {item.item_id for top in tops.values() for item in top}
        images = data_store.item_images(
            db, project_id, shown | {view.item.item_id for view in explained.values()}
        )
        tops = {slate: data_store.with_images(top, images) for slate, top in tops.items()}
        explained = {
            text: view.model_copy(update={"item": data_store.with_images([view.item], images)[0]})
            for text, view in explained.items()
        }
    slates = {slate: SlateView(items=top) for slate, top in tops.items()}
    cases: list[tuple[CaseKey, CaseViews]] = []
    for user, some in batch:
        for key in some:
            views = CaseViews(
                kind=key.kind,
                user=user,
                slates=tuple([slates[s] for s in (key.slate_a, key.slate_b) if s is not None]),
                explanation=None if key.explanation_id is None else explained[key.explanation_id],
                example=shots.view(db, project_id, key) if shots else None,
                top_k=settings.top_k,
            )
            cases.append((key, views))
            result.sample.add(views)
    result.users.update(user.user_id for user, _ in batch)
    result.views += len(batch)
    if not store:
        result.cases += [(key, ShownCase(0)) for key in keys]
        return
    users = [user for user, _ in batch]
    with db.transaction():
        user_ids = dict(zip(map(id, users), save_snapshots(db, "user", users), strict=True))
        slate_ids: dict[int | None, int] = dict(
            zip(slates, save_snapshots(db, "slate", slates.values()), strict=True)
        )
        texts_of = _saved_texts(db, [views.explanation for _, views in cases])
        examples = _saved_texts(db, [views.example for _, views in cases])
    of = slate_ids.get
    result.cases += [
        (key, ShownCase(user_ids[id(views.user)], of(key.slate_a), of(key.slate_b), text, example))
        for (key, views), text, example in zip(cases, texts_of, examples, strict=True)
    ]


def _saved_texts(db: Database, texts: Sequence[ExplanationView | None]) -> Iterable[int | None]:
    """The id of each text's snapshot; None for none. All cases of a run have a text, or none has."""
    if texts and texts[0] is None:
        return repeat(None, len(texts))
    return save_snapshots(db, "explanation", [text for text in texts if text is not None])
