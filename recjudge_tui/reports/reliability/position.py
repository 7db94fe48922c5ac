"""How much verdicts on pairs depend on the order shown, and the answers of the calls before adjudication."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, SAER, compares_lists, with_unit
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import origin_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.shapes import rank_of
from recjudge_tui.stats.agreement import position_consistency_estimate
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import LEVEL, RESAMPLES
from recjudge_tui.stats.estimate import Estimate
from recjudge_tui.stats.hypotheses import holm_claims
from recjudge_tui.stats.intervals import mean_estimate, share_estimate
from recjudge_tui.stats.ranking import tally
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.answers import Answers, load_answers
from recjudge_tui.store.verdicts.generations import in_generation, judged_content, newest_judged
from recjudge_tui.store.verdicts.ratings import (
    CaseColumns,
    Question,
    load_cases,
    load_ratings,
    project_questions,
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
    *interval_columns("share"),
    Column("note", "Note"),
)
_POSITION = (
    *_WHO,
    Column("gap", "Gap", "float", decimals=2),
    Column("pairs", "Pairs", "int"),
    Column("consistency", "Consistency", "share"),
    *interval_columns("share"),
    Column("true_ties", "True ties", "int"),
    Column("position_ties", "Position ties", "int"),
    Column("favoured", "Favoured"),
    Column("favour", "Net share", "share"),
    Column("favour_low", "Net low", "share", minor=True),
    Column("favour_high", "Net high", "share", minor=True),
    Column("consistent", "Consistent", "int", minor=True),
    Column("set_1", "Set 1 chosen", "int", minor=True),
    Column("set_2", "Set 2 chosen", "int", minor=True),
    Column("set_1_share", "Set 1 share", "share", minor=True),
    Column("note", "Note"),
)
_NO_PAIRS = "no answers by order yet: no run has judged pairs, and no imported judgement tells its order"


_POSITION_NOTES = (
    "a position tie: the two orders disagreed; a true tie: a tie in both",
    "Set 1 share: of the choices in pairs whose orders disagreed; one half if position favours no set",
    "net share: share of calls that chose Set 1 minus share that chose Set 2",
)
_FAVOURED = "favoured: the interval of the net share excludes 0"
_GAP_NOTE = "gap: how far apart the pointwise ratings of the two lists are (Good 2, Partial 1, Poor 0)"
_NO_GAP_NOTE = "no rows by gap: there are no pointwise ratings of both lists of a pair; see --quality"


@dataclass(frozen=True)
class PositionOptions:
    """`rater` and `aspect` None: all of them.

    `by_gap`: also a row for each gap between the pointwise ratings of the two lists, given by the rater `quality`
    (None: the judge of the pairs itself).
    """

    rater: str | None = None
    aspect: str | None = None
    by_gap: bool = False
    quality: str | None = None


@dataclass(frozen=True)
class PairAnswers:
    """One rater's answers on one pair of systems and one aspect. `raw` (with `raw_swapped`) has an entry per call.

    `first`, `second` and `user` have one entry for each pair asked in both orders: the answers in the orders a-b and
    b-a, mapped to the systems, NaN if failed, and the index of its case (`row`) among all cases. They
    are about the newest lists that the rater judged; `left_out` counts the calls about earlier lists of the two systems.
    """

    rater: str
    system: str
    opponent: str
    aspect: str
    raw: FloatArray
    first: FloatArray
    second: FloatArray
    user: IntArray
    row: IntArray
    left_out: int = 0


def pair_answers(db: Database, project_id: int, protocol: str) -> list[PairAnswers]:
    """By aspect (overall first), rater and pair of systems; raises UsageError unless pairs are judged."""
    if not compares_lists(protocol):
        raise UsageError(f"{protocol} does not show two lists", f"These do: {', '.join(with_unit('pair'))}.")
    cases = load_cases(db, project_id)
    raters = project_raters(db, project_id)
    answers = load_answers(db, project_id, protocol, cases)
    order = sorted(answers, key=lambda q: (q.aspect != OVERALL, q.aspect, rank_of(raters[q.rater])))
    return [part for q in order for part in _by_systems(q.rater, q.aspect, answers[q], cases)]


def _by_systems(rater: str, aspect: str, answers: Answers, cases: CaseColumns) -> Iterator[PairAnswers]:
    code = cases.system_a[answers.row] * len(cases.systems) + cases.system_b[answers.row]
    current = np.ones(answers.row.size, dtype=np.bool_)
    if cases.lifetimes is not None:
        current = in_generation(cases.lifetimes, answers.row, newest_judged(cases.lifetimes, answers.row))
    for pair in np.unique(code[current]):
        here = current & (code == pair)
        first, second, rows = _both_orders(answers, here)
        yield PairAnswers(
            rater,
            cases.systems[pair // len(cases.systems)],
            cases.systems[pair % len(cases.systems)],
            aspect,
            np.sign(answers.value[here]),
            first,
            second,
            cases.user[rows],
            rows,
            int((~current & (code == pair)).sum()),
        )


def _earlier_notes(parts: Iterable[PairAnswers]) -> list[str]:
    counts: Counter[tuple[str, str]] = Counter()
    for part in parts:
        counts[part.rater, part.aspect] += part.left_out
    return [
        f"{rater}, {aspect}: {n:,} calls about earlier lists left out"
        for (rater, aspect), n in counts.items()
        if n
    ]


def _both_orders(answers: Answers, here: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    straight, swapped = np.flatnonzero(here & ~answers.swapped), np.flatnonzero(here & answers.swapped)
    _, left, right = np.intersect1d(answers.unit[straight], answers.unit[swapped], return_indices=True)
    straight_rows, swapped_rows = straight[left], swapped[right]
    return (
        np.sign(answers.value[straight_rows]),
        np.sign(answers.value[swapped_rows]),
        answers.row[straight_rows],
    )


def raw_counts_table(
    db: Database, project_id: int, protocol: str = SAER[1], *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """Wins, ties and losses of single calls (two per pair), and how often both orders agreed."""
    rows: list[Row] = []
    answers = pair_answers(db, project_id, protocol)
    for part in answers:
        counts = tally(part.raw)
        agreed = position_consistency_estimate(part.first, part.second, part.user)
        rows.append(
            _who(part)
            | {"wins": counts.wins, "ties": counts.ties, "losses": counts.losses, "failed": counts.failed}
            | {"n": counts.n, "pairs": agreed.n, "consistency": agreed.value}
            | {**interval_cells(agreed), "note": agreed.note}
        )
    notes = ["every call counts separately, before the two orders are adjudicated"] if rows else [_NO_PAIRS]
    notes += _earlier_notes(answers)
    notes += origin_notes(db, project_id, _questions(db, project_id, protocol, rows))
    settings = {"protocol": protocol, "resamples": resamples, "seed": seed}
    return Table(f"Raw counts: {protocol}", _RAW, tuple(rows), tuple(notes), settings)


def position_table(
    db: Database,
    project_id: int,
    protocol: str = SAER[1],
    *,
    options: PositionOptions | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """Position consistency, true ties and position ties, and the favoured set, by pair of systems.

    Net share: the share of calls that chose Set 1 minus the share that chose Set 2, over all pairs asked in both
    orders; the systems cancel out, and only position is left. Raises UsageError unless pairs are judged.
    """
    options = options or PositionOptions()
    shown: list[PairAnswers] = []
    rows: list[Row] = []
    quality: dict[str, FloatArray] = {}
    gapped = False
    answers = [
        part
        for part in pair_answers(db, project_id, protocol)
        if options.rater in (None, part.rater) and options.aspect in (None, part.aspect)
    ]
    for part in answers:
        shown.append(part)
        rows.append(_position_row(part, resamples, seed))
        if options.by_gap:
            name = options.quality or part.rater
            if name not in quality:
                quality[name] = _gaps(db, project_id, name)
            by_gap = list(_by_gap(part, quality[name]))
            gapped = gapped or bool(by_gap)
            shown += [alike for _, alike in by_gap]
            rows += [_position_row(alike, resamples, seed) | {"gap": gap} for gap, alike in by_gap]
    favoured = _favoured(shown, resamples, seed)
    rows = [row | {"favoured": name} for row, name in zip(rows, favoured, strict=True)]
    correction = f", after Holm's correction for {len(rows)} rows" if len(rows) > 1 else ""
    notes = [*_POSITION_NOTES, _FAVOURED + correction]
    if options.by_gap:
        notes.append(_GAP_NOTE if gapped else _NO_GAP_NOTE)
    notes += _earlier_notes(answers)
    notes += origin_notes(db, project_id, _questions(db, project_id, protocol, rows))
    settings: dict[str, object] = {"protocol": protocol, "resamples": resamples, "seed": seed}
    settings |= {"rater": options.rater, "aspect": options.aspect, "quality": options.quality}
    return Table(
        f"Position: {protocol}", _POSITION, tuple(rows), tuple(notes) if rows else (_NO_PAIRS,), settings
    )


def _questions(db: Database, project_id: int, protocol: str, rows: Iterable[Row]) -> list[Question]:
    judged = {str(row["rater"]) for row in rows}
    return [q for q in project_questions(db, project_id) if q.rater in judged and q.protocol == protocol]


def _gaps(db: Database, project_id: int, rater: str) -> FloatArray:
    """By case: the difference between the rater's pointwise ratings of the pair's two lists; NaN if one is missing."""
    ratings = load_ratings(db, project_id, raters={rater}, protocols={SAER[0]}, aspect=OVERALL, newest=False)
    cases = ratings.cases
    content = judged_content(db, project_id, cases.ids)
    sides = [
        # a list that was never imported is identified by its user and system
        np.where(slate > 0, slate, -1 - cases.user * len(cases.systems) - system).tolist()
        for slate, system in ((content.slate_a, cases.system_a), (content.slate_b, cases.system_b))
    ]
    rated: dict[int, float] = {}
    for verdicts in ratings.verdicts.values():
        values = verdicts.value.tolist()
        rated |= dict(zip([sides[0][row] for row in verdicts.row.tolist()], values, strict=True))
    gaps = [np.array([rated.get(code, np.nan) for code in side]) for side in sides]
    return np.where(cases.is_pair, np.abs(gaps[0] - gaps[1]), np.nan)


def _by_gap(part: PairAnswers, gaps: FloatArray) -> Iterator[tuple[float, PairAnswers]]:
    """The answers on pairs whose ratings are equally far apart, for each gap."""
    of_pair = gaps[part.row]
    for gap in np.unique(of_pair[~np.isnan(of_pair)]).tolist():
        here = of_pair == gap
        yield (
            gap,
            replace(
                part,
                first=part.first[here],
                second=part.second[here],
                user=part.user[here],
                row=part.row[here],
            ),
        )


def _position_row(part: PairAnswers, resamples: int, seed: int) -> Row:
    agreed = position_consistency_estimate(part.first, part.second, part.user)
    both = ~(np.isnan(part.first) | np.isnan(part.second))
    first, second, user = part.first[both], part.second[both], part.user[both]
    apart = first != second
    # in order a-b the first set is system a (1), in order b-a it is system b (-1)
    chosen = np.concatenate([first[apart], -second[apart]])
    owner = np.concatenate([user[apart], user[apart]])
    set_1, set_2 = int((chosen > 0).sum()), int((chosen < 0).sum())
    share = share_estimate(chosen[chosen != 0] > 0, owner[chosen != 0])
    favour = _net_share(part, resamples, seed)
    return _who(part) | {
        "pairs": agreed.n,
        "consistent": int((~apart).sum()),
        "consistency": agreed.value,
        **interval_cells(agreed),
        "true_ties": int(((first == 0) & ~apart).sum()),
        "position_ties": int(apart.sum()),
        "set_1": set_1,
        "set_2": set_2,
        "set_1_share": share.value,
        "favour": favour.value,
        "favour_low": favour.ci_low,
        "favour_high": favour.ci_high,
        "note": agreed.note if agreed.value is None else "",
    }


def _net_share(part: PairAnswers, resamples: int, seed: int, level: float = LEVEL) -> Estimate:
    net = (part.first - part.second) / 2
    return mean_estimate(net, part.user, (-1.0, 1.0), level=level)


def _favoured(shown: Sequence[PairAnswers], resamples: int, seed: int) -> list[str]:
    """For each row the set that the whole interval favours, after Holm's correction for all rows; empty if none."""

    def excluded(level: float) -> list[bool | None]:
        favours = [_net_share(part, resamples, seed, level) for part in shown]
        return [
            None if f.ci_low is None or f.ci_high is None else not f.ci_low <= 0 <= f.ci_high for f in favours
        ]

    claims = holm_claims(excluded, LEVEL)
    sets = ["Set 1" if (_net_share(part, 0, seed).value or 0.0) > 0 else "Set 2" for part in shown]
    return [name if claimed else "" for name, claimed in zip(sets, claims, strict=True)]


def _who(part: PairAnswers) -> Row:
    return {"rater": part.rater, "system": part.system, "opponent": part.opponent, "aspect": part.aspect}
