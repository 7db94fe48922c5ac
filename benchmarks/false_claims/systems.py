"""False claims about systems: one is separable from another, ranked first by SAER's sentences, or has a higher mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from recjudge_tui.stats.ranking.battles import crowd_counts
from recjudge_tui.stats.ranking.mean_tests import adjusted

from benchmarks.false_claims.claim import Claim, quick_sign_test
from benchmarks.populations import Rng, battles_drawn, sparse_hits
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.battles import Battles
from recjudge_tui.reports.leaderboard.q_metrics import METRICS, correlation_rows
from recjudge_tui.reports.leaderboard.rows import COLUMNS, board_rows
from recjudge_tui.reports.leaderboard.scores import win_rate_scores
from recjudge_tui.reports.leaderboard.separable import tested_neighbours
from recjudge_tui.reports.papers.saer_conclusion import Findings, Stages, conclusion
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.hypotheses import holm, mean_tests
from recjudge_tui.stats.intervals import SHARE, share_estimate
from recjudge_tui.stats.ranking import pair_tests, user_counts
from recjudge_tui.store.verdicts.ratings import Question


def separable(systems: int, rows: int = 1, alike: float = 0.0) -> Claim:
    """Any two systems, neighbours or not; every user compares all pairs `rows` times, and tastes differ by `alike`."""
    first, second = np.array(list(combinations(range(systems), 2))).T

    def made(rng: Rng, users: int) -> bool:
        taste = rng.normal(0, alike, (users, systems)) if alike else np.zeros((users, systems))
        gap = np.repeat((taste[:, first] - taste[:, second])[..., None], rows, axis=2)
        odds = np.exp(gap / 2), np.full(gap.shape, 0.3), np.exp(-gap / 2)
        u = rng.random(gap.shape) * (odds[0] + odds[1] + odds[2])
        lead = ((u < odds[0]).astype(int) - (u > odds[0] + odds[1])).sum(axis=2)
        sides = zip((lead > 0).sum(axis=0).tolist(), (lead < 0).sum(axis=0).tolist(), strict=True)
        return any(p is not None and p < ALPHA for p in holm([quick_sign_test(*side) for side in sides]))

    return Claim(f"any pair separable: {systems} systems, {rows} rows a user", made)


_FIRST = ("judged better", "judged worse", "is ahead of", "stages put", "is Good most often", "is better.")
_NOTHING = Table("", (), ())
_ALONE = tuple(Column(name, name) for name in ("system", "label", "aspect", "share", "ci_low", "ci_high"))
_COST = tuple(Column(name, name) for name in ("run", "failed", "cost_usd", "calls", "cached", "seconds"))
_BILL: Row = {"run": "1", "failed": 0, "cost_usd": 0.0, "calls": 0, "cached": 0, "seconds": 0.0}


def saer(systems: int, baseline: str = "") -> Claim:
    """SAER's sentences: that a system is better, worse or first, alone or in pairs."""
    names = tuple(f"s{at}" for at in range(systems))
    question = Question("judge", "pairwise", "overall")

    def made(rng: Rng, users: int) -> bool:
        a, b, outcome, owner = battles_drawn(rng, np.zeros(systems), 0.3, users, 1, 0.0)
        counts, none = (
            user_counts(a, b, outcome, owner, systems),
            np.zeros((systems, systems), dtype=np.int64),
        )
        fought = Battles(question, names, counts, none, none, 1, 1)
        scores = win_rate_scores(fought)
        rows = tuple(board_rows(fought, scores, "winrate"))
        ranked = tuple(
            str(row["system"]) for row in rows if row["opponent"] is None and row["score"] is not None
        )
        findings = Findings(
            Stages("judge", 1, 2), Table("", _ALONE, tuple(_alone(rng, names, users))), Table("", COLUMNS, rows),
            _NOTHING, Table("", _COST, (_BILL, _BILL)), baseline, ranked, tested_neighbours(fought, scores), names,
            fought.tests, frozenset(),
        )  # fmt: skip
        sentences = " ".join(line for line in conclusion(findings, rules=False) if "not tested" not in line)
        sentences = sentences.replace("no system is shown to be Good most often", "")
        return any(words in sentences for words in _FIRST)

    return Claim(f"SAER's sentences, {systems} systems{', against one' if baseline else ''}", made)


def _alone(rng: Rng, names: tuple[str, ...], users: int) -> Iterator[Row]:
    for name in names:
        labels = rng.random(users)
        for label, hits in (("Good", labels < 0.4), ("Poor", labels > 0.7)):
            share = share_estimate(hits, np.arange(users))
            yield {
                "system": name, "label": label, "aspect": "overall", "share": share.value,
                "ci_low": share.ci_low, "ci_high": share.ci_high,
            }  # fmt: skip


def means(name: str, values: Callable[[Rng, int], FloatArray], systems: int, figures: int = 1) -> Claim:
    """Any pair of systems by any of several figures that are drawn in the same way for every system."""

    def made(rng: Rng, users: int) -> bool:
        tables = [np.stack([values(rng, users) for _ in range(systems)], axis=1) for _ in range(figures)]
        families = adjusted([mean_tests(table, np.arange(users), SHARE) for table in tables])
        return any(test.separable for tests in families for test in tests.values())

    return Claim(f"means, {name}, {systems} systems, {quantity(figures, 'figure')}", made)


def shapes(
    name: str, first: Callable[[Rng, int], FloatArray], second: Callable[[Rng, int], FloatArray]
) -> Claim:
    """Two systems of equal means and different shapes; a claim that one more user could undo says so and is not counted."""

    def made(rng: Rng, users: int) -> bool:
        (tests,) = adjusted(
            [mean_tests(np.stack([first(rng, users), second(rng, users)], axis=1), np.arange(users), SHARE)]
        )
        return any(test.separable and not test.fragile for test in tests.values())

    return Claim(f"means of unequal shape, not fragile, {name}", made)


def crowd(raters: int, lean: float) -> Claim:
    """Two systems are separable by a crowd: each user is judged by three of `raters` raters, who prefer one of the systems
    by chance."""

    def made(rng: Rng, users: int) -> bool:
        owner = np.repeat(np.arange(users), 3)
        rater = np.concatenate([rng.choice(raters, 3, replace=False) for _ in range(users)])
        latent = lean * rng.normal(size=raters)[rater] + rng.normal(size=owner.size)
        first = np.zeros(owner.size, dtype=np.int64)
        tests = pair_tests(crowd_counts(first, first + 1, np.sign(latent), owner, rater, 2), 1)
        return any(test.p_holm is not None and test.p_holm < ALPHA for test in tests.values())

    return Claim(f"any pair separable by a crowd: {raters} raters{' who lean' if lean else ''}", made)


def correlated(name: str, shape: Callable[[FloatArray], FloatArray]) -> Claim:
    """p (Holm) of Q against metrics is below .05 although the figures are unrelated; `users` are systems here."""

    def made(rng: Rng, users: int) -> bool:
        names = [f"s{at}" for at in range(users)]
        q, *values = (
            dict(zip(names, row.tolist(), strict=True)) for row in shape(rng.normal(size=(5, users)))
        )
        rows = correlation_rows("judge", "overall", q, dict(zip(METRICS, values, strict=True)), 5)
        return any(isinstance(p := row["p_holm"], float) and p < ALPHA for row in rows)

    return Claim(f"Q and a metric are related: {name}, 4 metrics", made)


def _hits(rng: Rng, users: int, share: float) -> FloatArray:
    return (rng.random(users) < share).astype(np.float64)


def _labels(rng: Rng, users: int) -> FloatArray:
    return rng.choice(5, users, p=(0.02, 0.03, 0.1, 0.25, 0.6)) / 4


SEPARABLE = (
    separable(2), separable(3), separable(6), separable(2, 3, 1.5), separable(3, 3, 1.5),
)  # fmt: skip
CROWDS = crowd(10, 0.0), crowd(10, 1.0), crowd(5, 1.0)
SAER_SENTENCES = saer(2), saer(4), saer(4, "s0")
MEANS = (
    means("nDCG with 60 % zeros", lambda rng, n: sparse_hits(rng, n, 0.4), 2),
    means("nDCG with 60 % zeros", lambda rng, n: sparse_hits(rng, n, 0.4), 4),
    means("nDCG with 90 % zeros", lambda rng, n: sparse_hits(rng, n, 0.1), 2),
    means("hits of 3 %", lambda rng, n: (rng.random(n) < 0.03).astype(np.float64), 2),
    means("hits of half", lambda rng, n: (rng.random(n) < 0.5).astype(np.float64), 2),
    means("skewed", lambda rng, n: rng.beta(0.5, 5, n), 2),
    means("skewed", lambda rng, n: rng.beta(0.5, 5, n), 3, 14),
    means("labels 1 to 5", _labels, 3, 4),
)
SHAPES = (
    shapes("hits of .1, dense", lambda rng, n: _hits(rng, n, 0.1), lambda rng, n: rng.beta(0.5, 4.5, n)),
    shapes("hits of .3, dense", lambda rng, n: _hits(rng, n, 0.3), lambda rng, n: rng.beta(3, 7, n)),
    shapes(
        "labels 1 and 5, 4 and 5",
        lambda rng, n: _hits(rng, n, 0.85),
        lambda rng, n: 0.75 + _hits(rng, n, 0.4) / 4,
    ),
    shapes("sparse, dense", lambda rng, n: sparse_hits(rng, n, 0.4), lambda rng, n: rng.beta(2, 29 / 3, n)),
)
CORRELATIONS = correlated("normal", lambda x: x), correlated("log-normal", np.exp)
