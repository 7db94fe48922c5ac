"""How often each interval contains the true value; `claims.py` measures the claims based on them.

    python benchmarks/coverage.py [FIGURE...] [--draws 2000] [--users 2,3,5,10,20,50] [--markdown] [--quick]

Every figure that the tool shows with an interval is drawn many times from a known population by the functions the
tool itself uses. `covered` is the share of the shown intervals that hold the true value, `shown` the share of draws
that have an interval, `width` the median width. The bound: at least 93.5 % with 10 users or more; more than 96.5 % is
marked: exact intervals of rare or few events cannot do otherwise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.intervals import agreement, judges, means, outcomes
from benchmarks.intervals.setting import Setting, Shown
from benchmarks.rows import Row, bounded_row, command_parser
from recjudge_tui.stats.estimate import Estimate

DRAWS, SHORT_DRAWS, QUICK_DRAWS = 2000, 200, 5
USERS = (2, 3, 5, 10, 20, 50)
QUICK_USERS = [10]
LOW, HIGH = 0.935, 0.965
FEWEST_SHOWN = 50


class Coverage(NamedTuple):
    setting: str
    figure: str
    users: int
    covered: float | None
    shown: float
    width: float | None


def coverages(setting: Setting, users: int, draws: int, seed: int = 1) -> Iterator[Coverage]:
    rng = np.random.default_rng([seed, users, *setting.name.encode()])
    truths = setting.truth(np.random.default_rng([seed, *setting.name.encode()]))
    ends: dict[str, list[tuple[float, float]]] = {figure: [] for figure in truths}
    for _ in range(draws):
        for figure, shown in setting.draw(rng, users).items():
            low, high = _ends(shown)
            if low is not None and high is not None:
                ends[figure].append((low, high))
    for figure, truth in truths.items():
        lows, highs = np.array(ends[figure], dtype=np.float64).reshape(-1, 2).T
        some = lows.size >= max(1, min(FEWEST_SHOWN, draws // 10))
        held = (lows <= truth + 1e-9) & (truth <= highs + 1e-9)
        yield Coverage(
            setting.name, figure, users,
            float(held.mean()) if some else None, lows.size / draws, float(np.median(highs - lows)) if some else None,
        )  # fmt: skip


def _ends(shown: Shown) -> tuple[float | None, float | None]:
    if shown is None:
        return None, None
    return (shown.ci_low, shown.ci_high) if isinstance(shown, Estimate) else (shown.low, shown.high)


SETTINGS: dict[str, tuple[Setting, ...]] = {
    "shares": means.SHARES,
    "means": means.MEANS,
    "costs": means.COSTS,
    "changes": means.CHANGES,
    "outcomes": outcomes.OUTCOMES,
    "ratings": outcomes.STRENGTHS,
    "crowd": outcomes.CROWD,
    "agreement": agreement.AGREEMENT,
    "by label": agreement.BY_LABEL,
    "by user": agreement.BY_USER,
    "many raters": agreement.MANY_RATERS,
    "people": agreement.CEILING,
    "flags": agreement.FLAGS,
    "powered": judges.POWERED,
    "calibration": judges.CALIBRATION,
    "biases": judges.BIASES,
    "experiments": judges.EXPERIMENTS,
    "systems": judges.SYSTEMS,
}


def measure(quick: bool = False) -> list[Row]:
    """One row per group of figures: the lowest coverage with 10 users or more."""
    draws = QUICK_DRAWS if quick else SHORT_DRAWS
    rows: list[Row] = []
    sizes = QUICK_USERS if quick else [10, 50]
    for name, settings in SETTINGS.items():
        start = time.perf_counter()
        covered = [c for setting in settings for users in sizes for c in coverages(setting, users, draws)]
        worst = min((c for c in covered if c.covered is not None), key=lambda c: c.covered or 0.0)
        noise = 3 * float(np.sqrt(0.05 * 0.95 / draws))
        note = f"{worst.setting}: {worst.figure}, {worst.users} users; {time.perf_counter() - start:.0f} s"
        rows.append(bounded_row(f"coverage: {name}", worst.covered or 0.0, LOW - noise, True, note))
    return rows


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SETTINGS])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--users", default=",".join(map(str, USERS)))
    parser.add_argument("--markdown", action="store_true", help="tables for docs/statistics.md")
    options = parser.parse_args(words)
    draws = QUICK_DRAWS if options.quick else options.draws
    sizes = QUICK_USERS if options.quick else [int(size) for size in options.users.split(",")]
    for name in options.names or SETTINGS:
        lines = [_lines(setting, sizes, draws) for setting in SETTINGS[name]]
        if options.markdown:
            print(f"\n| {name} | figure | " + " | ".join(str(size) for size in sizes) + " |")
            print("|---|---|" + "---|" * len(sizes))
        for line in (line for part in lines for line in part):
            print(
                ("| " + " | ".join(line) + " |")
                if options.markdown
                else "  ".join(f"{cell:>13}" for cell in line)
            )
        sys.stdout.flush()


def _lines(setting: Setting, sizes: list[int], draws: int) -> list[list[str]]:
    by_figure: dict[str, list[str]] = {}
    for size in sizes:
        for coverage in coverages(setting, size, draws):
            by_figure.setdefault(coverage.figure, []).append(_cell(coverage))
    return [[setting.name, figure, *cells] for figure, cells in by_figure.items()]


def _cell(coverage: Coverage) -> str:
    """`94.6`, `98.9+` above the target, `90.1!` below it from 10 users on, `95.0 (61)` if 61 % of draws have one."""
    if coverage.covered is None:
        return "none"
    low = coverage.covered < LOW and coverage.users >= 10
    mark = "!" if low else "+" if coverage.covered > HIGH else ""
    partly = f" ({100 * coverage.shown:.0f})" if coverage.shown < 0.995 else ""
    return f"{100 * coverage.covered:.1f}{mark}{partly}"


if __name__ == "__main__":
    main()
