"""How often each claim is made about equal systems, judges or nights, and whether plans reach the power they promise.

    python benchmarks/claims.py [CLAIM...] [--draws 2000] [--users 2,3,5,8,12,20,50,100] [--quick]

Every claim is made by the functions the tool itself uses, on samples in which it is false: a cell is the share of samples
with at least one such claim, in %. The bound: 5 % and the noise of the draws.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import rows as benchmark
from benchmarks.populations import Rng, battles_drawn, sparse_hits
from benchmarks.rows import bounded_row, command_parser
from recjudge_tui.domain.text import quantity
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.leaderboard.battles import Battles
from recjudge_tui.reports.leaderboard.rows import COLUMNS, board_rows
from recjudge_tui.reports.leaderboard.scores import ScoreOptions, win_rate_scores
from recjudge_tui.reports.leaderboard.separable import tested_neighbours
from recjudge_tui.reports.papers.saer_conclusion import Findings, Stages, conclusion
from recjudge_tui.stats.agreement.change import mean_change
from recjudge_tui.stats.agreement.marginal import stuart_maxwell
from recjudge_tui.stats.arrays import FloatArray
from recjudge_tui.stats.defaults import ALPHA, LEVEL
from recjudge_tui.stats.experiments.power import (
    Discordance,
    of_users,
    power_of,
    share_discordance,
    units_needed,
    user_sizes,
    win_rate_discordance,
)
from recjudge_tui.stats.ranking.battles import user_counts
from recjudge_tui.stats.ranking.mean_tests import adjusted, mean_tests
from recjudge_tui.stats.resampling.intervals import SHARE, mean_estimate, share_estimate
from recjudge_tui.stats.resampling.multiplicity import holm, holm_claims, sign_test
from recjudge_tui.stats.resampling.sign_flips import sign_flip_test, user_means
from recjudge_tui.store.verdicts.ratings import Question

DRAWS, SHORT_DRAWS, QUICK_DRAWS = 2000, 200, 5
USERS = (2, 3, 5, 8, 12, 20, 50, 100)
QUICK_USERS = [8]


class Claim(NamedTuple):
    """`made(rng, users)`: whether the claim is made about one sample in which it is false."""

    name: str
    made: Callable[[Rng, int], bool]


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
        return any(p is not None and p < ALPHA for p in holm([_sign_test(*side) for side in sides]))

    return Claim(f"{systems} systems, {rows} rows a user", made)


_sign_test = lru_cache(None)(sign_test)
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
        fought = Battles(question, names, a, b, outcome, owner, counts, none, none, 1, 0, 1)
        scores = win_rate_scores(fought, ScoreOptions())
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

    return Claim(f"gate --against, {quantity(figures, 'figure')}", made)


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

    return Claim(f"trend: the judge has shifted, {quantity(nights, 'night')}", made)


def _hits(rng: Rng, users: int, share: float) -> FloatArray:
    return (rng.random(users) < share).astype(np.float64)


def _labels(rng: Rng, users: int) -> FloatArray:
    return rng.choice(5, users, p=(0.02, 0.03, 0.1, 0.25, 0.6)) / 4


CLAIMS: dict[str, tuple[Claim, ...]] = {
    "separable": (
        separable(2), separable(3), separable(6), separable(2, 3, 1.5), separable(3, 3, 1.5),
    ),
    "saer": (saer(2), saer(4), saer(4, "s0")),
    "means": (
        means("nDCG with 60 % zeros", lambda rng, n: sparse_hits(rng, n, 0.4), 2),
        means("nDCG with 60 % zeros", lambda rng, n: sparse_hits(rng, n, 0.4), 4),
        means("nDCG with 90 % zeros", lambda rng, n: sparse_hits(rng, n, 0.1), 2),
        means("hits of 3 %", lambda rng, n: (rng.random(n) < 0.03).astype(np.float64), 2),
        means("hits of half", lambda rng, n: (rng.random(n) < 0.5).astype(np.float64), 2),
        means("skewed", lambda rng, n: rng.beta(0.5, 5, n), 2),
        means("skewed", lambda rng, n: rng.beta(0.5, 5, n), 3, 14),
        means("labels 1 to 5", _labels, 3, 4),
    ),
    "shapes": (
        shapes("hits of .1, dense", lambda rng, n: _hits(rng, n, 0.1), lambda rng, n: rng.beta(0.5, 4.5, n)),
        shapes("hits of .3, dense", lambda rng, n: _hits(rng, n, 0.3), lambda rng, n: rng.beta(3, 7, n)),
        shapes(
            "labels 1 and 5, 4 and 5",
            lambda rng, n: _hits(rng, n, 0.85),
            lambda rng, n: 0.75 + _hits(rng, n, 0.4) / 4,
        ),
        shapes("sparse, dense", lambda rng, n: sparse_hits(rng, n, 0.4), lambda rng, n: rng.beta(2, 29 / 3, n)),
    ),
    "gates": (certain(1), certain(2), certain(6), worse(1, 0.8), worse(6, 0.8), worse(6, 0.97)),
    "others": (favoured(1), favoured(7), shifted(1, 0.3), shifted(30, 0.3), shifted(30, 0.05),
        changed(0.7, (0.34, 0.33, 0.33)), changed(0.9, (0.34, 0.33, 0.33)),
    ),
}  # fmt: skip


def false_rate(claim: Claim, users: int, draws: int, seed: int = 2) -> float:
    rng = np.random.default_rng([seed, users, *claim.name.encode()])
    return sum(claim.made(rng, users) for _ in range(draws)) / draws


class Plan(NamedTuple):
    """What is planned for: how cases differ, how many cases a user has, and how alike they are."""

    shares: Discordance
    cases: int = 1
    icc: float = 0.0


def reached_power(plan: Plan, draws: int, seed: int = 3) -> tuple[int, float, float]:
    """Users planned for a power of 80 %, the power promised for them, and that of the sign test in simulation."""
    users = of_users(plan.shares, user_sizes(plan.cases), plan.icc)
    needed = units_needed(users) or 0
    psi, delta = plan.shares.psi, plan.shares.delta
    chances = np.array([(psi + delta) / 2, 1 - psi, (psi - delta) / 2])
    rng = np.random.default_rng([seed, int(1000 * psi), int(1000 * delta), plan.cases])
    own = np.broadcast_to(chances, (needed, 3))
    shown = []
    for _ in range(draws):
        if plan.icc:
            own = rng.dirichlet(np.maximum(chances, 1e-9) * (1 - plan.icc) / plan.icc, needed)
        won, _, lost = rng.multinomial(plan.cases, own).T
        shown.append((_sign_test(int((won > lost).sum()), int((won < lost).sum())) or 1.0) < ALPHA)
    return needed, power_of(users, needed), float(np.mean(shown))


PLANS: dict[str, Plan] = {
    f"win rate {rate}, ties {ties}": Plan(win_rate_discordance(rate, ties))
    for rate, ties in ((0.9, 0.0), (0.75, 0.2), (0.65, 0.2), (0.6, 0.0), (0.55, 0.3))
} | {
    f"shares {a} and {b}": Plan(share_discordance(a, b)) for a, b in ((0.3, 0.1), (0.5, 0.4), (0.1, 0.05))
} | {
    f"win rate 0.65, ties 0.2, {cases} cases a user, ICC {icc}": Plan(win_rate_discordance(0.65, 0.2), cases, icc)
    for cases, icc in ((2, 0.0), (3, 0.2), (10, 0.0), (10, 0.6))
}  # fmt: skip


def measure(quick: bool = False) -> list[benchmark.Row]:
    """One row per group of claims with the highest share of false claims; then the power of a plan."""
    draws = QUICK_DRAWS if quick else SHORT_DRAWS
    rows: list[benchmark.Row] = []
    sizes = QUICK_USERS if quick else [3, 8, 20]
    for name, claims in CLAIMS.items():
        start = time.perf_counter()
        rates = {(claim.name, users): false_rate(claim, users, draws) for claim in claims for users in sizes}
        worst = max(rates, key=lambda key: rates[key])
        note = f"{worst[0]}, {worst[1]} users; {time.perf_counter() - start:.0f} s"
        bound = 0.05 + 3.5 * float(np.sqrt(0.05 * 0.95 / draws))
        rows.append(bounded_row(f"false claims: {name}", rates[worst], bound, False, note))
    needed, _, power = reached_power(Plan(win_rate_discordance(0.65, 0.2)), 10 * draws)
    rows.append(
        bounded_row("power of a plan for 80 %", power, 0.78, True, f"win rate .65, 20 % ties: {needed} users")
    )
    return rows


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *CLAIMS, "plans"])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--users", default=",".join(map(str, USERS)))
    options = parser.parse_args(words)
    draws = QUICK_DRAWS if options.quick else options.draws
    sizes = QUICK_USERS if options.quick else [int(size) for size in options.users.split(",")]
    print("| claim | " + " | ".join(map(str, sizes)) + " |\n|---|" + "---|" * len(sizes))
    for name in options.names or CLAIMS:
        for claim in CLAIMS.get(name, ()):
            cells = [f"{100 * false_rate(claim, users, draws):.1f}" for users in sizes]
            print(f"| {claim.name} | " + " | ".join(cells) + " |", flush=True)
    if not options.names or "plans" in options.names:
        print("\n| plan for 80 % | users | promised | reached |\n|---|---|---|---|")
        for name, plan in PLANS.items():
            needed, promised, power = reached_power(plan, draws)
            print(f"| {name} | {needed} | {100 * promised:.1f} | {100 * power:.1f} |")


if __name__ == "__main__":
    main()
