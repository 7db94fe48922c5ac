"""Records a run: each call that ended, with the verdicts that it completes, many in one transaction when many wait."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import fsum
from typing import Generic, NamedTuple, TypeVar

from recjudge_tui.domain.calls import Answer, CallResult, Order, VerdictDraft
from recjudge_tui.domain.judge import Identity
from recjudge_tui.domain.material import Material
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import ConstraintError, NoProfileError, ReplyFault, StoreBusyError, StoreError
from recjudge_tui.judges.registry import Judge
from recjudge_tui.protocols.registry import adjudicate
from recjudge_tui.runs.calls import Question
from recjudge_tui.runs.cases import Setup, build_request
from recjudge_tui.store import calls as call_store
from recjudge_tui.store.cases import load_material
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import Pulse, heartbeat
from recjudge_tui.store.schema import connect

# ---- held run ----------------------------------------------------------------------------------------------------


J_co = TypeVar("J_co", bound=Judge, covariant=True)


@dataclass(frozen=True)
class HeldRun(Generic[J_co]):
    """A run leased by this process as `owner`. Its verdicts belong to rater `rater_id`."""

    db: Database
    id: int
    rater_id: int
    owner: str
    setup: Setup
    judge: J_co
    identity: Identity

    @cached_property
    def cache_key(self) -> str:
        """What tells the replies of this judge from those of others."""
        return self.identity.cache_key()

    @cached_property
    def material(self) -> Callable[[int], Material]:
        """What is shown of a case, which does not change; its calls follow each other."""
        top_k = self.setup.settings.top_k
        return lru_cache(maxsize=64)(lambda case_id: load_material(self.db, self.id, case_id, top_k))


class PreparedCall(NamedTuple):
    """A call that is ready to be sent, or has its `result` without that. `question`: None if no request could be built."""

    key: call_store.CallKey
    question: Question | None
    content_hash: str
    request_hash: str | None
    result: CallResult | None = None

    def outcome(self, result: CallResult) -> call_store.CallOutcome:
        """The outcome to store."""
        return call_store.CallOutcome(self.key, self.content_hash, self.request_hash, result)


# the kind of error of a call that needs a user's profile, when writing that profile failed
NO_PROFILE = "profile"


def prepare_call(run: HeldRun[Judge], key: call_store.CallKey, *, use_stored: bool = True) -> PreparedCall:
    """Build the request of a call and, with `use_stored`, look for a stored reply to it."""
    try:
        material, request = build_request(run.db, run.id, run.setup, key, run.material(key.case_id))
    except NoProfileError as missing:
        return PreparedCall(key, None, "", None, CallResult(0, error_kind=NO_PROFILE, error=missing.title))
    content_hash = request.content_hash()
    _, settings, protocol, prompt = run.setup
    question = Question(request, protocol, prompt, material, key.order, key.aspect)
    request_hash = result = None
    if run.judge.cacheable:
        request_hash = request.request_hash(run.cache_key, content_hash)
        stored = call_store.stored_reply(run.db, request_hash) if use_stored and settings.use_cache else None
        if stored is not None:
            call_id, reply = stored
            # another version of the program may have stored it
            with suppress(ReplyFault):
                result = CallResult(0, reply, question.read(reply), cached_from=call_id)
    return PreparedCall(key, question, content_hash, request_hash, result)


# ---- adjudication ------------------------------------------------------------------------------------------------


def verdicts_of(prompt: Prompt, calls: list[call_store.CaseCall]) -> list[VerdictDraft]:
    """One verdict for each aspect of the prompt, from all calls of a case. Repeats are voted on first."""
    drafts = []
    for aspect in prompt.aspects:
        repeats: dict[Order, list[Answer | None]] = {}
        for call in calls:
            if call.aspect in ("", aspect.name):
                repeats.setdefault(call.order, []).append(call.answers.get(aspect.name))
        if not repeats:
            continue
        votes = {order: voted(prompt, aspect.name, answers) for order, answers in repeats.items()}
        draft = adjudicate(prompt, aspect.name, votes)
        most = max(map(len, repeats.values()))
        if most > 1:
            draft = draft.model_copy(update={"rule": f"{draft.rule}, vote of {most}"})
        drafts.append(draft)
    return drafts


def voted(prompt: Prompt, aspect: str, answers: Sequence[Answer | None]) -> Answer | None:
    """The most frequent label; None when there are no answers or one of them failed.

    A split vote gives a tie if the scale has one (a label of value 0 between others), else the lowest of the most frequent
    labels. Confidence of several answers: the share of them with that label; if the server gave the label's probability
    for each of these, the sum of these probabilities divided by the number of all answers (the mean probability of the
    label if the other answers gave it none). Reasoning: the first answer with that label. On a scale of numbers: their
    mean, without a confidence, and the reasoning of the answer nearest to it."""
    given = [answer for answer in answers if answer is not None]
    if not given or len(given) < len(answers):
        return None
    if len(given) == 1:
        return given[0]
    if prompt.scale is not None:
        mean = fsum(answer.value for answer in given) / len(given)
        nearest = min(given, key=lambda answer: abs(answer.value - mean))
        return Answer(aspect=aspect, value=mean, label=f"{mean:.4g}", reasoning=nearest.reasoning)
    counts = Counter(answer.value for answer in given)
    most = max(counts.values())
    front, scale = [v for v, n in counts.items() if n == most], [s.value for s in prompt.labels_of(aspect)]
    has_tie = min(scale) < 0 < max(scale) and 0 in scale
    value = 0.0 if len(front) > 1 and has_tie else min(front)
    same = [answer for answer in given if answer.value == value]
    confidences = [answer.confidence for answer in same if answer.confidence is not None]
    label = next((spec.name for spec in prompt.labels_of(aspect) if spec.value == value), "")
    weight = sum(confidences) if len(confidences) == len(same) else len(same)
    return Answer(
        aspect=aspect,
        value=value,
        label=same[0].label if same else label,
        reasoning=same[0].reasoning if same else "",
        confidence=weight / len(given),
    )


# ---- recorder ----------------------------------------------------------------------------------------------------


MOST_IN_ONE_TRANSACTION = 256
TRY_AGAIN_S = 0.01
# how long a commit waits for another writer, such as a large import: a long wait is better than lost answers
PATIENCE_S = 3600.0


class Recorder:
    """Outcomes that wait to be committed. `commit_next` belongs to one task; the other methods may be called anywhere. The
    statements run in the event loop, where they cost least. Only the sync to disk runs in a thread. While another process
    writes, the commit is retried."""

    def __init__(self, run: HeldRun[Judge]) -> None:
        """Raises StoreError when the database cannot be opened."""
        self._run = run
        self._db = connect(run.db.path, one_thread=False)
        self._db.execute("PRAGMA busy_timeout = 0")
        self._waiting: deque[call_store.CallOutcome] = deque()
        # writes, and who waits for them
        self._writes: list[tuple[Callable[[], None], asyncio.Future[None] | None]] = []
        self._ended = False
        self._wake = asyncio.Event()

    def put(self, outcome: call_store.CallOutcome) -> None:
        """Queue an outcome for the next commit."""
        self._waiting.append(outcome)
        self._wake.set()

    async def reserve(self, call_id: int, dollars: float) -> None:
        """Store what the call can have cost, and return when that is on disk."""
        on_disk: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writes.append((lambda: call_store.reserve_call(self._db, call_id, dollars), on_disk))
        self._wake.set()
        await on_disk

    def settle(self, call_id: int, cost: float | None, unknown: float) -> None:
        """Queue what the attempts of a call that stays planned have cost."""
        self._writes.append((lambda: call_store.settle_call(self._db, call_id, cost, unknown), None))
        self._wake.set()

    def beat(self) -> None:
        """Queue a heartbeat for the next commit."""
        self._writes.append((lambda: None, None))
        self._wake.set()

    def end(self) -> None:
        """Declare that no more outcomes will be put."""
        self._ended = True
        self._wake.set()

    async def commit_next(
        self, pulse: Callable[[], Pulse | None] = lambda: None
    ) -> list[call_store.CallOutcome] | None:
        """Wait for outcomes, commit them with the verdicts they complete, and return them when they are on disk. None
        after `end`, when all are committed. `pulse()` is stored with them. Raises StoreError (disk full, damaged file),
        LeaseLostError."""
        while not self._waiting and not self._writes:
            if self._ended:
                return None
            self._wake.clear()
            await self._wake.wait()
        writes, self._writes = self._writes, []
        outcomes = [self._waiting.popleft() for _ in range(min(MOST_IN_ONE_TRANSACTION, len(self._waiting)))]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    for write, _ in writes:
                        write()
                    store_outcomes(self._db, self._run, outcomes, pulse())
                    await self._synced()
                except BaseException:
                    # does nothing if the COMMIT has ended, with or without success
                    self._db.connection.rollback()
                    raise
                for _, on_disk in writes:
                    if on_disk is not None and not on_disk.done():
                        on_disk.set_result(None)
                return outcomes
            except StoreBusyError:
                if time.monotonic() > deadline:
                    raise
            except ConstraintError as error:
                raise StoreError("the database refused an answer", error.cause) from error
            await asyncio.sleep(TRY_AGAIN_S)

    async def _synced(self) -> None:
        """Commit in a thread. A cancelled caller waits for it: closing the connection while it is in use crashes Python."""
        commit = asyncio.get_running_loop().run_in_executor(None, self._db.execute, "COMMIT")
        try:
            await asyncio.shield(commit)
        except asyncio.CancelledError:
            while not commit.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({commit})
            commit.exception()  # retrieved, so that nothing is logged; the cancellation comes first
            raise

    def close(self) -> None:
        """Close the database. What still waits is lost."""
        self._db.close()


def store_outcomes(
    db: Database, run: HeldRun[Judge], outcomes: Sequence[call_store.CallOutcome], pulse: Pulse | None = None
) -> list[call_store.CallOutcome]:
    """Store calls that ended, the verdicts they complete (none in a run that reads texts), and a heartbeat of the run, in
    one transaction. Returns the calls that were stored; a call that had ended before stays as it is. Raises LeaseLostError
    if another process has taken over the run."""
    with db.transaction():
        heartbeat(db, run.id, run.owner, pulse)
        stored = call_store.save_outcomes(db, outcomes)
        _, _, protocol, prompt = run.setup
        if not protocol.facts.reads:
            ended = dict.fromkeys(outcome.key.case_id for outcome in stored)
            cases = call_store.calls_of_cases(db, run.id, ended)
            drafts = {
                case_id: verdicts_of(prompt, calls)
                for case_id, calls in cases.items()
                if all(call.state != "planned" for call in calls)
            }
            call_store.save_verdicts(db, run.rater_id, run.id, protocol.name, drafts)
    return stored
