"""Live experiments: the result of an A/B test of two systems, and whether the judges predicted it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import seen_first
from recjudge_tui.reports.common.table import Row, Table, columns, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.means import occasions
from recjudge_tui.reports.words import about_base, first_few, p_text
from recjudge_tui.shapes import Base, base, battles, scores
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.hypotheses import sign_flip_test, user_means
from recjudge_tui.stats.intervals import SHARE, clopper_pearson, difference_of_means, mean_estimate
from recjudge_tui.stats.planning import FEWEST_EXPECTED, FEWEST_IMPRESSIONS, Arm, lift, two_proportions
from recjudge_tui.stats.ranking import NO_CASES
from recjudge_tui.store.projects import Outcome, list_outcomes, unknown_outcome
from recjudge_tui.store.ratings import Question, project_questions

_WHAT = columns("experiment|Experiment", "system_a|System A", "system_b|System B")
_SIDES = (("a", "A"), ("b", "B"))
_ONLINE = columns(
    *_WHAT, "began_at|(From)|time", "ended_at|(To)|time",
    *(f"{name}_{at}|({label} {side})|int" for name, label in
      (("users", "Users"), ("impressions", "Impressions"), ("clicks", "Clicks")) for at, side in _SIDES),
    *(f"rate_{at}{end}|{label}|float|5" for at, side in _SIDES for end, label in
      (("", f"Rate {side}"), ("_low", f"({side} low)"), ("_high", f"({side} high)"))),
    "lift|Lift|share", "ci_*|CI|share", "z|z|float", "p", "winner|Winner", "same_way|Same direction|int",
    "judges|Judges|int", "note",
)  # fmt: skip
_LOG = columns(
    *_WHAT, "lift|(Lift)|share", "p?", "winner|Winner", "rater", "kind|(Kind)", "protocol", "measure|(Measure)",
    "judged|(Judged)|float", "judged_*|(CI)|ci", "n?", "pointed|Predicted",
    "sure|(Significant)", "hit|Same direction", "hits|(Hits)|int", "decided|Decided|int", "hit_rate|Hit rate|share",
    "hit_*|Hit|share", "note",
)  # fmt: skip
_METHODS = definitions(f"""\
rates: Clopper and Pearson's interval; lift: rate A / rate B - 1 with the log interval of Katz et al. 1978
z and p: two proportions, pooled, two-sided; with fewer than {FEWEST_EXPECTED} expected clicks or non-clicks, or\
 {FEWEST_IMPRESSIONS:,} impressions, in an arm p is that of Fisher's exact test; impressions must be independent""")
_PREDICTIONS = definitions("""\
same direction: the rater predicted the winner by its win rate (ties half) or its difference of means; undecided\
 experiments do not count, undecided raters count as misses
significant: sign flips of the users' means for the two systems alone, p < .05
based on the current verdicts; the hit rate assumes independent experiments""")
_EVEN = "even"


class _Prediction(NamedTuple):
    """One rater's verdict on two systems. `p`: sign flips over users, None if no user prefers either."""

    question: Question
    of_pairs: bool
    figure: Estimate
    p: float | None = None

    def cells(self, outcome: Outcome, winner: object, hits: list[bool]) -> Row:
        """Its row of the log; `hits`: those of its rater so far, to which its own is added."""
        figure, even = self.figure, 0.5 if self.of_pairs else 0.0
        pointed, sure, hit = None, None, None
        if figure.value is not None:
            lead = round(figure.value - even, 12)
            pointed = outcome.system_a if lead > 0 else outcome.system_b if lead < 0 else _EVEN
            outside = None in (figure.ci_low, figure.ci_high) or not figure.ci_low <= even <= figure.ci_high  # type: ignore[operator]
            sure = self.p is not None and self.p < ALPHA and outside
            hit = None if winner is None else pointed == winner
        hits += [] if hit is None else [hit]
        rate = clopper_pearson(sum(hits), len(hits))
        undecided = "" if rate.value is not None else "no experiment is decided yet"
        return {
            "rater": self.question.rater, "protocol": self.question.protocol,
            "measure": "win rate" if self.of_pairs else "difference of means", "judged": figure.value,
            **figure.ends("judged"), "n": figure.n, "pointed": pointed, "sure": sure, "hit": hit,
            "hits": sum(hits), "decided": len(hits), "hit_rate": rate.value, **rate.ends("hit"),
            "note": join_notes(figure.note if figure.value is None else "", undecided),
        }  # fmt: skip


def outcomes(project: Project, choose: Options) -> Table:
    """One row per experiment: rates, lift, z and p, and how many of the raters that compared the two predicted the winner;
    with `judges` the log. Raises NotFoundError for an unknown experiment."""
    log = prediction_log(project, choose)
    if choose.judges:
        return log
    rows: list[Row] = []
    for outcome in _wanted(project, choose.name):
        judged = [r for r in log.rows if r["experiment"] == outcome.name and r["pointed"] is not None]
        hits = [row["hit"] for row in judged if row["hit"] is not None]
        counts = {"same_way": sum(map(bool, hits)) if hits else None, "judges": len(judged)}
        rows.append(_online(outcome, choose.alpha) | counts)
    notes = [*log.notes, *_METHODS] if rows else ["no experiment is recorded yet"]
    if rows and choose.cases.users is not None:
        notes.insert(0, "the rates and the lift are those of everybody in the experiment")
    answer = _answer(rows[-1], len(rows)) if rows else ""
    table = Table("Online outcomes", _ONLINE, tuple(rows), tuple(notes), answer=answer)
    return seen_first(table, "experiment system_a system_b rate_a rate_b lift ci_low ci_high p winner note")


def prediction_log(project: Project, choose: Options) -> Table:
    """One row per experiment and rater that judged both systems, in the order in which the experiments were added, with the
    hit rate so far. Hit rates have Clopper and Pearson's interval. Raises NotFoundError for an unknown experiment."""
    wanted = {outcome.name for outcome in _wanted(project, choose.name)}
    known = {question.aspect for question in project_questions(project.db, project.id)}
    # everybody's verdicts on the aspect; where nobody judged anything there are none
    some = choose.aspect in known or choose.aspect != OVERALL
    chosen = base(project, choose.selection(readers=True)) if some else None
    tallies: dict[tuple[str, str], list[bool]] = {}
    rows: list[Row] = []
    for outcome in list_outcomes(project.db, project.id):
        online = _online(outcome, choose.alpha)
        head = {name: online[name] for name in ("experiment", "system_a", "system_b", "lift", "p", "winner")}
        told: list[Row] = []
        for prediction in _predictions(chosen, outcome) if chosen else ():
            hits = tallies.setdefault(prediction.question[:2], [])
            told.append({"kind": chosen.rater(prediction.question).kind if chosen else ""}
                        | prediction.cells(outcome, online["winner"], hits))  # fmt: skip
        if outcome.name in wanted:
            empty: Row = {"rater": None, "pointed": None, "note": "no rater has compared the two systems"}
            rows += [head | row for row in told or [empty]]
    judging = {row["rater"] for row in rows if row["rater"] is not None}
    notes: list[str] = []
    if judging and chosen:
        asked = replace(chosen, questions=tuple(q for q in chosen.questions if q.rater in judging))
        notes = [*about_base(asked), *_PREDICTIONS]
    # each rater's hit rate at the end of the log
    last = {(row["rater"], row["protocol"]): row for row in rows if row.get("hit_rate") is not None}
    counts = {key: f"{row['hits']} of {row['decided']}" for key, row in last.items()}
    rates = [f"{who} ({protocol}) in {count}" for (who, protocol), count in counts.items()]
    answer = f"Of the decided experiments the winner was predicted by {first_few(rates)}" if rates else ""
    table = Table("Judges against online outcomes", _LOG, tuple(rows), tuple(notes), answer=answer)
    return seen_first(table, "experiment winner rater protocol pointed hit decided hit_rate note")


def _wanted(project: Project, name: str | None) -> list[Outcome]:
    found = [outcome for outcome in list_outcomes(project.db, project.id) if name in (None, outcome.name)]
    if name is not None and not found:
        raise unknown_outcome(project.db, project.id, name)
    return found


def _online(outcome: Outcome, alpha: float) -> Row:
    a, b = Arm(outcome.clicks_a, outcome.impressions_a), Arm(outcome.clicks_b, outcome.impressions_b)
    gain, (z, p, why) = lift(a, b), two_proportions(a, b)
    decided = p is not None and p < alpha
    winner = None if not decided else outcome.system_a if (z or 0) > 0 else outcome.system_b
    undecided = "" if decided or why else f"not decided: p >= {alpha:g}"
    row: Row = {"experiment": outcome.name, **outcome._asdict()}
    del row["name"]
    for side, arm in (("a", a), ("b", b)):
        rate = arm.estimate()
        row |= {f"rate_{side}": rate.value, **rate.ends(f"rate_{side}")}
    return row | {
        "lift": gain.value, **gain.ends(), "z": z, "p": p, "winner": winner,
        "note": join_notes(gain.note, why, undecided),
    }  # fmt: skip


# ---- what raters predicted -------------------------------------------------------------------------------------------


def _predictions(chosen: Base, outcome: Outcome) -> Iterator[_Prediction]:
    """The raters that judged both systems, judges before people."""
    known = chosen.ratings.cases.systems
    if outcome.system_a not in known or outcome.system_b not in known:
        return
    for question in chosen.questions:
        of_pairs = chosen.ratings.cases.is_pair[chosen.ratings.verdicts[question].row]
        if of_pairs.any() and (told := _of_pairs(chosen, question, outcome)):
            yield told
        if not of_pairs.all() and (told := _of_lists(chosen, question, outcome)):
            yield told


def _of_pairs(chosen: Base, question: Question, outcome: Outcome) -> _Prediction | None:
    """Win rate of a over b; None if the rater judged no such pair."""
    contests = battles(chosen.ratings, question)
    pair = outcome.system_a, outcome.system_b
    if not {*pair} <= {*contests.systems}:
        return None
    first, second = (contests.systems.index(system) for system in pair)
    here = np.isin(contests.a, (first, second)) & np.isin(contests.b, (first, second))
    if not here.any():
        return None
    seen = np.where(contests.a == first, contests.outcome, -contests.outcome)[here]
    known = ~np.isnan(seen)
    seen, users = seen[known], contests.user[here][known]
    figure = mean_estimate((seen + 1) / 2, users, SHARE) if seen.size else undefined(NO_CASES)
    return _Prediction(question, True, figure, sign_flip_test(user_means(seen, users)))


def _of_lists(chosen: Base, question: Question, outcome: Outcome) -> _Prediction | None:
    """Mean value of a's lists or texts minus that of b's; None if the rater judged neither."""
    every = scores(chosen.ratings, question)
    judged = [system for system in (outcome.system_a, outcome.system_b) if system in every.systems]
    if len(judged) < 2:
        alone = undefined("judged only one of the two systems")
        return _Prediction(question, False, alone) if judged else None
    a, b = (every.of(every.systems.index(system)) for system in judged)
    owners = np.unique(every.user)
    means = occasions([(np.searchsorted(owners, of.user), of.value) for of in (a, b)], owners)
    values, users = np.concatenate([a.value, b.value]), np.concatenate([a.user, b.user])
    known, first = ~np.isnan(values), np.arange(values.size) < a.value.size
    figure = difference_of_means(values[known], first[known], users[known])
    return _Prediction(question, False, figure, sign_flip_test(means[:, 0] - means[:, 1]))


def _answer(row: dict[str, Any], experiments: int) -> str:
    """The newest experiment: lift, interval, p, and how many raters predicted it."""
    gain, low, high, p = (row[name] for name in ("lift", "ci_low", "ci_high", "p"))
    first = "" if experiments == 1 else f"{quantity(experiments, 'experiment')}; the newest: "
    if gain is None or p is None:
        return f"{first}{row['experiment']} shows nothing ({row['note']})."
    ends = "" if low is None or high is None else f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    rates = f"{100 * gain:+.1f} %{ends} clicks a view against {row['system_b']} ({p_text(p)})"
    said = f"{first}{row['system_a']} got {rates}"
    if row["winner"] is None:
        return f"{said}: not decided."
    judges = quantity(row["judges"], "rater")
    return f"{said}; {row['same_way']} of {judges} predicted it." if row["judges"] else f"{said}."


# ---- recording -------------------------------------------------------------------------------------------------------

_MOST = 10**15


def outcome_of(
    systems: Sequence[str], impressions: str, clicks: str, name: str | None = None, began_at: str = "", ended_at: str = "",
    users: tuple[int | None, int | None] = (None, None),
) -> Outcome:  # fmt: skip
    """An experiment as a person writes it: `5000000,5e6` impressions, and clicks as numbers or as rates
    (`0.619%,0.523%`). Raises UsageError for anything that cannot be."""
    if len(systems) != 2 or systems[0] == systems[1]:
        raise UsageError("an experiment has two different systems", next_step="Write them as new,old.")
    shown = [_count(text, "impressions", None) for text in _two(impressions, "impressions")]
    clicked = [_count(text, "clicks", n) for text, n in zip(_two(clicks, "clicks"), shown, strict=True)]
    for system, views, hits, customers in zip(systems, shown, clicked, users, strict=True):
        if views == 0:
            raise UsageError(f"{system} was never shown; a rate needs impressions")
        if hits > views:
            raise UsageError(f"{system} cannot have more clicks ({hits:,}) than impressions ({views:,})")
        if customers is not None and not 0 < customers <= views:
            reason = f"{system} cannot have been shown to {customers:,} users in {views:,} impressions"
            raise UsageError(reason)
    title = f"{systems[0]} vs {systems[1]}" if name is None else name.strip()
    if not title:
        raise UsageError("the experiment's name is empty")
    return Outcome._make((title, *systems, *shown, *clicked, began_at, ended_at, *users))


def _two(text: str, what: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) != 2:
        raise UsageError(f"{what} “{text}”: two numbers are needed, one for each system")
    return parts


def _count(text: str, what: str, of: int | None) -> int:
    """A whole number, or, of so many impressions, a rate."""
    try:
        percent = text.endswith("%")
        number = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        number = float("nan")
    is_rate = of is not None and (percent or not number.is_integer()) if number == number else False
    if is_rate and 0 <= number <= 1:
        return round(number * (of or 0))
    if not (0 <= number <= _MOST and number.is_integer()) or percent:
        rate = ", or a rate such as 0.619%" if of is not None else ""
        raise UsageError(f"{what} “{text}”: a whole number from 0 to {_MOST:,} is needed{rate}")
    return int(number)
