"""Live experiments: the result of an A/B test of two systems, and whether the judges predicted it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.words import earlier_notes
from recjudge_tui.shapes import rank_of
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray, encode, ratio
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.hypotheses import sign_flip_test, sign_test, users_for_each
from recjudge_tui.stats.intervals import clopper_pearson, difference_of_means
from recjudge_tui.stats.planning import FEWEST_EXPECTED, FEWEST_IMPRESSIONS, Arm, lift, two_proportions
from recjudge_tui.stats.ranking import outcome_estimates
from recjudge_tui.store.database import Database
from recjudge_tui.store.projects.experiments import Outcome, list_outcomes, unknown_outcome
from recjudge_tui.store.verdicts.ratings import Question, Ratings, load_ratings

_WHAT = (
    Column("experiment", "Experiment"),
    Column("system_a", "System A"),
    Column("system_b", "System B"),
)
_ONLINE = (
    *_WHAT,
    Column("impressions_a", "Impressions A", "int", minor=True),
    Column("impressions_b", "Impressions B", "int", minor=True),
    Column("clicks_a", "Clicks A", "int", minor=True),
    Column("clicks_b", "Clicks B", "int", minor=True),
    Column("rate_a", "Rate A", decimals=5, kind="float"),
    Column("rate_a_low", "A low", decimals=5, kind="float", minor=True),
    Column("rate_a_high", "A high", decimals=5, kind="float", minor=True),
    Column("rate_b", "Rate B", decimals=5, kind="float"),
    Column("rate_b_low", "B low", decimals=5, kind="float", minor=True),
    Column("rate_b_high", "B high", decimals=5, kind="float", minor=True),
    Column("lift", "Lift", "share"),
    *interval_columns("share"),
    Column("z", "z", "float"),
    Column("p", "p", "float", decimals=4),
    Column("winner", "Winner"),
    Column("same_way", "Same direction", "int"),
    Column("judges", "Judges", "int"),
    Column("note", "Note"),
)
_LOG = (
    *_WHAT,
    Column("lift", "Lift", "share", minor=True),
    Column("p", "p", "float", decimals=4, minor=True),
    Column("winner", "Winner"),
    Column("rater", "Rater"),
    Column("kind", "Kind", minor=True),
    Column("protocol", "Protocol"),
    Column("measure", "Measure", minor=True),
    Column("judged", "Judged", "float", minor=True),
    *interval_columns(of="judged", minor=True),
    Column("n", "n", "int", minor=True),
    Column("pointed", "Predicted"),
    Column("sure", "Significant", minor=True),
    Column("hit", "Same direction"),
    Column("hits", "Hits", "int", minor=True),
    Column("decided", "Decided", "int"),
    Column("hit_rate", "Hit rate", "share"),
    Column("hit_low", "Hit low", "share"),
    Column("hit_high", "Hit high", "share"),
    Column("note", "Note"),
)
METHODS_NOTE = (
    "rates: Clopper and Pearson's interval; lift: rate A / rate B - 1 with the log interval of Katz et al. 1978; z and p:"
    " two proportions, pooled, two-sided; p with fewer than"
    f" {FEWEST_EXPECTED} expected clicks or non-clicks, or {FEWEST_IMPRESSIONS:,} impressions, in an arm:"
    " Fisher's exact test;"
    " all assume independent impressions"
)
_SIGNIFICANT = (
    "significant: exact test over users of the two systems alone (sign test of pairs, sign flips of means), p < .05; the"
    " leaderboard corrects it for all pairs of systems"
)
_SAME_WAY = (
    "same direction: the rater predicted the winner; undecided experiments do not count, undecided raters count as"
    " misses"
)
_EVEN = "even"
_MEASURES = {True: "win rate", False: "difference of means"}


@dataclass(frozen=True)
class OutcomeOptions:
    """`name`: only this experiment, although the hit rate includes those before it; `alpha`: an experiment with p
    below it is decided."""

    name: str | None = None
    aspect: str = OVERALL
    alpha: float = ALPHA


_USUAL = OutcomeOptions()


@dataclass(frozen=True)
class ExperimentVerdict:
    """One rater's verdict on the two systems of an experiment. `way` is the sign for system a, None: no verdict. `p`:
    exact test over users, None if no user prefers either."""

    question: Question
    of_pairs: bool
    figure: Estimate
    p: float | None = None

    @property
    def even(self) -> float:
        return 0.5 if self.of_pairs else 0.0

    @property
    def way(self) -> int | None:
        return None if self.figure.value is None else int(np.sign(round(self.figure.value - self.even, 12)))

    @property
    def sure(self) -> bool | None:
        """Whether the exact test shows a difference and the interval, if there is one, agrees; None without a verdict."""
        if self.figure.value is None:
            return None
        low, high = self.figure.ci_low, self.figure.ci_high
        outside = low is None or high is None or not low <= self.even <= high
        return self.p is not None and self.p < ALPHA and outside


@dataclass
class _Tally:
    hits: int = 0
    decided: int = 0


def outcomes_table(db: Database, project_id: int, options: OutcomeOptions = _USUAL) -> Table:
    """One row per experiment: rates, lift, z and p, and how many of the raters that compared the two predicted the
    winner.

    Notes: each rater's verdict if one experiment was asked for, and the running hit rates. Raises NotFoundError for an
    unknown experiment.
    """
    log = prediction_log_table(db, project_id, options)
    rows: list[Row] = []
    for outcome in _wanted(db, project_id, options.name):
        judged = [r for r in log.rows if r["experiment"] == outcome.name and r["pointed"] is not None]
        hits = [row["hit"] for row in judged if row["hit"] is not None]
        counts = {"same_way": sum(map(bool, hits)) if hits else None, "judges": len(judged)}
        rows.append(_online(outcome, options.alpha) | counts)
    notes = [METHODS_NOTE, *log.notes] if rows else ["no experiment yet: add one with “recjudge outcome add”"]
    if options.name is not None:
        notes += [_verdict_text(row) for row in log.rows if row["rater"] is not None]
    notes += _hit_rate_notes(log)
    return Table("Online outcomes", _ONLINE, tuple(rows), tuple(notes), log.settings)


def prediction_log_table(db: Database, project_id: int, options: OutcomeOptions = _USUAL) -> Table:
    """The log: one row per experiment and rater that judged both systems, in the order in which the experiments were
    added, with the hit rate so far.

    A rater of pairs (pairwise, arena) predicts by its win rate of a over b (ties half), one of lists or texts by the
    difference of mean values; intervals over users. A hit: it predicted the system whose lift was decided at
    `alpha`; an even prediction is a miss. Undecided experiments are not counted. Hit rate with Clopper and
    Pearson's interval. Raises NotFoundError for an unknown experiment.
    """
    wanted = {outcome.name for outcome in _wanted(db, project_id, options.name)}
    ratings = load_ratings(db, project_id, aspect=options.aspect)
    tallies: dict[tuple[str, str], _Tally] = {}
    rows: list[Row] = []
    for outcome in list_outcomes(db, project_id):
        online = _online(outcome, options.alpha)
        head = {name: online[name] for name in ("experiment", "system_a", "system_b", "lift", "p", "winner")}
        predictions = [
            _log_row(ratings, outcome, online["winner"], prediction, tallies)
            for prediction in _predictions(ratings, outcome)
        ]
        if outcome.name in wanted:
            empty: Row = {"rater": None, "pointed": None, "note": "no rater has compared the two systems"}
            rows += [head | row for row in predictions or [empty]]
    judging = {row["rater"] for row in rows if row["rater"] is not None}
    notes = (
        _SAME_WAY,
        _SIGNIFICANT,
        "based on the current verdicts; the hit rate assumes independent experiments",
        *earlier_notes(ratings, (q for q in ratings.verdicts if q.rater in judging)),
        *rater_notes(rater for name, rater in ratings.raters.items() if name in judging),
    )
    settings = {"aspect": options.aspect, "alpha": options.alpha}
    settings |= {}
    return Table("Judges against online outcomes", _LOG, tuple(rows), notes if judging else (), settings)


def _wanted(db: Database, project_id: int, name: str | None) -> list[Outcome]:
    outcomes = [outcome for outcome in list_outcomes(db, project_id) if name in (None, outcome.name)]
    if name is not None and not outcomes:
        raise unknown_outcome(db, project_id, name)
    return outcomes


def _online(outcome: Outcome, alpha: float) -> Row:
    a = Arm(outcome.clicks_a, outcome.impressions_a)
    b = Arm(outcome.clicks_b, outcome.impressions_b)
    rate_a, rate_b, gain, test = a.estimate(), b.estimate(), lift(a, b), two_proportions(a, b)
    decided = test.z is not None and test.p is not None and test.p < alpha
    winner = None if not decided else outcome.system_a if (test.z or 0) > 0 else outcome.system_b
    return {
        "experiment": outcome.name,
        **{name: getattr(outcome, name) for name in Outcome._fields if name != "name"},
        "rate_a": rate_a.value,
        "rate_a_low": rate_a.ci_low,
        "rate_a_high": rate_a.ci_high,
        "rate_b": rate_b.value,
        "rate_b_low": rate_b.ci_low,
        "rate_b_high": rate_b.ci_high,
        "lift": gain.value,
        **interval_cells(gain),
        "z": test.z,
        "p": test.p,
        "winner": winner,
        "note": join_notes(
            gain.note, test.note, "" if decided or test.note else f"not decided: p >= {alpha:g}"
        ),
    }


def _predictions(ratings: Ratings, outcome: Outcome) -> Iterator[ExperimentVerdict]:
    """The raters that judged both systems, judges before people."""
    systems = ratings.cases.systems
    if outcome.system_a not in systems or outcome.system_b not in systems:
        return
    a, b = systems.index(outcome.system_a), systems.index(outcome.system_b)
    order = sorted(ratings.verdicts, key=lambda q: (rank_of(ratings.raters[q.rater]), q.protocol))
    for question in order:
        for verdict in (
            _of_pairs(ratings, question, a, b),
            _of_lists(ratings, question, a, b),
        ):
            if verdict is not None:
                yield verdict


def _of_pairs(ratings: Ratings, question: Question, a: int, b: int) -> ExperimentVerdict | None:
    """Win rate of a over b, with the leaderboard's sign test over users; None if the rater judged no such pair."""
    cases, verdicts = ratings.cases, ratings.verdicts[question]
    first, second = cases.system_a[verdicts.row], cases.system_b[verdicts.row]
    here = cases.is_pair[verdicts.row] & (((first == a) & (second == b)) | ((first == b) & (second == a)))
    if not here.any():
        return None
    values = np.sign(verdicts.value)
    seen = np.where(first == a, values, -values)[here]
    users = cases.user[verdicts.row[here]]
    sides = users_for_each(seen, np.where(np.isnan(seen), np.nan, 0.0), users)
    return ExperimentVerdict(question, True, outcome_estimates(seen, users)["win_rate"], sign_test(*sides))


def _of_lists(ratings: Ratings, question: Question, a: int, b: int) -> ExperimentVerdict | None:
    """Mean value of a's lists or texts minus that of b's, with the sign-flip test over the users of both; None if the
    rater judged neither."""
    cases, verdicts = ratings.cases, ratings.verdicts[question]
    single = ~cases.is_pair[verdicts.row]
    of_a, of_b = (single & (cases.system_a[verdicts.row] == code) for code in (a, b))
    if not of_a.any() and not of_b.any():
        return None
    if not of_a.any() or not of_b.any():
        return ExperimentVerdict(question, False, undefined("judged only one of the two systems"))
    here = of_a | of_b
    values, first, users = verdicts.value[here], of_a[here], cases.user[verdicts.row[here]]
    figure = difference_of_means(values, first, users)
    return ExperimentVerdict(question, False, figure, sign_flip_test(_user_differences(values, first, users)))


def _user_differences(values: FloatArray, first: BoolArray, users: IntArray) -> FloatArray:
    """Each user's mean of the rows marked `first` minus that of the others, NaN without either; rows (n,) to (users,)."""
    known = ~np.isnan(values)
    codes, count = encode(users[known])

    def means(side: BoolArray) -> FloatArray:
        sums = np.bincount(codes[side], weights=values[known][side], minlength=count).astype(np.float64)
        return ratio(sums, np.bincount(codes[side], minlength=count).astype(np.float64))

    return means(first[known]) - means(~first[known])


def _log_row(
    ratings: Ratings,
    outcome: Outcome,
    winner: object,
    prediction: ExperimentVerdict,
    tallies: dict[tuple[str, str], _Tally],
) -> Row:
    question, figure = prediction.question, prediction.figure
    tally = tallies.setdefault((question.rater, question.protocol), _Tally())
    way = prediction.way
    to = None if way is None else {1: outcome.system_a, -1: outcome.system_b}.get(way, _EVEN)
    hit = None if way is None or winner is None else (way > 0) == (winner == outcome.system_a) and way != 0
    if hit is not None:
        tally.decided += 1
        tally.hits += hit
    rate = clopper_pearson(tally.hits, tally.decided)
    return {
        "rater": question.rater,
        "kind": ratings.raters[question.rater].kind,
        "protocol": question.protocol,
        "measure": _MEASURES[prediction.of_pairs],
        "judged": figure.value,
        "judged_low": figure.ci_low,
        "judged_high": figure.ci_high,
        "n": figure.n,
        "pointed": to,
        "sure": prediction.sure,
        "hit": hit,
        "hits": tally.hits,
        "decided": tally.decided,
        "hit_rate": rate.value,
        "hit_low": rate.ci_low,
        "hit_high": rate.ci_high,
        "note": join_notes(figure.note, "" if rate.value is not None else "no experiment is decided yet"),
    }


def _verdict_text(row: Row) -> str:
    """One rater's verdict on one experiment as a sentence."""
    who = f"{row['rater']} ({row['protocol']}, {row['measure']})"
    if row["pointed"] is None:
        return f"{who}: no verdict, {row['note']}"
    low, high = row["judged_low"], row["judged_high"]
    ends = f" [{low:.3f}, {high:.3f}]" if isinstance(low, float) and isinstance(high, float) else ""
    way = {True: "the same way", False: "the other way", None: "the experiment is undecided"}[
        _truth(row["hit"])
    ]
    if row["pointed"] == _EVEN and row["hit"] is not None:
        way = "a miss"
    return f"{who}: {row['judged']:.3f}{ends}, points to {row['pointed']}: {way}"


def _truth(value: object) -> bool | None:
    return None if value is None else bool(value)


def _hit_rate_notes(log: Table) -> list[str]:
    """Each rater's hit rate at the end of the log."""
    last = {(row["rater"], row["protocol"]): row for row in log.rows if row.get("hit_rate") is not None}
    return [
        f"{rater} ({protocol}): predicted the winner in {row['hits']} of {row['decided']} decided experiments,"
        f" {row['hit_rate']:.1%} [{row['hit_low']:.1%}, {row['hit_high']:.1%}]"
        for (rater, protocol), row in last.items()
    ]
