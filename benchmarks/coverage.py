"""How often 95 % intervals contain the true value, how wide they are, and how often equal things are called different.

Users are drawn from four populations: `balanced` labels and rows; `skewed` ones; `rare` ones, where one label in thirty
differs; `clustered` ones, where a user has 1 to 30 rows that resemble each other. The true value of a figure is that of
6,000 users. `width` is the mean width over 3.92 standard deviations of the figure, the width of an ideal interval.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.rows import Row, bounded_row, command_parser, print_rows
from recjudge_tui.prompting.tuning import FEWEST_USERS as FEWEST_WHO_TEST
from recjudge_tui.reports.common.rows import real
from recjudge_tui.reports.slices import FEWEST_USERS
from recjudge_tui.reports.why import FEWEST_USERS as FEWEST_OF_THEME
from recjudge_tui.reports.why import Argument, phrase_rows
from recjudge_tui.stats.agreement import agreement_estimates, detection_estimates, label_scores
from recjudge_tui.stats.arrays import FloatArray, IntArray, none_if_nan
from recjudge_tui.stats.calibration import calibration_error
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Estimate, Interval
from recjudge_tui.stats.hypotheses import (
    benjamini_hochberg,
    difference_of_groups,
    holm,
    mean_tests,
    sign_flip_test,
    sign_test,
    user_means,
)
from recjudge_tui.stats.intervals import SHARE, difference_of_means, mean_estimate, share_estimate
from recjudge_tui.stats.planning import prediction_powered_mean
from recjudge_tui.stats.ranking import (
    bradley_terry,
    controlled_ratings,
    neighbours,
    pair_intervals,
    pair_tests,
    q_of,
    rating_intervals,
    user_counts,
)

POPULATIONS = ("balanced", "skewed", "rare", "clustered")
USERS = (5, 10, 20, 50)
DRAWS, CLAIM_DRAWS, LARGE = 400, 400, 6_000
LABELS = (0.0, 1.0, 2.0)
_SHARES = {"balanced": (1, 1, 1), "skewed": (1, 2, 7), "rare": (0.5, 0.5, 29), "clustered": (1, 1, 1)}
_WINS = {"balanced": (4, 2, 4), "skewed": (7, 2, 1), "rare": (0.2, 9.6, 0.2), "clustered": (4, 2, 4)}
# no more than this of the intervals may miss, or the width or the false claims exceed
LEAST, LEAST_RARE, MOST, WIDEST, MOST_FALSE = 92.5, 88.0, 98.5, 1.2, 5.0
Triple = tuple[float | None, float | None, float | None]
Ends = dict[str, Triple]


class Sample(NamedTuple):
    """Two raters' labels of the same rows, two measures of them, and battles of three systems, by the same users."""

    user: IntArray
    a: FloatArray
    b: FloatArray
    x: FloatArray
    y: FloatArray
    first: IntArray
    second: IntArray
    won: FloatArray


def sample(rng: np.random.Generator, population: str, users: int) -> Sample:
    clustered = population == "clustered"
    rows = (
        rng.choice([1, 2, 4, 8, 30], users, p=[0.3, 0.25, 0.2, 0.15, 0.1]) if clustered else np.full(users, 6)
    )
    user = np.repeat(np.arange(users), rows)
    # how much a user's rows resemble each other: an intraclass correlation of .3 or .1
    own = rng.gamma(_parameters(_SHARES[population], 0.3 if clustered else 0.1), size=(users, 3)) + 1e-12
    truth = _drawn(rng, (own / own.sum(axis=1, keepdims=True))[user])
    skill = np.clip(rng.normal(0.75, 0.1, users), 0, 1)[user]
    noise = np.array(_SHARES[population]) / sum(_SHARES[population])
    a, b = (
        np.where(rng.random(user.size) < skill, truth, rng.choice(3, user.size, p=noise)).astype(np.float64)
        for _ in range(2)
    )
    mood = rng.normal(0, 0.7 if clustered else 0.3, users)[user]
    x, y = (mood + rng.normal(0, 1, (2, user.size))) + rng.normal(0, 0.7, user.size)
    if population in ("skewed", "rare"):
        x, y = np.exp(x), np.exp(y)
    first = rng.integers(0, 3, user.size)
    second = (first + rng.integers(1, 3, user.size)) % 3
    taste = rng.gamma(_parameters(_WINS[population], 0.3 if clustered else 0.1), size=(users, 3)) + 1e-12
    won = 1.0 - _drawn(rng, (taste / taste.sum(axis=1, keepdims=True))[user])
    # the better one has the lower number
    won = np.where(first < second, won, -won)
    return Sample(user, a, b, x, y, first, second, won)


def _parameters(shares: tuple[float, ...], alike: float) -> FloatArray:
    parameters: FloatArray = np.array(shares) / sum(shares) * (1 - alike) / alike
    return parameters


def _drawn(rng: np.random.Generator, chances: FloatArray) -> FloatArray:
    at = rng.random(len(chances))[:, None] > chances.cumsum(axis=1)
    drawn: FloatArray = np.minimum(at.sum(axis=1), 2).astype(np.float64)
    return drawn


# ---- figures ----------------------------------------------------------------------------------------------------------


def figures(drawn: Sample) -> Ends:
    """The value and the ends of every figure of the table."""
    user, a, b = drawn.user, drawn.a, drawn.b
    out: dict[str, Estimate] = {"share": share_estimate((a == 2).astype(float), user)}
    out |= {"mean of labels": mean_estimate(a, user, (0, 2))}
    out |= {"mean without bounds": mean_estimate(drawn.x, user)}
    out |= {
        "difference of means": difference_of_means(np.where(drawn.first == 0, a, b), drawn.first == 0, user)
    }
    names = ("percent", "kappa", "qwk", "alpha_ordinal", "ac1", "ac2")
    out |= agreement_estimates(a, b, user, LABELS, names)
    for level, groups in (("", None), (" by user", user)):
        found = agreement_estimates(
            drawn.x, drawn.y, user, None, ("pearson", "spearman", "kendall"), groups=groups
        )
        out |= {f"{stat}{level}": estimate for stat, estimate in found.items()}
    marks = detection_estimates((a == 0).astype(float), (b == 0).astype(float), user)
    out |= {"recall of a label": marks["recall"], "F1 of a label": marks["f1"]}
    out |= {"macro F1": label_scores(a, b, user, LABELS).averages["macro"]["f1"]}
    seen = np.where(drawn.first < drawn.second, drawn.won, -drawn.won)
    out |= {"win rate": mean_estimate((seen + 1) / 2, user, SHARE)}
    sure = 0.55 + 0.15 * a
    out |= {"calibration error": calibration_error(sure, (a == b).astype(float), user)}
    if user.max() < LARGE // 2:
        out |= {"PPI++": _powered(drawn)}
    ends: Ends = {name: (e.value, e.ci_low, e.ci_high) for name, e in out.items()}
    return ends | {"Q": _q(seen, user), "rating": _rating(drawn)}


def _powered(drawn: Sample) -> Estimate:
    """The mean of b by labels of half of the users and the judge a of all."""
    labelled = drawn.user % 2 == 0
    return prediction_powered_mean(
        np.where(labelled, drawn.b, np.nan), drawn.a, drawn.user, scale=(0, 2)
    ).powered


def _q(seen: FloatArray, user: IntArray) -> Triple:
    first = np.zeros(seen.size, dtype=np.int64)
    counts = user_counts(first, first + 1, seen, user, 2)
    ends = pair_intervals(counts, "q")[0][0]
    return none_if_nan(float(q_of(counts.total.counts[0]))), ends.low, ends.high


def _rating(drawn: Sample) -> Triple:
    counts = user_counts(drawn.first, drawn.second, drawn.won, drawn.user, 3)
    fitted = bradley_terry(counts.total, "half")
    ends: Interval = rating_intervals(counts, fitted)[0]
    return none_if_nan(float(fitted.ratings[0])), ends.low, ends.high


class Cell(NamedTuple):
    """One figure, population and number of users, in per cent: intervals shown, of these those that hold the true value;
    width over the ideal."""

    shown: float
    coverage: float
    width: float


def cells(population: str, users: int, draws: int) -> dict[str, Cell]:
    truth = _truth(population)
    found: dict[str, list[Triple]] = {name: [] for name in truth}
    for draw in range(draws):
        rng = np.random.default_rng([draw, users, POPULATIONS.index(population)])
        for name, ends in figures(sample(rng, population, users)).items():
            found[name].append(ends)
    out = {}
    for name, triples in found.items():
        value, low, high = np.array(triples, dtype=np.float64).T
        here = ~np.isnan(low) & ~np.isnan(high)
        if not here.any():
            out[name] = Cell(0.0, math.nan, math.nan)
            continue
        held = (low[here] <= truth[name]) & (truth[name] <= high[here])
        ideal = 3.92 * float(np.nanstd(value))
        out[name] = Cell(
            100 * float(here.mean()),
            100 * float(held.mean()),
            float((high - low)[here].mean()) / max(ideal, 1e-12),
        )
    return out


_TRUTHS: dict[str, dict[str, float]] = {}


def _truth(population: str) -> dict[str, float]:
    if population not in _TRUTHS:
        large = sample(np.random.default_rng(7), population, LARGE)
        known = {name: value for name, (value, _, _) in figures(large).items() if value is not None}
        _TRUTHS[population] = known | {"PPI++": float(large.b.mean())}
    return _TRUTHS[population]


# ---- false claims -----------------------------------------------------------------------------------------------------


def two_systems(rng: np.random.Generator, population: str, users: int) -> bool:
    drawn = sample(rng, population, users)
    # either may be the better one for a user
    turn = rng.choice([-1.0, 1.0], users)[drawn.user]
    return (sign_flip_test(user_means(drawn.won * turn, drawn.user)) or 1.0) < ALPHA


def three_systems(rng: np.random.Generator, population: str, users: int) -> bool:
    drawn = sample(rng, population, users)
    place = rng.permuted(np.tile(np.arange(3), (users, 1)), axis=1)
    first, second = place[drawn.user, drawn.first], place[drawn.user, drawn.second]
    counts = user_counts(first, second, drawn.won, drawn.user, 3)
    places = bradley_terry(counts.total, "half").places()
    order = sorted((at for at in range(3) if places[at] is not None), key=lambda at: places[at] or 0)
    return any(pair.separable for pair in neighbours(order, pair_tests(counts)))


def means_of_three(rng: np.random.Generator, population: str, users: int) -> bool:
    drawn = sample(rng, population, users)
    values = np.stack([drawn.x, drawn.y, rng.permutation(drawn.x)], axis=1)
    values = np.take_along_axis(
        values, rng.permuted(np.tile(np.arange(3), (users, 1)), axis=1)[drawn.user], axis=1
    )
    return any(test.separable for test in mean_tests(values, drawn.user).values())


def differences(rng: np.random.Generator, population: str, users: int) -> bool:
    """An interval of a difference between two raters alike that leaves out 0."""
    drawn = sample(rng, population, users)
    ends = mean_estimate(drawn.a - drawn.b, drawn.user, (-2, 2))
    return ends.ci_low is not None and ends.ci_high is not None and not ends.ci_low <= 0 <= ends.ci_high


def words_of_two_sides(rng: np.random.Generator, population: str, users: int) -> bool:
    """A phrase that is said to go with one side, of 60 words that every reason draws alike."""
    drawn = sample(rng, population, users)
    chances = 0.5 / np.arange(1, 61) ** 0.5
    arguments = [
        Argument(
            row,
            int(user),
            int(np.sign(won)),
            {f"w{at}": 0 for at in np.flatnonzero(rng.random(60) < chances)},
        )
        for row, (user, won) in enumerate(zip(drawn.user, drawn.won, strict=True))
    ]
    rows = phrase_rows(arguments, ("a", "b"), ("a", "b"))
    return any((p or 1.0) < ALPHA for p in benjamini_hochberg([real(row, "p") for row in rows]))


def slices_of_users(rng: np.random.Generator, population: str, users: int) -> bool:
    """One of 20 slices, of a tenth to a half of the users, that differs from the rest."""
    drawn = sample(rng, population, users)
    of_user = user_means((1 + drawn.won) / 2, drawn.user)
    shares = np.linspace(0.1, 0.5, 20)
    tested = []
    for share in shares:
        here = rng.random(of_user.size) < share
        if here.any() and not here.all():
            tested.append(difference_of_groups(of_user[here], of_user[~here], FEWEST_USERS)[1])
    return any((p or 1.0) < ALPHA for p in benjamini_hochberg(tested) if p is not None)


def control_matters(rng: np.random.Generator, population: str, users: int) -> bool:
    """A covariate that has nothing to do with who wins."""
    drawn = sample(rng, population, users)
    x = rng.normal(size=(drawn.won.size, 2)) + rng.normal(size=(users, 2))[drawn.user]
    found = controlled_ratings(drawn.first, drawn.second, drawn.won, drawn.user, x, 3)
    return any((p or 1.0) < ALPHA for p in holm(found.p) if p is not None)


def themes_of_two_sides(rng: np.random.Generator, population: str, users: int) -> bool:
    """One of 12 themes that is said to go with one system, where each reason uses it for either alike."""
    drawn = sample(rng, population, users)
    said = rng.choice([-1.0, 0.0, 1.0], (12, drawn.user.size), p=(0.2, 0.6, 0.2))
    tested = []
    for theme in said:
        net = np.sign(np.bincount(drawn.user, weights=theme))
        ahead, behind = int((net > 0).sum()), int((net < 0).sum())
        if ahead + behind >= FEWEST_OF_THEME:
            tested.append(sign_test(ahead, behind))
    return any((p or 1.0) < ALPHA for p in benjamini_hochberg(tested))


def tuned_prompts(rng: np.random.Generator, population: str, users: int) -> bool:
    """One of three prompts that is said to be better or worse than the first, where all four err alike."""
    if users < FEWEST_WHO_TEST:
        return False
    drawn = sample(rng, population, users)
    wrong = rng.permuted(
        np.stack([np.abs(drawn.a - drawn.b)] * 4) * (rng.random((4, drawn.a.size)) < 0.6), axis=0
    )
    tests = [sign_flip_test(user_means(wrong[0] - after, drawn.user)) for after in wrong[1:]]
    return any((p or 1.0) < ALPHA for p in holm(tests))


CLAIMS: dict[str, Callable[[np.random.Generator, str, int], bool]] = {
    "two systems: one is better": two_systems,
    "three systems: neighbours differ": three_systems,
    "three systems: means of a metric differ": means_of_three,
    "two raters: one is stricter": differences,
    "a control matters": control_matters,
    "a slice differs from the rest": slices_of_users,
    "a phrase goes with one of two systems": words_of_two_sides,
    "a theme goes with one of two systems": themes_of_two_sides,
    "a tuned prompt is better or worse": tuned_prompts,
}
CLAIM_USERS = (2, 5, 10, 20, 50)


def false_claims(name: str, population: str, users: int, draws: int) -> float:
    """In per cent of samples without a difference."""
    seeds = ([draw, users, POPULATIONS.index(population), 1] for draw in range(draws))
    return 100 * float(
        np.mean([CLAIMS[name](np.random.default_rng(seed), population, users) for seed in seeds])
    )


# ---- tables -----------------------------------------------------------------------------------------------------------


def measure(quick: bool = False) -> Iterator[Row]:
    draws, users = (20, (10,)) if quick else (DRAWS, USERS[1:])
    for population in POPULATIONS:
        for size in users:
            for name, cell in cells(population, size, draws).items():
                if math.isnan(cell.coverage):
                    continue
                least = LEAST_RARE if population == "rare" else LEAST
                note = f"of {cell.shown:.0f} % that are shown; width {cell.width:.2f} of the ideal"
                yield bounded_row(
                    f"{name}, {population}, {size} users: % held", cell.coverage, least, True, note
                )
        for claim in CLAIMS:
            for size in CLAIM_USERS[: 1 if quick else None]:
                share = false_claims(claim, population, size, 20 if quick else CLAIM_DRAWS)
                yield bounded_row(
                    f"{claim}, {population}, {size} users: % false", share, MOST_FALSE, False, ""
                )


def markdown(draws: int) -> Iterator[str]:
    """The table of docs/statistics.md: coverage in per cent/width over the ideal (samples with an interval)."""
    columns = [(population, users) for population in POPULATIONS for users in USERS]
    table = {column: cells(*column, draws) for column in columns}
    yield "|figure|" + "|".join(f"{population} {users}" for population, users in columns) + "|"
    yield "|---|" + "---|" * len(columns)
    for name in _truth(POPULATIONS[0]):
        yield f"|{name}|" + "|".join(_shown(table[column][name]) for column in columns) + "|"
    yield ""
    columns = [(population, users) for population in POPULATIONS for users in CLAIM_USERS]
    yield "| false claim | " + " | ".join(f"{population} {users}" for population, users in columns) + " |"
    yield "|---|" + "---|" * len(columns)
    for claim in CLAIMS:
        yield (
            f"| {claim} | "
            + " | ".join(f"{false_claims(claim, *column, draws):.1f}" for column in columns)
            + " |"
        )


def _shown(cell: Cell) -> str:
    if math.isnan(cell.coverage) or cell.shown < 5:
        return "–"
    mark = "" if cell.shown > 95 else f" ({cell.shown:.0f})"
    return f"{cell.coverage:.0f}/{cell.width:.1f}{mark}"


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument(
        "--markdown", type=int, metavar="DRAWS", help="print the tables of docs/statistics.md"
    )
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if options.markdown:
        for line in markdown(options.markdown):
            print(line, flush=True)
        return
    print_rows(measure(options.quick))


if __name__ == "__main__":
    main()
