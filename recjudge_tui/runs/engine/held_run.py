"""A run leased by this process, and its calls: from a planned call to its request, and from its result to its storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from recjudge_tui.domain.calls import CallResult
from recjudge_tui.domain.judge import Identity
from recjudge_tui.errors import NoProfileError, ReplyFault
from recjudge_tui.judges.base import Judge
from recjudge_tui.runs.engine.call import Question
from recjudge_tui.runs.plan.requests import Setup, build_request
from recjudge_tui.store.calls import CallKey, CallOutcome, stored_reply
from recjudge_tui.store.database import Database

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


class PreparedCall(NamedTuple):
    """A call that is ready to be sent, or that has its `result` without being sent.

    `question` is None if no request could be built.
    """

    key: CallKey
    question: Question | None
    content_hash: str
    request_hash: str | None
    result: CallResult | None = None

    def outcome(self, result: CallResult) -> CallOutcome:
        """The outcome to store."""
        return CallOutcome(self.key, self.content_hash, self.request_hash, result)


# the kind of error of a call that needs a user's profile, when writing that profile failed
NO_PROFILE = "profile"


def prepare_call(run: HeldRun[Judge], key: CallKey, *, use_stored: bool = True) -> PreparedCall:
    """Build the request of a call and, with `use_stored`, look for a stored reply to it."""
    _, settings, protocol, prompt = run.setup
    try:
        material, request = build_request(run.db, run.id, settings, protocol, prompt, key)
    except NoProfileError as missing:
        return PreparedCall(key, None, "", None, CallResult(0, error_kind=NO_PROFILE, error=missing.title))
    content_hash = request.content_hash()
    question = Question(request, protocol, prompt, material, key.order, key.aspect)
    request_hash = result = None
    if run.judge.cacheable:
        request_hash = request.request_hash(run.identity.cache_key(), content_hash)
        if use_stored and settings.use_cache:
            result = _stored_result(run.db, question, request_hash)
    return PreparedCall(key, question, content_hash, request_hash, result)


def _stored_result(db: Database, question: Question, request_hash: str) -> CallResult | None:
    """The result of a stored reply. It must be readable: another version of the program may have stored it."""
    stored = stored_reply(db, request_hash)
    if stored is None:
        return None
    call_id, reply = stored
    try:
        return CallResult(0, reply, question.read(reply), cached_from=call_id)
    except ReplyFault:
        return None
