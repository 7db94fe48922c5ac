"""The interface of every judge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol, TypeVar, runtime_checkable

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.judges.trust import Sent

T = TypeVar("T")


async def within(seconds: float | None, awaitable: Awaitable[T]) -> T:
    """The awaitable's result. If it takes longer, it is cancelled and asyncio.TimeoutError is raised; None is no limit. A
    cancellation from outside is never swallowed."""
    import anyio  # loaded with the first call

    try:
        with anyio.fail_after(seconds):
            return await awaitable
    except TimeoutError as error:
        raise asyncio.TimeoutError from error  # another class before Python 3.11


class Judge(Protocol):
    """Answers requests. It is independent of protocols, cases and the database. `name` is shown and is the default name of
    its rater. `rater_kind` is `judge` for a language model, else `rules` or `random`. `cacheable` says whether a stored
    reply may be used instead of asking again. `concurrency` is the default number of calls at once. Where its server takes
    one, the attribute `repetition_penalty` are the options to send beside the others to a model that repeats itself."""

    name: str
    rater_kind: RaterKind
    cacheable: bool
    concurrency: int

    async def prepare(self, workload: Workload) -> Identity:
        """Check that the judge can work. Raises JudgeError that says what to start, install or set."""
        ...

    async def ask(self, request: Request) -> Reply:
        """One attempt. Raises CallError if this call fails (`retry` or not), JudgeError if no call can work."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


@runtime_checkable
class SendsSecrets(Protocol):
    """A judge that sends keys."""

    def secrets(self) -> tuple[Sent, ...]:
        """What it would send where: the variables that are set or named, and the servers."""
        ...

    def check_trust(self) -> None:
        """Raise UntrustedError, as `prepare` does before it reads a secret; nothing is sent."""
        ...


def takes_images(judge: Judge) -> bool:
    """Whether requests to the judge may have images, which a judge declares by the attribute `takes_images`. `recjudge
    judge test` shows whether its model can see them."""
    return getattr(judge, "takes_images", False) is True
