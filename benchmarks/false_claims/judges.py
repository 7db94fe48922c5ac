"""False claims about judges: a bound is met, a figure fell, a set is favoured, labels moved, uniform lists are favoured,
a prompt is right more often, the labelled cases are no random sample.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.false_claims.claim import Claim, quick_sign_test
from benchmarks.populations import Rng
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.reliability.biases import Slope
from recjudge_tui.stats.agreement.change import mean_change
from recjudge_tui.stats.agreement.marginal import stuart_maxwell
from recjudge_tui.stats.agreement.paired import users_for_each
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import ALPHA, LEVEL
from recjudge_tui.stats.experiments.prediction_powered import prediction_powered_mean
from recjudge_tui.stats.resampling.intervals import SHARE, mean_estimate, share_estimate
from recjudge_tui.stats.resampling.multiplicity import holm, holm_claims, sign_test
from recjudge_tui.stats.resampling.sign_flips import sign_flip_test, user_means
from recjudge_tui.store.verdicts.ratings import Question


def certain(bounds: int) -> Claim:
    """`gate --certain`: several shares whose true value is a little below their bound, met one by one or together."""

    def made(rng: Rng, users: int) -> bool:
        hits = rng.random((bounds, users)) < 0.799

        def met(level: float) -> list[bool | None]:
            lows = [share_estimate(row, np.arange(users), level=level).ci_low for row in hits]
            return [None if low is None else low >= 0.8 for low in lows]

        return all(met(LEVEL)) or any(holm_claims(met, LEVEL))

    return Claim(f"gate --certain, {quantity(bounds, 'bound')}", made)


def worse(figures: int, equal: float) -> Claim:
    """`gate --against`: a fall of any of several figures between two equal runs, of whose answers `equal` are the same."""

    def made(rng: Rng, users: int) -> bool:
        before = rng.random((figures, users)) < 0.7
        after = np.where(rng.random((figures, users)) < equal, before, rng.random((figures, users)) < 0.7)

        def bad(level: float) -> list[bool | None]:
            changes = [
                mean_change(new, old, np.arange(users), SHARE, level=level).change
                for new, old in zip(after.astype(float), before.astype(float), strict=True)
            ]
            return [None if change.ci_high is None else change.ci_high < 0 for change in changes]

        return any(holm_claims(bad, LEVEL))

    return Claim(f"gate --against, {quantity(figures, 'figure')}, {100 * equal:.0f} % alike", made)


def favoured(rows: int) -> Claim:
    """A favoured set, in any of the rows of `robustness position`, of a judge without one."""

    def made(rng: Rng, users: int) -> bool:
        net = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], (rows, users), p=[0.1, 0.1, 0.6, 0.1, 0.1])

        def excluded(level: float) -> list[bool | None]:
            ends = [mean_estimate(row, np.arange(users), (-1.0, 1.0), level=level) for row in net]
            return [
                None if e.ci_low is None or e.ci_high is None else not e.ci_low <= 0 <= e.ci_high
                for e in ends
            ]

        return any(holm_claims(excluded, LEVEL))

    return Claim(f"position favours a set, {quantity(rows, 'row')}", made)


def changed(same: float, marginal: tuple[float, ...]) -> Claim:
    """`compare`: one rater's labels have moved from another's, if both draw them alike; one case of a user."""

    def made(rng: Rng, users: int) -> bool:
        before = rng.choice(3, users, p=marginal)
        after = np.where(rng.random(users) < same, before, rng.choice(3, users, p=marginal))
        counts = np.zeros((3, 3), dtype=np.int64)
        np.add.at(counts, (before, after), 1)
        off = counts - np.diag(np.diag(counts))
        if ((off + off.T).sum(axis=0) > 0).sum() > 2:
            p = stuart_maxwell(counts).p
        else:
            p = sign_test(int((after > before).sum()), int((after < before).sum()))
        return p is not None and p < ALPHA

    return Claim(f"compare: labels moved, {100 * same:.0f} % kept", made)


def shifted(nights: int, noise: float) -> Claim:
    """A shift on any night of a judge whose answers on the anchor cases vary by chance, three cases of a user."""

    def made(rng: Rng, users: int) -> bool:
        owner = np.repeat(np.arange(users), 3)
        usual = rng.integers(0, 3, owner.size)

        def night() -> FloatArray:
            return np.where(rng.random(owner.size) < noise, rng.integers(0, 3, owner.size), usual).astype(
                np.float64
            )

        first = night()
        p_values = [sign_flip_test(user_means(night() - first, owner)) for _ in range(nights)]
        return any(p is not None and p < ALPHA for p in holm(p_values))

    return Claim(f"trend: the judge has shifted, {quantity(nights, 'night')}, {100 * noise:.0f} % vary", made)


def favours(rows: int, same: float, skewed: bool = False) -> Claim:
    """`biases`: a rater favours one kind of lists more than people do, in any of the rows (each of several judges), three
    lists of a user; `same` of the labels are those of people."""
    question = Question("judge", "pointwise", "overall")

    def made(rng: Rng, users: int) -> bool:
        who = np.repeat(np.arange(users), 3)
        lists = rng.beta(0.3, 3, who.size) if skewed else rng.beta(2, 3, who.size)
        people = rng.choice(3, who.size, p=(0.3, 0.4, 0.3))
        slopes = []
        for _ in range(rows):
            judge = np.where(rng.random(who.size) < same, people, rng.choice(3, who.size, p=(0.3, 0.4, 0.3)))
            x, y = (
                part - (np.bincount(who, weights=part) / 3)[who]
                for part in (lists, (judge - people).astype(float))
            )
            slopes.append(Slope(question, "homogeneity", "beyond truth", x, y, who, 1.0))

        def found(level: float) -> list[bool | None]:
            ends = [slope.estimate(level=level) for slope in slopes]
            return [
                None if e.ci_low is None or e.ci_high is None else not e.ci_low <= 0 <= e.ci_high
                for e in ends
            ]

        return any(holm_claims(found, LEVEL))

    kind = f"{100 * same:.0f} % of labels alike{', few uniform lists' if skewed else ''}"
    return Claim(f"biases: favours one kind of lists, {quantity(rows, 'row')}, {kind}", made)


def more_right(prompts: int, cases: int, right: float) -> Claim:
    """`robustness ablation`: a prompt is right more often than another one, although all are equally often right."""

    def made(rng: Rng, users: int) -> bool:
        hits = (rng.random((prompts, users * cases)) < right).astype(np.float64)
        who = np.repeat(np.arange(users), cases)
        tests = [quick_sign_test(*users_for_each(a, b, who)) for a, b in combinations(hits, 2)]
        return any(p is not None and p < ALPHA for p in holm(tests))

    name = f"{prompts} prompts, {quantity(cases, 'pair')} of a user, {100 * right:.0f} % right"
    return Claim(f"ablation: a prompt is right more often, {name}", made)


def moved(cases: int) -> Claim:
    """`compare` with several cases of a user: the labels have moved, although both raters draw them alike."""

    def made(rng: Rng, users: int) -> bool:
        usual = rng.integers(0, 3, users * cases)
        before, after = (
            np.where(rng.random(usual.size) < 0.7, usual, rng.integers(0, 3, usual.size)).astype(np.float64)
            for _ in range(2)
        )
        p = sign_test(*users_for_each(after, before, np.repeat(np.arange(users), cases)))
        return p is not None and p < ALPHA

    return Claim(f"compare: labels moved, {cases} cases of a user", made)


def unbalanced(parts: int, share: float) -> Claim:
    """`estimate`: the judge rates the labelled cases differently, in any of several parts (systems, labels), although half
    of the users were drawn at random to be labelled."""

    def made(rng: Rng, users: int) -> bool:
        labelled = rng.permutation(2 * users) < users
        p_values = []
        for _ in range(parts):
            judge = (rng.random(2 * users) < share).astype(np.float64)
            people = np.where(labelled, (rng.random(2 * users) < share).astype(np.float64), np.nan)
            p_values.append(prediction_powered_mean(people, judge, np.arange(2 * users)).balance_p)
        return any(p is not None and p < ALPHA for p in holm(p_values))

    return Claim(f"estimate: the labelled cases differ, {quantity(parts, 'part')}, share {share:g}", made)


GATES = (
    certain(1), certain(2), certain(6), worse(1, 0.8), worse(6, 0.8), worse(6, 0.97),
)  # fmt: skip
POSITION = favoured(1), favoured(7)
TREND = shifted(1, 0.3), shifted(30, 0.3), shifted(30, 0.05)
COMPARE = changed(0.7, (0.34, 0.33, 0.33)), changed(0.9, (0.34, 0.33, 0.33)), moved(3)
BIASES = (
    favours(1, 0.0), favours(1, 0.8), favours(1, 0.95), favours(2, 0.8), favours(6, 0.8), favours(2, 0.8, skewed=True),
    favours(2, 0.95, skewed=True),
)  # fmt: skip
ABLATION = more_right(2, 1, 0.8), more_right(3, 3, 0.8), more_right(3, 1, 0.97)
ESTIMATE = unbalanced(1, 0.5), unbalanced(1, 0.05), unbalanced(10, 0.3)
