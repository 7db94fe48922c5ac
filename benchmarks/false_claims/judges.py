"""False claims about judges: a bound is met, a figure fell, a set is favoured, labels moved, uniform lists are favoured,
a prompt is right more often, the labelled cases are no random sample.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from benchmarks.false_claims.claim import Claim, quick_sign_test
from benchmarks.populations import Rng
from recjudge_tui.domain.text import quantity
from recjudge_tui.stats.agreement.change import mean_change
from recjudge_tui.stats.agreement.homogeneity_bias import homogeneity_bias
from recjudge_tui.stats.defaults import ALPHA, LEVEL
from recjudge_tui.stats.experiments.prediction_powered import prediction_powered_mean
from recjudge_tui.stats.hypotheses import holm, holm_claims, sign_test, stuart_maxwell, users_for_each
from recjudge_tui.stats.intervals import SHARE, mean_estimate, share_estimate


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


def uniform(rows: int, same: float, skewed: bool = False) -> Claim:
    """`diversity --truth`: a rater favours uniform or varied lists more than people do, in any of the rows (over all lists
    and within systems, for each of several judges), two lists of a user; `same` of the labels are those of people."""

    def made(rng: Rng, users: int) -> bool:
        system = np.tile([0, 1], users)
        who = np.repeat(np.arange(users), 2)
        lists = rng.beta(0.3, 3, who.size) if skewed else rng.beta(2 + system, 3, who.size)
        people = rng.choice(3, who.size, p=(0.3, 0.4, 0.3))
        judges = [
            np.where(rng.random(who.size) < same, people, rng.choice(3, who.size, p=(0.3, 0.4, 0.3)))
            for _ in range(max(1, rows // 2))
        ]
        measured = [(judge, groups) for judge in judges for groups in (None, system)][:rows]

        def found(level: float) -> list[bool | None]:
            biases = [
                homogeneity_bias(lists, judge, people, who, groups, level=level).difference
                for judge, groups in measured
            ]
            return [
                None if b.ci_low is None or b.ci_high is None else not b.ci_low <= 0 <= b.ci_high
                for b in biases
            ]

        return any(holm_claims(found, LEVEL))

    kind = f"{100 * same:.0f} % of labels alike{', few uniform lists' if skewed else ''}"
    return Claim(f"diversity: favours uniform or varied lists, {quantity(rows, 'row')}, {kind}", made)


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
COMPARE = changed(0.7, (0.34, 0.33, 0.33)), changed(0.9, (0.34, 0.33, 0.33)), moved(3)
DIVERSITY = (
    uniform(1, 0.0), uniform(1, 0.8), uniform(1, 0.95), uniform(2, 0.8), uniform(6, 0.8), uniform(2, 0.8, skewed=True),
    uniform(2, 0.95, skewed=True),
)  # fmt: skip
ABLATION = more_right(2, 1, 0.8), more_right(3, 3, 0.8), more_right(3, 1, 0.97)
ESTIMATE = unbalanced(1, 0.5), unbalanced(1, 0.05), unbalanced(10, 0.3)
