"""What the leaderboards say of neighbours follows from the counts, on any outcome: read back and computed again."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest
from scipy.stats import binomtest

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from tests.support.verdicts import Project, give, new_project, pair_case

METHODS = ("q", "winrate", "bt")
SYSTEMS = ("als", "bpr", "cooc", "pop")
DRAWS = 24
_P = r" \(p = ([^)]+)\)"
_ALIKE = re.compile(
    rf"(\w+) and (\w+) are not separable with ([\d,]+) users?{_P}(, and more users prefer (\w+))?"
)
_CONTRARY = re.compile(rf"(\w+) is ranked above (\w+), but more users prefer (\w+) of the two{_P}")
_SHARED = re.compile(rf"(\w+) and (\w+) share a place, but more users prefer (\w+) of the two{_P}")
Counts = dict[tuple[str, str], tuple[int, int]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A rater for each draw: few or many users, even, lopsided, unanimous or in a circle."""
    made = new_project(tmp_path_factory.mktemp("sentences") / "a.db")
    for draw in range(DRAWS):
        rng = random.Random(draw)
        systems = SYSTEMS[: rng.choice((2, 3, 4))]
        lead = {pair: rng.choice((-1, -0.6, 0, 0, 0.6, 1)) for pair in combinations(systems, 2)}
        ties = rng.choice((0, 0.3, 1 if draw == 5 else 0.6))
        values = {}
        for user in range(rng.choice((1, 2, 6, 9, 14, 30))):
            for pair, share in lead.items():
                won = 1.0 if rng.random() < (1 + share) / 2 else -1.0
                values[pair_case(made, f"u{user}", *pair)] = 0.0 if rng.random() < ties else won
        give(made, f"r{draw}", values, protocol_name="pairwise")
    return made


def _counts(project: Project, rater: str) -> Counts:
    """(first, second) -> users for the first, users for the second; both orders of a pair."""
    counts: Counts = {}
    for a, b, value in project.db.rows(
        """SELECT c.system_a, c.system_b, v.value FROM verdicts v JOIN cases c ON c.id = v.case_id
           JOIN raters r ON r.id = v.rater_id WHERE r.name = ?""",
        (rater,),
    ):
        won, lost = counts.get((a, b), (0, 0))
        counts[a, b] = (won + (value > 0), lost + (value < 0))
        counts[b, a] = counts[a, b][::-1]
    return counts


def _holm(counts: Counts) -> dict[tuple[str, str], float | None]:
    """The exact sign test of each pair, adjusted after Holm (1979), step by step."""
    raw = {
        pair: binomtest(won, won + lost).pvalue
        for pair, (won, lost) in counts.items()
        if pair[0] < pair[1] and won + lost
    }
    adjusted: dict[tuple[str, str], float | None] = dict.fromkeys(counts)
    largest = 0.0
    for at, pair in enumerate(sorted(raw, key=lambda pair: raw[pair])):
        largest = max(largest, min(1.0, (len(raw) - at) * raw[pair]))
        adjusted[pair] = adjusted[pair[1], pair[0]] = largest
    return adjusted


def _board(project: Project, rater: str, method: str) -> Table:
    options = LeaderboardOptions("pairwise", raters=(rater,), method=method)
    return leaderboard_table(project.db, project.id, options)
