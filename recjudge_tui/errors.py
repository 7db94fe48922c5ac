"""The exceptions of recjudge. Each says what is wrong, why, and what to do next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recjudge_tui.steps import Step


class RecjudgeError(Exception):
    """An error that the user can act on.

    `title` says what is wrong, `cause` why, `next_step` what to do. All three are shown, and a `step` in the surface's own
    words, such as the command that takes it; the process exits with `exit_code`.
    """

    exit_code = 1

    def __init__(self, title: str, cause: str = "", next_step: str = "", *, step: Step | None = None) -> None:
        super().__init__(title)
        self.step = step
        self.title = title
        self.cause = cause
        self.next_step = next_step

    def __str__(self) -> str:
        return " ".join(part for part in (self.title, self.cause, self.next_step) if part)

    @property
    def sentences(self) -> str:
        """All three on one line, each ended with a full stop if another follows."""
        parts = [part for part in (self.title, self.cause, self.next_step) if part]
        ended = [part if part.endswith((".", ":", "!", "?", "…")) else f"{part}." for part in parts[:-1]]
        return " ".join([*ended, *parts[-1:]])


class UsageError(RecjudgeError):
    """Invalid arguments or options; exit code 2."""

    exit_code = 2


def check_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raises UsageError for the first name that is none of those known, which it names."""
    for name in names:
        if name not in known:
            raise UsageError(f"no {what} “{name}”", f"Available: {', '.join(known)}.")


class NotFoundError(RecjudgeError):
    """A project, run, rater, prompt or case that does not exist."""


class StoreError(RecjudgeError):
    """The database cannot be opened, read or written."""


class StoreBusyError(StoreError):
    """Another process held the write lock for too long; the same operation may succeed later."""


class ConstraintError(StoreError):
    """The database refused a change that breaks one of its rules."""


class InputError(RecjudgeError):
    """A file cannot be imported; nothing of it was stored. `choices`: what can be chosen to import it, in words, each with
    the options of an import."""

    choices: Sequence[tuple[str, dict[str, Any]]] = ()


class PromptError(RecjudgeError):
    """A prompt is invalid or cannot be read."""


class RunError(RecjudgeError):
    """A run cannot start or continue."""


class NoCasesError(RunError):
    """A run would have no case to judge."""


class NoProfileError(RunError):
    """A call needs a user profile that could not be written."""


class LeaseLostError(RunError):
    """Another process has taken over the run."""


class JudgeError(RecjudgeError):
    """The judge cannot be used at all: no server, no model, a refused key. The run ends and can be resumed."""


class SightError(JudgeError):
    """The judge's model does not see images."""


class CallError(RecjudgeError):
    """One call failed.

    `kind` is a short fixed word (timeout, rate_limit, server_error, connection, overflow, refusal,
    length, thinking, bad_reply, bad_request). `retry` says whether the same call may succeed later;
    `retry_after` is the delay in seconds that the server asked for, if any. `sent` is False when the call did not
    reach a server. `usage` (a `domain.calls.Usage`) is what the server counted for an answer that
    cannot be used, empty if it said nothing, and None where there was no answer of a model. `text` and `thinking` are
    what that answer said, as far as it came.
    """

    sent = True

    def __init__(
        self,
        kind: str,
        title: str,
        cause: str = "",
        next_step: str = "",
        *,
        retry: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(title, cause, next_step)
        self.kind = kind
        self.retry = retry
        self.retry_after = retry_after
        self.usage: object = None
        self.text = self.thinking = ""


class ReplyFault(Exception):  # noqa: N818 - it is a finding about a text, shown to the model in a re-ask
    """A reply that does not answer the question; the message describes the fault for the model.

    `usable`: what can be used of it (a ParsedReply) if a second reply is no better: a clear label beside odd flags.
    """

    def __init__(self, message: str, usable: object | None = None) -> None:
        super().__init__(message)
        self.usable = usable
