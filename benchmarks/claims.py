"""How often each claim is made about equal systems or judges, and whether plans reach the power they promise.

    python benchmarks/claims.py [CLAIM...] [--draws 2000] [--users 2,3,5,8,12,20,50,100] [--quick]

Every claim is made by the functions the tool itself uses, on samples in which it is false: a cell is the share of samples
with at least one such claim, in %. The bound: 5 % and the noise of the draws.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import rows as benchmark
from benchmarks.false_claims import judges, live, systems
from benchmarks.false_claims.claim import Claim, quick_sign_test
from benchmarks.rows import bounded_row, command_parser
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.experiments.power import (
    Discordance,
    of_users,
    power_of,
    share_discordance,
    units_needed,
    user_sizes,
    win_rate_discordance,
)

DRAWS, SHORT_DRAWS, QUICK_DRAWS = 2000, 200, 5
USERS = (2, 3, 5, 8, 12, 20, 50, 100)
QUICK_USERS = [8]
CLAIMS: dict[str, tuple[Claim, ...]] = {
    "separable": systems.SEPARABLE,
    "crowd": systems.CROWDS,
    "saer": systems.SAER_SENTENCES,
    "means": systems.MEANS,
    "shapes": systems.SHAPES,
    "correlations": systems.CORRELATIONS,
    "gates": judges.GATES,
    "position": judges.POSITION,
    "compare": judges.COMPARE,
    "biases": judges.BIASES,
    "ablation": judges.ABLATION,
    "estimate": judges.ESTIMATE,
    "outcome": live.OUTCOMES,
    "early": live.EARLY,
}


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
        shown.append((quick_sign_test(int((won > lost).sum()), int((won < lost).sum())) or 1.0) < ALPHA)
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
