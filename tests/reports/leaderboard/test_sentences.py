"""What the leaderboards say of neighbours follows from the counts, on any outcome: read back and computed again."""

from __future__ import annotations

import random
import re
from itertools import combinations, pairwise

import pytest
from scipy.stats import binomtest

from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.leaderboard.q_matrix import q_matrix_table
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


@pytest.mark.parametrize("method", METHODS)
def test_each_sentence_about_neighbours_follows_from_the_counts(project: Project, method: str) -> None:
    kinds = dict.fromkeys(("alike", "contrary", "shared", "all", "none"), 0)
    for draw in range(DRAWS):
        counts = _counts(project, f"r{draw}")
        p_holm = _holm(counts)
        table = _board(project, f"r{draw}", method)
        ranks = {str(row["system"]): row["rank"] for row in table.rows if row.get("opponent") is None}
        text = " ".join(note for note in table.notes if note.startswith(f"r{draw}, overall: "))
        spoken: set[frozenset[str]] = set()
        for one, other, n, p, turned, preferred in _ALIKE.findall(text):
            kinds["alike"] += 1
            spoken.add(frozenset((one, other)))
            known = p_holm[one, other]
            assert known is not None
            assert known >= 0.05
            assert f"{known:.2g}" == p
            of_draw = """SELECT count(DISTINCT c.user_id) FROM verdicts v JOIN raters r ON r.id = v.rater_id
                         JOIN cases c ON c.id = v.case_id WHERE r.name = ?"""
            assert int(n.replace(",", "")) == project.db.value(of_draw, (f"r{draw}",))
            ahead, behind = counts[one, other]
            assert (preferred == other and ahead < behind) if turned else ahead >= behind
        for name, sentence in (("contrary", _CONTRARY), ("shared", _SHARED)):
            for one, other, preferred, p in sentence.findall(text):
                kinds[name] += 1
                spoken.add(frozenset((one, other)))
                known = p_holm[one, other]
                assert known is not None
                assert known < 0.05
                assert f"{known:.2g}" == p
                ahead, behind = counts[one, other]
                assert preferred == (one if ahead > behind else other)
                assert (ranks[one] == ranks[other]) == (name == "shared")
                assert name == "shared" or preferred == other
        placed = [system for system, rank in ranks.items() if rank is not None]
        for one, other in pairwise(sorted(placed, key=lambda system: ranks[system] or 0)):
            # neighbours of which nothing is said are separable, the upper one preferred
            if (
                ranks[one] != ranks[other]
                and list(ranks.values()).count(ranks[one]) == 1
                and list(ranks.values()).count(ranks[other]) == 1
            ):
                known, (ahead, behind) = p_holm[one, other], counts[one, other]
                separable = known is not None and known < 0.05 and ahead > behind
                assert separable != (
                    frozenset((one, other)) in spoken or f"{one} and {other}: no user" in text
                )
        if "all neighbours are separable" in text:
            kinds["all"] += 1
            assert not spoken
            assert len({*map(str, ranks.values())}) == len(ranks)
        kinds["none"] += not text
    assert kinds["alike"]
    assert kinds["all"]
    assert kinds["contrary" if method == "bt" else "shared"] or kinds["contrary"]


def test_boards_and_matrix_have_one_p_value_for_a_pair(project: Project) -> None:
    options = LeaderboardOptions("pairwise")
    matrix = q_matrix_table(project.db, project.id, options)
    for draw in range(DRAWS):
        p_holm = _holm(_counts(project, f"r{draw}"))
        for row in matrix.rows:
            if row["rater"] == f"r{draw}":
                assert row["p_holm"] == pytest.approx(p_holm[str(row["system"]), str(row["opponent"])])
