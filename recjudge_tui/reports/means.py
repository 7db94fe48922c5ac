"""Lists and texts judged alone: the systems by the mean of a rater's scores or by the shares of its labels; and each two
systems compared by a mean, of scores or of an offline metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import words as say
from recjudge_tui.reports.common.rows import cells_of, real, seen_first
from recjudge_tui.reports.common.table import Column, Note, Row, Table, columns, definition
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.early_stopping import decided_notes
from recjudge_tui.reports.sanity import sanity
from recjudge_tui.shapes import Base, base, scores
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.hypotheses import Pair, PairTest, mean_tests
from recjudge_tui.stats.intervals import mean_estimate
from recjudge_tui.stats.ranking import beside, ranks
from recjudge_tui.store.ratings import Question

_WHO = columns("system rater aspect")
_MEANS = columns(*_WHO, "rank|Rank|int", "score|Mean|float", "ci_*", "n users? failed note")
_MEANS_BRIEF = columns("rank|rank|int", *_WHO, "score|mean|float|2", "interval|95 % CI", "n note")
_SHARES = columns(*_WHO, "label count share", "ci_*|CI|share", "n users? failed? note")


def board(project: Project, choose: Options) -> Table:
    """The systems by `mean` or by `share` of labels."""
    chosen = base(project, choose.selection())
    table = _by_mean(chosen) if choose.method == "mean" else _by_share(chosen)
    warnings = [Note(line, "warning") for q in chosen.questions for line in sanity(chosen, q).lines]
    empty = [] if table.rows or table.notes else [say.no_verdicts(chosen)]
    scales = say.scale_notes(project, (q[1:] for q in chosen.questions))
    notes = (*warnings, *table.notes, *empty, *decided_notes(chosen), *scales, *say.about_base(chosen))
    return replace(table, notes=notes, settings={"method": choose.method})


def _ordered(chosen: Base) -> tuple[list[Question], list[str]]:
    """The questions whose answers have an order, and a note on the others."""
    ordered = [q for q in chosen.questions if q[1:] not in chosen.nominal]
    others = ", ".join(dict.fromkeys(q.aspect for q in chosen.questions if q not in ordered))
    return ordered, [f"{others}: categories without an order have no mean"] if others else []


# ---- means -----------------------------------------------------------------------------------------------------------


def _by_mean(chosen: Base) -> Table:
    ordered, others = _ordered(chosen)
    rows: list[Row] = []
    for question in ordered:
        every = scores(chosen.ratings, question)
        bounds = say.value_bounds(chosen.project, question, every.value)
        own: list[Row] = []
        for at, system in enumerate(every.systems):
            mine = every.of(at)
            estimate, known = mean_estimate(mine.value, mine.user, bounds), ~np.isnan(mine.value)
            own.append({
                "system": system, "rater": question.rater, "aspect": question.aspect, "score": estimate.value,
                **estimate.ends(), "n": estimate.n, "users": np.unique(mine.user[known]).size,
                "failed": int((~known).sum()), "note": "" if estimate.ci_low is not None else estimate.note,
            })  # fmt: skip
        places = ranks([None if row["score"] is None else round(real(row, "score"), 9) for row in own])
        placed = [row | {"rank": place} for place, row in zip(places, own, strict=True)]
        rows += sorted(placed, key=lambda row: (row["rank"] is None, row["rank"] or 0, str(row["system"])))
    tested = [] if chosen.ratings.crowds else tested_means(chosen, ordered)
    notes = [*pair_notes(tested), *others]
    about = "score: the mean over the cases of a system, interval over users; failed verdicts are not in n"
    notes += [definition(about)] if rows else []
    title = f"Mean scores: {chosen.selection.protocol}"
    table = Table(title, _MEANS, tuple(rows), tuple(notes), answer=_said(tested))
    return say.briefly(table, _MEANS_BRIEF, rows, "float")


def _said(tested: Sequence[MeasuredPairs]) -> str:
    """The ranking of the first question that has one, as a sentence."""
    return next((f"{said}." for pairs in tested if (said := pair_sentence(pairs))), "")


def tested_means(chosen: Base, questions: Sequence[Question]) -> list[MeasuredPairs]:
    """For each question the tests of its pairs of systems."""
    tested = []
    for question in questions:
        every = scores(chosen.ratings, question)
        owners = np.unique(every.user)
        parts = [every.of(at) for at in range(len(every.systems))]
        values = occasions([(np.searchsorted(owners, mine.user), mine.value) for mine in parts], owners)
        averages = [None if np.isnan(mine.value).all() else float(np.nanmean(mine.value)) for mine in parts]
        bounds = say.value_bounds(chosen.project, question, every.value)
        tests = mean_tests(values, owners, bounds, chosen.selection.groups)
        tested.append(measured_pairs(f"{question.rater}, {question.aspect}", every.systems, averages, tests))
    return tested


# ---- each two systems by a mean --------------------------------------------------------------------------------------

PAIR_COLUMNS = columns(
    "users|Users|int", "users_apart|(Users apart)|int", "difference|Difference|float", "ci_*", "p_holm p?",
    "separable|Separable", "note",
)  # fmt: skip
_PAIRS = columns("system opponent rater aspect", *PAIR_COLUMNS)
# of a table of pairs, what people read first
BRIEF_PAIRS = "system opponent rater aspect metric difference ci_low ci_high p_holm separable note"
_MOST_NAMED = 10
_TEST = (
    "above: the mean over the users who have both is higher, by sign flips of the users' means, each user counted once,"
    f" p < {ALPHA:g} after Holm's correction over the pairs of systems of one figure"
)


class MeasuredPairs(NamedTuple):
    """One figure: the ranked systems that have it, best first, equal ones together; and the tests of all pairs."""

    name: str
    systems: Sequence[str]
    by_place: list[list[int]]
    tests: dict[Pair, PairTest]

    @property
    def order(self) -> list[int]:
        return [at for alike in self.by_place for at in alike]


def occasions(rows: Sequence[tuple[IntArray, FloatArray]], owners: IntArray) -> FloatArray:
    """The mean value of each occasion for each system (occasions, systems), NaN where there is none; `rows` has for each
    system the occasions of its values and the values, `owners` the user of each occasion."""
    out = np.full((owners.size, len(rows)), np.nan)
    for column, (occasion, values) in enumerate(rows):
        known = ~np.isnan(values)
        count = np.bincount(occasion[known], minlength=owners.size)
        total = np.bincount(occasion[known], weights=values[known], minlength=owners.size)
        np.divide(total, count, out=out[:, column], where=count > 0)
    return out


def measured_pairs(
    name: str, systems: Sequence[str], means: Sequence[float | None], tests: dict[Pair, PairTest]
) -> MeasuredPairs:
    """The systems by their means (None: not ranked), and the tests of their pairs."""
    # sums in another order differ in their last digits
    ranked = sorted((-round(mean, 9), systems[at], at) for at, mean in enumerate(means) if mean is not None)
    by_place = [[at for *_, at in alike] for _, alike in groupby(ranked, key=lambda known: known[0])]
    return MeasuredPairs(name, systems, by_place, tests)


def pairs(project: Project, choose: Options) -> Table:
    """One row per rater, aspect and pair of systems, the higher mean first, with the test of their difference."""
    if choose.crowd:
        raise UsageError("table “pairs” is not available for a crowd", "Use the ranking.")
    chosen = base(project, choose.selection())
    ordered, others = _ordered(chosen)
    tested = tested_means(chosen, ordered)
    rows: list[Row] = []
    for question, found in zip(ordered, tested, strict=True):
        rows += [{"rater": question.rater, "aspect": question.aspect} | row for row in pair_rows(found)]
    notes = pair_notes(tested) if rows else ["no rater has judged two systems"]
    notes += [*others, *say.about_base(chosen)]
    title = f"Pairs of systems by mean score: {choose.protocol}"
    return seen_first(Table(title, _PAIRS, tuple(rows), tuple(notes), answer=_said(tested)), BRIEF_PAIRS)


def pair_rows(pairs: MeasuredPairs) -> Iterator[Row]:
    """A row for each pair of systems, the one with the higher figure first."""
    for upper, lower in combinations(pairs.order, 2):
        test = pairs.tests[min(upper, lower), max(upper, lower)]
        gap = test.difference
        ends = [gap.value, gap.ci_low, gap.ci_high]
        if upper != test.first:
            ends = [None if end is None else 0.0 - end for end in (gap.value, gap.ci_high, gap.ci_low)]
        yield {
            "system": pairs.systems[upper], "opponent": pairs.systems[lower], "users": gap.n, "users_apart": test.apart,
            **dict(zip(("difference", "ci_low", "ci_high"), ends, strict=True)), "p_holm": test.p_holm, "p": test.p,
            "separable": None if test.p_holm is None else test.separable, "note": test.note or gap.note,
        }  # fmt: skip


def pair_notes(measured: Sequence[MeasuredPairs]) -> list[str]:
    """A sentence about the neighbours in the ranking by each figure, and the definition of the test."""
    lines = [sentence for pairs in measured if (sentence := pair_sentence(pairs))]
    return [*lines, definition(_TEST)] if lines else []


def pair_sentence(pairs: MeasuredPairs) -> str:
    """The neighbours in a ranking by one figure; "" with fewer than two systems."""
    equal = [say.listed([pairs.systems[at] for at in alike]) for alike in pairs.by_place if len(alike) > 1]
    words = [f"{named} are equal" for named in equal]
    for first, second in beside(pairs.by_place):
        test = pairs.tests[min(first, second), max(first, second)]
        upper, lower = pairs.systems[first], pairs.systems[second]
        p = say.p_text(test.p_holm)
        if test.p_holm is None:
            words.append(f"{upper} and {lower} cannot be compared, {test.note}")
        elif not test.separable:
            words.append(f"{upper} and {lower} are not separable ({p})")
        elif ((test.difference.value or 0.0) > 0) == (first == test.first):
            words.append(f"{upper} above {lower} ({p})")
        else:
            words.append(f"{lower} above {upper} among the users who have both ({p})")
    more = len(words) - _MOST_NAMED
    named = words[:_MOST_NAMED] + ([f"{quantity(more, 'more pair')} of neighbours"] if more > 0 else [])
    return f"{pairs.name}: {'; '.join(named)}" if named else ""


# ---- shares ----------------------------------------------------------------------------------------------------------


def _by_share(chosen: Base) -> Table:
    """One row per system, rater, aspect and label, best label first; read as one row a system, a column for each label."""
    rows: list[Row] = []
    notes: list[str] = []
    labels: dict[str, None] = {}
    project, fine = chosen.project, chosen.selection.fine
    for aspect in dict.fromkeys(q.aspect for q in chosen.questions):
        alike = [q for q in chosen.questions if q.aspect == aspect]
        values = np.concatenate([chosen.ratings.verdicts[q].value for q in alike])
        protocol = chosen.selection.protocol or alike[0].protocol
        names = say.label_names(project, protocol, aspect, values, fine=fine)
        if names is None:
            notes.append(f"{aspect}: {protocol} scores have no labels to count")
            continue
        for question in alike:
            given = chosen.ratings.verdicts[question].value
            # scores (of a metric, a mean) rather than labels
            strange = np.setdiff1d(given[~np.isnan(given)], list(names)).size > MOST_LABELS
            if strange or chosen.rater(question).of_metrics:
                why = "scores lie between the labels, so there is nothing to count"
                notes.append(f"{question.rater}, {aspect}: {why}")
                continue
            labels |= dict.fromkeys(names.values())
            rows += _share_rows(chosen, question, names)
    rows.sort(key=lambda row: (str(row["aspect"]) != "overall", str(row["aspect"]), str(row["system"])))
    failed = {(r["rater"], r["system"], r["aspect"]): r["failed"] for r in rows if r["failed"]}
    notes += [f"{a}, {b}, {c}: {count} failed and are not in n" for (a, b, c), count in failed.items()]
    about = "share: of the lists that were judged, by label; interval over users (logit jackknife, Korn and Graubard"
    notes += [definition(f"{about} where rare)")] if rows else []
    # one row a system, rater and aspect: the share of each label with its interval
    brief = say.wide(
        rows, "system rater aspect n note", lambda row: row["label"],
        lambda r: "–" if r["share"] is None else f"{100 * real(r, 'share'):.1f} [{say.interval_text(r, 'share')}]",
    )  # fmt: skip
    met = [label for label in labels if any(label in row for row in brief)]
    shown = columns(*_WHO, *(Column(label, f"{label} %") for label in met), "n note")
    title = f"Shares of labels: {chosen.selection.protocol}"
    return Table(
        title, _SHARES, tuple(rows), tuple(notes), answer=_best_share(rows, list(labels)),
        brief=Table(title, shown, cells_of(shown, brief)),
    )  # fmt: skip


def _share_rows(chosen: Base, question: Question, names: dict[float, str]) -> Iterator[Row]:
    every = scores(chosen.ratings, question)
    for at, system in enumerate(every.systems):
        mine = every.of(at)
        kept = ~np.isnan(mine.value)
        beyond = {float(v): f"{v:g}" for v in np.unique(mine.value[kept]) if float(v) not in names}
        for value, name in (names | beyond).items():
            cells = say.share_cells(np.where(kept, mine.value == value, np.nan), mine.user)
            yield cells | {
                "system": system, "rater": question.rater, "aspect": question.aspect, "label": name,
                "users": np.unique(mine.user[kept]).size, "failed": int((~kept).sum()),
                "note": cells["note"] if cells["share"] is None else "",
            }  # fmt: skip


def _best_share(rows: Sequence[Row], labels: list[str]) -> str:
    """Which system has the largest share of the best label, by the first rater and aspect."""
    first = rows[0] | {"label": labels[0]} if rows and labels else {}
    alike = [row for row in rows if all(row[key] == first.get(key) for key in ("rater", "aspect", "label"))]
    best = [row for row in alike if row["share"] is not None]
    if len(best) < 2:
        return ""
    best.sort(key=lambda row: (-real(row, "share"), str(row["system"])))
    (top, of_top), (last, of_last) = ((f"{100 * real(row, 'share'):.0f} % of {row['system']}'s",
                                       f"[{say.interval_text(row, 'share')}]") for row in (best[0], best[-1]))  # fmt: skip
    return f"{first['rater']} calls {top} lists {first['label']} {of_top}, {last} {of_last}."
