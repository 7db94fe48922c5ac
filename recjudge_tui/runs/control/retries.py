"""How often a failed call is tried again, and after how long."""

from __future__ import annotations

import time
from dataclasses import dataclass

from recjudge_tui.errors import CallError
from recjudge_tui.runs.control.limits import CallLimits

MAX_ATTEMPTS = 5
# after so many failed calls one after the other the work stops
FAILURES_IN_A_ROW = 25
# the errors of calls that were in flight while the machine slept
FORGIVEN = ("connection", "timeout", "bad_body")
# seconds to wait for a server that currently accepts no calls, independent of the number of attempts
PATIENCE_S = {"rate_limit": 3600.0, "overloaded": 3600.0, "connection": 120.0}


@dataclass
class Failures:
    """The failed attempts of one call, and whether to try again.

    Five failures end a call. Two kinds are not counted: failures of a machine that just woke up, and errors by which
    a server says that it takes no calls now (429, 503, 529, any error with a delay, no connection). For these the
    call waits up to an hour, or two minutes without a connection, counted from its first failure or from the server's
    last answer to any call, whichever is earlier. So a short outage fails no call, and a long one ends the run because
    many calls in a row fail. A connection lost again while other calls are answered is the call's own fault and counts.
    """

    limits: CallLimits
    in_row: int = 0
    counted: int = 0
    since: float = 0.0

    def end_with(self, error: CallError) -> bool:
        """Note a failed attempt. True if it was the last one."""
        if not error.retry:
            return True
        self.in_row += 1
        self.since = self.since or time.monotonic()
        if error.kind in FORGIVEN and self.limits.was_asleep():
            return False
        patience = self._patience(error)
        if self._waited() + (error.retry_after or 0.0) < patience:
            return False
        self.counted += not patience
        return (self.in_row if patience else self.counted) >= MAX_ATTEMPTS

    def _patience(self, error: CallError) -> float:
        trouble = self.limits.trouble_since
        others_answered = trouble is None or trouble > self.since
        if error.kind == "connection" and others_answered and self.in_row > 1:
            return 0.0
        return PATIENCE_S.get(error.kind, PATIENCE_S["rate_limit"] if error.retry_after else 0.0)

    def _waited(self) -> float:
        began = (
            self.since if self.limits.trouble_since is None else min(self.since, self.limits.trouble_since)
        )
        return time.monotonic() - began

    async def wait(self, error: CallError) -> None:
        """Wait for the next attempt: as long as the server asked for (then all calls wait), else exponentially longer.

        A delay of zero is honoured once. Raises RunStopError when the run is to stop.
        """
        if error.retry_after:
            self.limits.pause(error.retry_after)
        delay = self._delay(error)
        if error.kind != "connection":
            await self.limits.sleep(delay)
            return
        with self.limits.out_of_reach(error.title, delay):
            await self.limits.sleep(delay)

    def _delay(self, error: CallError) -> float:
        if error.retry_after or (error.retry_after is not None and self.in_row == 1):
            return 0.0
        return self.limits.backoff(self.in_row)


def note_attempt(limits: CallLimits, error: CallError | None = None) -> None:
    """Note whether the server takes calls, by how an attempt ended."""
    if error is not None and error.kind in PATIENCE_S:
        limits.trouble()
    elif error is None or not error.retry:
        limits.note_answer()
