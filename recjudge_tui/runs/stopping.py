"""A run that stops when it is decided: the decision is updated after each finished user, in the order of the plan. Only
the users before the first unfinished one count. How fast a reply comes may depend on what it says, so the decision must
not depend on which users finish first. It is the same at any concurrency, and for a run that was interrupted."""

from __future__ import annotations

from itertools import groupby

from recjudge_tui.protocols.early_stopping import (
    Pair,
    StoppingCriterion,
    UserVerdicts,
    deciding_aspect,
    stopping_criterion,
    stopping_status,
    user_outcomes,
)
from recjudge_tui.runs.cases import Setup
from recjudge_tui.stats.planning import initial_state, is_decided, update_state
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import case_statuses, case_values


class RunDecision:
    """Whether a run is decided. `call_ended` is called for every call that is on disk."""

    def __init__(
        self, db: Database, run_id: int, aspect: str, criterion: StoppingCriterion, cases: list[StoredRow]
    ) -> None:
        self._db, self._run_id, self._aspect, self._criterion = db, run_id, aspect, criterion
        # of each user, in the order of the plan: case id -> its two systems
        self._users: list[dict[int, Pair]] = []
        self._open: list[int] = []
        self._user_of: dict[int, int] = {}
        for _, group in groupby(cases, key=lambda case: case.user_id):
            mine = list(group)
            self._user_of.update((case.case_id, len(self._users)) for case in mine)
            self._users.append({case.case_id: (case.system_a, case.system_b) for case in mine})
            self._open.append(sum(case.open for case in mine))
        self._next = 0
        self.decided = False
        self._state = initial_state(criterion.rule)
        self._advance({case.case_id: case.value for case in cases})

    def call_ended(self, case_id: int) -> bool:
        """Note that a call of the case has ended and is stored. True if the run is decided now."""
        user = self._user_of[case_id]
        self._open[user] -= 1
        if user == self._next and self._open[user] <= 0 and not self.decided:
            self._advance(None)
        return self.decided

    def sentence(self) -> str:
        """The decision so far, as a sentence."""
        return stopping_status(self._criterion, self._state, len(self._users)).sentence()

    def _advance(self, known: dict[int, float | None] | None) -> None:
        """Continue with the users who are finished now, with the `known` values or those in the database."""
        ready: list[UserVerdicts] = []
        while self._next < len(self._users) and self._open[self._next] <= 0:
            cases = self._users[self._next]
            values = known or case_values(self._db, self._run_id, self._aspect, list(cases))
            ready.append({pair: values.get(case) for case, pair in cases.items()})
            self._next += 1
        if ready:
            self._state = update_state(
                self._criterion.rule, self._state, user_outcomes(self._criterion, ready)
            )
            self.decided = is_decided(self._criterion.rule, self._state)


def decision_of(db: Database, run_id: int, setup: Setup) -> RunDecision | None:
    """The decision of a run that stops when it is decided, up to date with what is stored; None where it has none."""
    _, settings, protocol, prompt = setup
    aspect = deciding_aspect(prompt)
    cases = case_statuses(db, run_id, aspect)
    criterion = stopping_criterion(
        protocol, prompt, settings, ((case.system_a, case.system_b) for case in cases)
    )
    return None if criterion is None else RunDecision(db, run_id, aspect, criterion, cases)
