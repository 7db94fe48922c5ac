"""The calls that wait to be made, and which worker makes which: those about one user are made by one worker, one after
the other, so that a server finds in its memory what it just read about this user.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Generic, TypeVar

from recjudge_tui.domain.calls import PROFILE
from recjudge_tui.store.calls import CallKey, outstanding_by_user, profiles_outstanding
from recjudge_tui.store.database import Database

WINDOW = 256
# a user with more calls is shared among workers
MOST_READ_AHEAD = 4096
LOOK_AGAIN_S = 0.02

Call = TypeVar("Call")


@dataclass(eq=False)
class WorkerCalls(Generic[Call]):
    """The waiting calls of one worker, all about `user`; `ready` is its next one, if that is prepared already. `lane` is
    the lowest number that no other worker had when it joined.
    """

    lane: int
    user: int = 0
    calls: deque[CallKey] = field(default_factory=deque)
    ready: tuple[CallKey, Call] | None = None

    def has_calls(self) -> bool:
        return bool(self.calls) or self.ready is not None


class CallQueue(Generic[Call]):
    """The planned calls of a run by user, in the order of the plan, read in windows so that memory does not grow with
    the run. `prepare` makes what a worker gets.

    A worker takes the next call of its user; else all calls of the user who has waited longest; else half of another
    worker's, so that none is idle while a call waits. No more than `users_at_once` users (None: any number) are started
    as long as those who are started have calls waiting.
    """

    def __init__(
        self,
        db: Database,
        run_id: int,
        stopping: asyncio.Event,
        prepare: Callable[[CallKey], Call],
        users_at_once: int | None = None,
    ) -> None:
        self._db = db
        self._run_id = run_id
        self._stopping = stopping
        self._prepare = prepare
        self._users_at_once = users_at_once
        self._waiting: OrderedDict[int, deque[CallKey]] = OrderedDict()
        self._workers: dict[WorkerCalls[Call], None] = {}
        self._taken = asyncio.Event()
        self._last = 0
        self._read_all = False
        # the plan begins with profiles; the next calls show them
        self._has_profiles = False
        self._before_profiles = False

    def join(self) -> WorkerCalls[Call]:
        """Add a worker, which has no calls yet."""
        lanes = {worker.lane for worker in self._workers}
        worker: WorkerCalls[Call] = WorkerCalls(next(lane for lane in count() if lane not in lanes))
        self._workers[worker] = None
        return worker

    def leave(self, worker: WorkerCalls[Call]) -> None:
        """Take a worker's calls back; they are next in the queue."""
        del self._workers[worker]
        if worker.ready is not None:
            worker.calls.appendleft(worker.ready[0])
        if worker.calls:
            worker.calls.extend(self._waiting.pop(worker.user, ()))
            self._waiting[worker.user] = worker.calls
            self._waiting.move_to_end(worker.user, last=False)

    async def next(self, worker: WorkerCalls[Call]) -> Call | None:
        """The worker's next call; None when none is left or the run is to stop."""
        while not self._stopping.is_set():
            if worker.ready is not None:
                _, call = worker.ready
                worker.ready = None
                self._taken.set()
                return call
            if not worker.calls and not self._take_user(worker):
                self._take_from_others(worker)
            if worker.calls:
                self._make_ready(worker)
                # no call is sent, and no deadline starts, before all workers have prepared theirs
                await asyncio.sleep(0)
            elif worker.ready is None:
                if self._read_all:
                    return None
                await self._profiles_stored()
        return None

    async def prepare_ahead(self) -> None:
        """Prepare the next call of every worker while it waits for the judge, one at a time; runs until cancelled."""
        while True:
            self._taken.clear()
            for worker in list(self._workers):
                if (
                    worker.ready is None
                    and worker in self._workers
                    and (worker.calls or self._take_user(worker))
                ):
                    self._make_ready(worker)
                    await asyncio.sleep(0)
            await self._taken.wait()

    def _make_ready(self, worker: WorkerCalls[Call]) -> None:
        if worker.ready is None and worker.calls:
            key = worker.calls.popleft()
            worker.ready = key, self._prepare(key)

    def _take_user(self, worker: WorkerCalls[Call]) -> bool:
        """Give the worker all calls of one user, its own if that one has more. False if no user may be started."""
        self._read_ahead()
        if not self._waiting or self._has_started_enough():
            return False
        worker.user = worker.user if worker.user in self._waiting else next(iter(self._waiting))
        worker.calls = self._waiting.pop(worker.user)
        return True

    def _has_started_enough(self) -> bool:
        most = self._users_at_once
        return most is not None and sum(worker.has_calls() for worker in self._workers) >= most

    def _take_from_others(self, worker: WorkerCalls[Call]) -> None:
        """Give the worker half of the calls of the one that has most, or its only call."""
        largest = max(self._workers, key=lambda other: (len(other.calls), other.ready is not None))
        worker.user = largest.user
        if not largest.calls:
            worker.ready, largest.ready = largest.ready, None
        for _ in range((len(largest.calls) + 1) // 2):
            worker.calls.appendleft(largest.calls.pop())

    def _read_ahead(self) -> None:
        """Read on until two users wait, because the calls of the last one may not all be read."""
        while not self._read_all and not self._before_profiles and len(self._waiting) < 2:
            if sum(map(len, self._waiting.values())) >= MOST_READ_AHEAD:
                return
            calls = outstanding_by_user(self._db, self._run_id, self._last, WINDOW)
            if profiles := list(takewhile(lambda call: call.key.aspect == PROFILE, calls)):
                self._has_profiles, calls = True, profiles
            elif calls and self._has_profiles:
                self._before_profiles = True
                return
            self._read_all = not calls
            for user, key in calls:
                self._waiting.setdefault(user, deque()).append(key)
                self._last = key.id

    async def _profiles_stored(self) -> None:
        """Wait until all profiles are stored, because the other calls show them."""
        while not self._stopping.is_set() and profiles_outstanding(self._db, self._run_id):
            await asyncio.sleep(LOOK_AGAIN_S)
        if self._before_profiles:
            for worker in self._workers:
                # the calls about the first user come next, not those about the user of the last profile
                worker.user = 0
        self._has_profiles = self._before_profiles = False
