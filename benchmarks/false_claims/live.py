"""False claims about live experiments and runs that stop early."""

from __future__ import annotations

import numpy as np

from benchmarks.false_claims.claim import Claim
from benchmarks.populations import Rng
from recjudge_tui.domain.text import quantity
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.experiments.confidence_sequences import advance
from recjudge_tui.stats.experiments.online import Arm, two_proportions
from recjudge_tui.stats.experiments.stopping import EVEN, StoppingRule, initial_state
from recjudge_tui.stats.hypotheses import sign_test
from recjudge_tui.stats.ranking import system_intervals, user_counts


def clicked(rate: float, impressions: int, more: int = 1) -> Claim:
    """`outcome`: an experiment is decided although both systems have one click rate; `impressions` for each user."""

    def made(rng: Rng, users: int) -> bool:
        n = impressions * users
        test = two_proportions(
            Arm(int(rng.binomial(more * n, rate)), more * n), Arm(int(rng.binomial(n, rate)), n)
        )
        return test.p is not None and test.p < ALPHA

    arms = f"{more} times as many in one arm" if more > 1 else "equal arms"
    return Claim(f"outcome: decided, click rate {rate:g}, {impressions} impressions a user, {arms}", made)


def stopped(pairs: int, ties: float) -> Claim:
    """`--until decided`: at any look, any of several pairs of equal systems is decided."""
    rule = StoppingRule(pairs)

    def made(rng: Rng, users: int) -> bool:
        outcomes = rng.choice([1.0, 0.5, 0.0], (pairs, users), p=((1 - ties) / 2, ties, (1 - ties) / 2))
        ends = [
            advance(start, row)[0] for start, row in zip(initial_state(rule).sequences, outcomes, strict=True)
        ]
        return any(end.low >= EVEN or end.high <= EVEN for end in ends)

    return Claim(f"--until decided: {quantity(pairs, 'pair')}, {100 * ties:.0f} % ties", made)


def significant(ties: float, rows: int) -> Claim:
    """`outcome show --judges`: a rater's prediction is significant although it finds both systems equal."""

    def made(rng: Rng, users: int) -> bool:
        values = rng.choice([1.0, 0.0, -1.0], (users, rows), p=((1 - ties) / 2, ties, (1 - ties) / 2))
        net = values.sum(axis=1)
        p = sign_test(int((net > 0).sum()), int((net < 0).sum()))
        first, who = np.zeros(values.size, dtype=np.int64), np.repeat(np.arange(users), rows)
        ends = system_intervals(user_counts(first, first + 1, values.ravel(), who, 2), "win_rate")[0]
        low, high = ends.low, ends.high
        return p is not None and p < ALPHA and (low is None or high is None or not low <= EVEN <= high)

    name = f"{100 * ties:.0f} % ties, {quantity(rows, 'row')} a user"
    return Claim(f"outcome: a judge's prediction is significant, {name}", made)


OUTCOMES = (
    clicked(0.01, 500), clicked(0.05, 30), clicked(0.3, 20), clicked(0.02, 100, 5), significant(0.2, 1), significant(0.2, 3),
)  # fmt: skip
EARLY = stopped(1, 0.0), stopped(1, 0.5), stopped(6, 0.2)
