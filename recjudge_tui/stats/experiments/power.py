"""Sample size and power: how many cases a comparison needs, and what difference a number of cases can detect.

One model for pairs and for shares. A unit (a pair of lists, or a user with a list of each system) favours system
a, b, or neither; a tie favours neither. With psi the share of units that favour one of the two and delta the share for
a minus the share for b, the number of units is Connor's for McNemar's test. With ties counted half, the win rate is
1/2 + delta/2. Where users have several units, the test counts each user once, for the system that most of the user's units
favour: `of_users` says how often that is one of the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from recjudge_tui.stats.arrays import FloatArray, Ids, as_floats, encode, rows_of
from recjudge_tui.stats.defaults import ALPHA, POWER
from recjudge_tui.stats.estimate import Estimate, undefined

MOST_UNITS = 10_000_000
MOST_CASES = 100
_STEPS = 60
# up to this number of units the power is exact
_MOST_EXACT = 3000
_FEWEST_LOOKED_AT = 50


@dataclass(frozen=True)
class Discordance:
    """`psi`: the share of units that favour one of the two; `delta`: the share for a minus the share for b.

    Raises ValueError unless 0 <= |delta| <= psi <= 1.
    """

    psi: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 <= abs(self.delta) <= self.psi <= 1:
            raise ValueError(f"a difference of {self.delta:g} is impossible if only {self.psi:.1%} differ")


def win_rate_discordance(win_rate: float, ties: float = 0.0, consistency: float = 1.0) -> Discordance:
    """Pairs of lists judged in both orders.

    `win_rate` (ties half) and `ties` refer to the pairs judged alike in both orders; `consistency` is the share of
    these pairs; the others become position ties. psi = c (1 - t), delta = c (2 w - 1): an inconsistent judge
    pulls the win rate towards one half. Raises ValueError for values outside 0..1, or a win rate that is impossible
    with so many ties: |2 w - 1| <= 1 - t must hold.
    """
    if not all(0 <= value <= 1 for value in (win_rate, ties, consistency)):
        raise ValueError("a win rate, a tie rate and a consistency lie between 0 and 1")
    if abs(2 * win_rate - 1) > 1 - ties + 1e-12:
        raise ValueError(f"with {ties:.1%} ties the win rate cannot be {win_rate:.1%}")
    psi = consistency * (1 - ties)
    return Discordance(psi, max(-psi, min(psi, consistency * (2 * win_rate - 1))))


def share_discordance(share_a: float, share_b: float, correlation: float = 0.0) -> Discordance:
    """Two shares over the same users: how often a's list and b's list get a label.

    psi = p_a (1 - p_b) + p_b (1 - p_a) - 2 phi sqrt(p_a (1 - p_a) p_b (1 - p_b)), delta = p_a - p_b. Raises
    ValueError for shares outside 0..1, or a correlation phi that is impossible for these shares.
    """
    if not all(0 <= share <= 1 for share in (share_a, share_b)):
        raise ValueError("a share lies between 0 and 1")
    spread = math.sqrt(share_a * (1 - share_a) * share_b * (1 - share_b))
    both = share_a * share_b + correlation * spread
    if not max(0.0, share_a + share_b - 1) - 1e-12 <= both <= min(share_a, share_b) + 1e-12:
        raise ValueError(f"shares of {share_a:.1%} and {share_b:.1%} cannot correlate by {correlation:g}")
    return Discordance(min(1.0, max(abs(share_a - share_b), share_a + share_b - 2 * both)), share_a - share_b)


UserSizes = tuple[tuple[int, float], ...]
ONE_CASE: UserSizes = ((1, 1.0),)


def user_sizes(cases_per_user: float) -> UserSizes:
    """Users with this mean number of cases (at least one), as nearly equal as can be: numbers and shares of the users."""
    fewer = max(1, math.floor(cases_per_user))
    more = max(0.0, cases_per_user - fewer)
    return tuple((size, share) for size, share in ((fewer, 1 - more), (fewer + 1, more)) if share > 0)


@lru_cache(maxsize=4096)
def of_users(discordance: Discordance, sizes: UserSizes, icc: float = 0.0) -> Discordance:
    """How often users favour one of the two systems if their cases do so as often as `discordance` says.

    `sizes` has numbers of cases and the share of users who have as many; `icc` is the correlation of two cases of a user,
    below 0 as 0. A user's wins, ties and losses are Dirichlet-multinomial, with the correlation 1 / (1 + sum of the
    parameters) (Mosimann 1962, Biometrika 49:65). More than MOST_CASES cases of a user count as so many.
    """
    win = (discordance.psi + discordance.delta) / 2
    if icc >= 1 or sizes == ONE_CASE:
        return discordance
    leads = np.zeros(2)
    for size, share in sizes:
        leads += share * _leads(min(size, MOST_CASES), win, discordance.psi - win, max(0.0, icc))
    psi = min(1.0, float(leads.sum()))
    return Discordance(psi, max(-psi, min(psi, float(leads[0] - leads[1]))))


def _leads(cases: int, win: float, loss: float, icc: float) -> FloatArray:
    """(2,): the probabilities that a user has more wins than losses, and fewer."""
    from scipy.special import gammaln

    if cases == 1:
        return np.array([win, loss])
    wins, losses = np.indices((cases + 1, cases + 1)).reshape(2, -1)
    kept = wins + losses <= cases
    wins, losses = wins[kept], losses[kept]
    counts = np.stack([wins, cases - wins - losses, losses])
    shares = np.maximum([win, 1 - win - loss, loss], 1e-12)[:, None]
    ways = gammaln(cases + 1) - gammaln(counts + 1).sum(axis=0)
    if icc > 0:
        weights = shares * (1 - icc) / icc
        drawn = gammaln(weights + counts) - gammaln(weights)
        whole = float(weights.sum())
        logs = ways + drawn.sum(axis=0) + gammaln(whole) - gammaln(whole + cases)
    else:
        logs = ways + (counts * np.log(shares)).sum(axis=0)
    chance = np.exp(logs)
    return np.array([chance[wins > losses].sum(), chance[wins < losses].sum()])


@lru_cache(maxsize=4096)
def units_needed(discordance: Discordance, *, alpha: float = ALPHA, power: float = POWER) -> int | None:
    """The number of units from which on the exact two-sided sign test shows the difference with probability `power`.

    Connor's n = (z_(1-alpha/2) sqrt(psi) + z_power sqrt(psi - delta^2))^2 / delta^2 (1987, Biometrics 43:207-211;
    Miettinen 1968), raised until no larger number has less power: without ties, one more unit may need one more win and
    has then less (199 units have 80.0 % for a win rate of .6, and 200 have 77.6 %). None if the difference is 0 or more
    than ten million units would be needed.
    """
    if discordance.delta == 0:
        return None
    normal = NormalDist()
    spread = math.sqrt(max(0.0, discordance.psi - discordance.delta**2))
    root = normal.inv_cdf(1 - alpha / 2) * math.sqrt(discordance.psi) + normal.inv_cdf(power) * spread
    independent = (root / discordance.delta) ** 2
    if independent > MOST_UNITS:
        return None
    units = max(1, math.ceil(independent - 1e-9))
    if units > _MOST_EXACT:
        return units
    # far enough that the steps of the exact test are smaller than the power gained
    end = units + units // 4 + _FEWEST_LOOKED_AT
    while True:
        short = np.flatnonzero(_powers(discordance, units, end, alpha) < power)
        if not short.size:
            return units
        if short[-1] < end - 1 - units:
            return units + int(short[-1]) + 1
        units, end = end, 2 * end


def power_of(discordance: Discordance, n: int, *, alpha: float = ALPHA) -> float:
    """Probability that the exact two-sided sign test shows the difference with `n` units.

    Of n independent units the number that favour one of the two is binomial (psi), and of these the number that
    favour the better one is binomial (1/2 + |delta| / (2 psi)); the sum over both of the cases in which the test finds
    p < alpha in the right direction. Above a few thousand units Connor's normal approximation,
    Φ((sqrt(n) |delta| - z_(1-alpha/2) sqrt(psi)) / sqrt(psi - delta^2)). 0 if there is no difference.
    """
    if discordance.delta == 0 or n <= 0:
        return 0.0
    if n <= _MOST_EXACT:
        return float(_powers(discordance, n, n + 1, alpha)[0])
    reach = math.sqrt(n) * abs(discordance.delta)
    gap = reach - NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(discordance.psi)
    spread = math.sqrt(max(0.0, discordance.psi - discordance.delta**2))
    return NormalDist().cdf(gap / spread) if spread > 0 else float(gap >= 0)


def _powers(discordance: Discordance, first: int, end: int, alpha: float) -> FloatArray:
    """The exact power with `first`, `first` + 1, ..., `end` - 1 units.

    The test looks only at the units that favour one of the two, so its power given their number is computed once, and
    the probabilities of that number are those of one unit less, plus a unit that does or does not.
    """
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy

    split = np.arange(end)
    wins = _least_wins(alpha, 1 << end.bit_length())[:end]
    better = 0.5 + abs(discordance.delta) / (2 * discordance.psi)
    shown = np.where(wins <= split, bdtrc(wins - 1.0, split, better), 0.0)
    few = split[: first + 1]
    ways = gammaln(first + 1) - gammaln(few + 1) - gammaln(first - few + 1)
    chance = np.zeros(end)
    chance[: first + 1] = np.exp(ways + xlogy(few, discordance.psi) + xlog1py(first - few, -discordance.psi))
    powers = np.empty(end - first)
    for at in range(end - first):
        powers[at] = chance @ shown
        chance[1:] = (1 - discordance.psi) * chance[1:] + discordance.psi * chance[:-1]
        chance[0] *= 1 - discordance.psi
    return powers


@lru_cache(maxsize=64)
def _least_wins(alpha: float, most: int) -> FloatArray:
    """(most,): the smallest number of wins of n units with an upper tail below alpha / 2; n + 1 if there is none."""
    from scipy.special import bdtrc, ndtri

    units = np.arange(most)
    # close enough that a few single steps in either direction reach it
    wins: FloatArray = np.floor(units / 2 - ndtri(alpha / 2) * np.sqrt(units) / 2).clip(1, units + 1)
    while (few := (wins <= units) & (bdtrc(wins - 1, units, 0.5) >= alpha / 2)).any():
        wins[few] += 1
    while (many := (wins > 1) & (bdtrc(np.maximum(wins - 2, 0.0), units, 0.5) < alpha / 2)).any():
        wins[many] -= 1
    wins[0] = 1
    wins.flags.writeable = False
    return wins


def detectable_win_rate(
    n: int,
    ties: float = 0.0,
    consistency: float = 1.0,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
    sizes: UserSizes = ONE_CASE,
    icc: float = 0.0,
) -> float | None:
    """The smallest win rate above one half that `n` users would have shown with this power; `sizes`, `icc` as in `of_users`.

    Computed by bisection of `power_of`. None if even a win in every untied pair would not show.
    """
    most = 1 - ties / 2

    def enough(win_rate: float) -> bool:
        pairs = win_rate_discordance(win_rate, ties, consistency)
        return power_of(of_users(pairs, sizes, icc), n, alpha=alpha) >= power

    if not enough(most):
        return None
    low, high = 0.5, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_share(
    n: int,
    base: float,
    correlation: float = 0.0,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
    sizes: UserSizes = ONE_CASE,
    icc: float = 0.0,
) -> float | None:
    """The smallest share above `base` that `n` users would have shown with this power; `sizes`, `icc` as in `of_users`.

    A correlation that is impossible for a share and `base` becomes the nearest possible one. None if even a
    share of 1 would not show.
    """

    def enough(share: float) -> bool:
        possible = share_discordance(share, base, possible_correlation(share, base, correlation))
        return power_of(of_users(possible, sizes, icc), n, alpha=alpha) >= power

    if base >= 1 or not enough(1.0):
        return None
    low, high = base, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def possible_correlation(share_a: float, share_b: float, correlation: float) -> float:
    """The correlation nearest to the given one that two yes-or-no answers with these shares can have; 0 if one never
    varies."""
    spread = math.sqrt(share_a * (1 - share_a) * share_b * (1 - share_b))
    if spread <= 0:
        return 0.0
    both = share_a * share_b
    lowest = (max(0.0, share_a + share_b - 1) - both) / spread
    return min((min(share_a, share_b) - both) / spread, max(lowest, correlation))


def intraclass(values: npt.ArrayLike, users: Ids) -> Estimate:
    """Correlation of two cases of one user, by one-way analysis of variance; without an interval.

    icc = (MSB - MSW) / (MSB + (m0 - 1) MSW), m0 = (N - sum(m_u^2) / N) / (k - 1) for k users with N cases
    (Donner 1986, International Statistical Review 54:67-82). NaN rows are left out. Undefined if no user has
    two cases, if there is only one user, or if all values are equal.
    """
    array = as_floats(values)
    kept = ~np.isnan(array)
    rows = array[kept]
    codes, count = encode(rows_of(users, kept))
    if count < 2 or rows.size == count:
        reason = "one user only" if count == 1 else "no user with two cases" if rows.size else "no values"
        return undefined(reason, rows.size)
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    means = np.bincount(codes, weights=rows, minlength=count) / sizes
    within = float(((rows - means[codes]) ** 2).sum()) / (rows.size - count)
    between = float((sizes * (means - rows.mean()) ** 2).sum()) / (count - 1)
    usual = (rows.size - float((sizes**2).sum()) / rows.size) / (count - 1)
    total = between + (usual - 1) * within
    if total <= 0:
        return undefined("all values are equal", rows.size)
    return Estimate((between - within) / total, None, None, rows.size, groups=count, note="no interval")
