"""How far verdicts on pairs depend on which list stood first, and what the calls said before adjudication."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recjudge_tui.errors import UsageError
from recjudge_tui.reports.scales import PAIR_PROTOCOLS, rater_rank
from recjudge_tui.reports.table import Column, Row, Table
from recjudge_tui.stats.consistency import position_consistency_estimate
from recjudge_tui.stats.intervals import RESAMPLES, share_estimate
from recjudge_tui.stats.ranking import tally
from recjudge_tui.store.database import Database
from recjudge_tui.store.ratings import (
    Answers,
    BoolArray,
    CaseColumns,
    FloatArray,
    IntArray,
    load_answers,
    load_cases,
    project_raters,
)

_WHO = (
    Column("rater", "Rater"),
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("aspect", "Aspect"),
)
_RAW = (
    *_WHO,
    Column("wins", "Wins", "int"),
    Column("ties", "Ties", "int"),
    Column("losses", "Losses", "int"),
    Column("failed", "Failed", "int"),
    Column("n", "Calls", "int"),
    Column("pairs", "Pairs", "int"),
    Column("consistency", "Consistent", "share"),
    Column("ci_low", "CI low", "share"),
    Column("ci_high", "CI high", "share"),
    Column("note", "Note"),
)
_POSITION = (
    *_WHO,
    Column("pairs", "Pairs", "int"),
    Column("consistent", "Consistent", "int"),
    Column("consistency", "Consistency", "share"),
    Column("ci_low", "CI low", "share"),
    Column("ci_high", "CI high", "share"),
    Column("true_ties", "True ties", "int"),
    Column("position_ties", "Position ties", "int"),
    Column("set_1", "Set 1 chosen", "int"),
    Column("set_2", "Set 2 chosen", "int"),
    Column("set_1_share", "Set 1 share", "share"),
    Column("note", "Note"),
)


@dataclass(frozen=True)
class PairAnswers:
    """What one rater's calls said of one pair of systems and one aspect.

    `raw` (with `raw_swapped`) has an entry a call. `first`, `second` and `user` have one for each pair
    asked in both orders: the answers in the orders a-b and b-a, turned to the systems, NaN where failed.
    """

    rater: str
    system: str
    opponent: str
    aspect: str
    raw: FloatArray
    first: FloatArray
    second: FloatArray
    user: IntArray


def pair_answers(db: Database, project_id: int, protocol: str) -> list[PairAnswers]:
    """By aspect (overall first), rater and pair of systems; raises UsageError unless pairs are judged."""
    if protocol not in PAIR_PROTOCOLS:
        raise UsageError(f"{protocol} does not show two lists", f"These do: {', '.join(PAIR_PROTOCOLS)}.")
    cases = load_cases(db, project_id)
    raters = project_raters(db, project_id)
    found = load_answers(db, project_id, protocol, cases)
    order = sorted(found, key=lambda q: (q.aspect != "overall", q.aspect, rater_rank(raters[q.rater])))
    return [part for q in order for part in _by_systems(q.rater, q.aspect, found[q], cases)]


def _by_systems(rater: str, aspect: str, answers: Answers, cases: CaseColumns) -> Iterator[PairAnswers]:
    code = cases.system_a[answers.row] * len(cases.systems) + cases.system_b[answers.row]
    for one in np.unique(code):
        here = code == one
        first, second, user = _both_orders(answers, here, cases)
        yield PairAnswers(
            rater,
            cases.systems[one // len(cases.systems)],
            cases.systems[one % len(cases.systems)],
            aspect,
            np.sign(answers.value[here]),
            first,
            second,
            user,
        )


def _both_orders(
    answers: Answers, here: BoolArray, cases: CaseColumns
) -> tuple[FloatArray, FloatArray, IntArray]:
    straight, swapped = np.flatnonzero(here & ~answers.swapped), np.flatnonzero(here & answers.swapped)
    _, left, right = np.intersect1d(answers.unit[straight], answers.unit[swapped], return_indices=True)
    one, other = straight[left], swapped[right]
    return np.sign(answers.value[one]), np.sign(answers.value[other]), cases.user[answers.row[one]]


def raw_counts_table(
    db: Database, project_id: int, protocol: str = "pairwise", *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """Wins, ties and losses of single calls (two a pair), and how often both orders agreed."""
    rows: list[Row] = []
    for part in pair_answers(db, project_id, protocol):
        counts = tally(part.raw)
        agreed = position_consistency_estimate(
            part.first, part.second, part.user, resamples=resamples, seed=seed
        )
        rows.append(
            _who(part)
            | {"wins": counts.wins, "ties": counts.ties, "losses": counts.losses, "failed": counts.failed}
            | {"n": counts.n, "pairs": agreed.n, "consistency": agreed.value}
            | {"ci_low": agreed.ci_low, "ci_high": agreed.ci_high, "note": agreed.note}
        )
    notes = (
        ("every call counts by itself, before the two orders are adjudicated",)
        if rows
        else ("no pair of lists was judged by calls yet",)
    )
    settings = {"protocol": protocol, "resamples": resamples, "seed": seed}
    return Table(f"Raw counts: {protocol}", _RAW, tuple(rows), notes, settings)


def position_table(
    db: Database, project_id: int, protocol: str = "pairwise", *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """Position consistency, true ties and position ties, and which set was chosen where the orders disagreed."""
    rows = [_position_row(part, resamples, seed) for part in pair_answers(db, project_id, protocol)]
    notes = [
        "a position tie: the two orders disagreed; a true tie: a tie in both",
        "Set 1 share: of the choices made in pairs whose orders disagreed; one half where position does not favour a set",
    ]
    settings = {"protocol": protocol, "resamples": resamples, "seed": seed}
    return Table(
        f"Position: {protocol}",
        _POSITION,
        tuple(rows),
        tuple(notes) if rows else ("no pair of lists was judged by calls yet",),
        settings,
    )


def _position_row(part: PairAnswers, resamples: int, seed: int) -> Row:
    agreed = position_consistency_estimate(part.first, part.second, part.user, resamples=resamples, seed=seed)
    both = ~(np.isnan(part.first) | np.isnan(part.second))
    first, second, user = part.first[both], part.second[both], part.user[both]
    apart = first != second
    # in order a-b the first set is system a (1), in order b-a it is system b (-1)
    chosen = np.concatenate([first[apart], -second[apart]])
    owner = np.concatenate([user[apart], user[apart]])
    set_1, set_2 = int((chosen > 0).sum()), int((chosen < 0).sum())
    share = share_estimate(chosen[chosen != 0] > 0, owner[chosen != 0], resamples=resamples, seed=seed)
    return _who(part) | {
        "pairs": agreed.n,
        "consistent": int((~apart).sum()),
        "consistency": agreed.value,
        "ci_low": agreed.ci_low,
        "ci_high": agreed.ci_high,
        "true_ties": int(((first == 0) & ~apart).sum()),
        "position_ties": int(apart.sum()),
        "set_1": set_1,
        "set_2": set_2,
        "set_1_share": share.value,
        "note": agreed.note if agreed.value is None else "",
    }


def _who(part: PairAnswers) -> Row:
    return {"rater": part.rater, "system": part.system, "opponent": part.opponent, "aspect": part.aspect}
