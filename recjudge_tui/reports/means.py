"""Lists and texts judged alone: the systems by the mean of a rater's scores or by the shares of its labels, and each two
systems compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import categories, label_names, scale_notes, value_bounds
from recjudge_tui.reports.common.table import (
    Column,
    Note,
    Row,
    Table,
    cells_of,
    columns,
    definition,
    real,
    seen_first,
)
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.early_stopping import decided_notes
from recjudge_tui.reports.mean_pairs import (
    BRIEF_PAIRS,
    PAIR_COLUMNS,
    MeasuredPairs,
    SystemMeans,
    compared,
    occasions,
    pair_notes,
    pair_rows,
    pair_sentence,
)
from recjudge_tui.reports.sanity import sanity
from recjudge_tui.reports.words import about_base, interval_text, no_verdicts, rater_notes, wide
from recjudge_tui.shapes import Base, base, scores
from recjudge_tui.stats.intervals import mean_estimate, share_estimate
from recjudge_tui.stats.ranking import ranks
from recjudge_tui.store.ratings import Question

_WHO = columns("system rater aspect")
_MEANS = (
    *_WHO, Column("rank", "Rank", "int"), Column("score", "Mean", "float"), *interval_columns(),
    *columns("n users? failed note"),
)  # fmt: skip
_SHARES = (
    *_WHO,
    *columns("label count share"),
    *interval_columns("share"),
    *columns("n users? failed? note"),
)
_PAIRS = (*columns("system opponent rater aspect"), *PAIR_COLUMNS)
_MEANS_BRIEF = columns(
    "rank|rank|int", *_WHO, "score|mean|float|2", "interval|95 % CI", *columns("n note"),
)  # fmt: skip


def board(project: Project, choose: Options, method: str) -> Table:
    """The systems by `mean` or by `share` of labels."""
    chosen = base(project, choose.selection())
    table = _by_mean(chosen) if method == "mean" else _by_share(chosen)
    warnings = [
        Note(line, "warning") for question in chosen.questions for line in sanity(chosen, question).lines
    ]
    empty = [] if table.rows or table.notes else [Note(no_verdicts(chosen))]
    scales = [
        Note(text)
        for text in scale_notes(project.db, project.id, ((q.protocol, q.aspect) for q in chosen.questions))
    ]
    notes = (
        *warnings,
        *table.notes,
        *empty,
        *about_base(chosen),
        *decided_notes(chosen),
        *scales,
        *rater_notes(chosen),
    )
    return replace(table, notes=notes, settings={"method": method})


def _ordered(chosen: Base) -> tuple[list[Question], list[Note]]:
    """The questions whose answers have an order, and a note on the others."""
    unordered = categories(chosen.project.db, chosen.project.id)
    ordered = [q for q in chosen.questions if (q.protocol, q.aspect) not in unordered]
    others = ", ".join(dict.fromkeys(q.aspect for q in chosen.questions if q not in ordered))
    return ordered, [Note(f"{others}: categories without an order have no mean")] if others else []


# ---- means -----------------------------------------------------------------------------------------------------------


def _by_mean(chosen: Base) -> Table:
    ordered, others = _ordered(chosen)
    rows = [row for question in ordered for row in _mean_rows(chosen, question)]
    tested = [] if chosen.ratings.crowds else tested_means(chosen, ordered)
    notes = [*pair_notes(tested), *others]
    about = "score: the mean over the cases of a system, interval over users; failed verdicts are not in n"
    notes += [definition(about)] if rows else []
    table = Table(
        f"Mean scores: {chosen.selection.protocol}", _MEANS, tuple(rows), tuple(notes), answer=_said(tested)
    )
    brief = [row | {"interval": interval_text(row, "float")} for row in rows]
    return replace(table, brief=Table(table.title, _MEANS_BRIEF, cells_of(_MEANS_BRIEF, brief)))


def _said(tested: Sequence[MeasuredPairs]) -> str:
    """The ranking of the first question that has one, as a sentence."""
    return next((f"{said}." for pairs in tested if (said := pair_sentence(pairs))), "")


def _mean_rows(chosen: Base, question: Question) -> list[Row]:
    every = scores(chosen.ratings, question)
    bounds = value_bounds(chosen.project.db, chosen.project.id, question, every.value)
    rows: list[Row] = []
    values: list[float | None] = []
    for at, system in enumerate(every.systems):
        mine = every.of(at)
        estimate = mean_estimate(mine.value, mine.user, bounds)
        known = ~np.isnan(mine.value)
        values.append(estimate.value)
        rows.append({
            "system": system, "rater": question.rater, "aspect": question.aspect, "score": estimate.value,
            **interval_cells(estimate), "n": estimate.n, "users": np.unique(mine.user[known]).size,
            "failed": int((~known).sum()), "note": "" if estimate.ci_low is not None else estimate.note,
        })  # fmt: skip
    rows = [row | {"rank": place} for row, place in zip(rows, ranks(values), strict=True)]
    return sorted(rows, key=lambda row: (row["rank"] is None, row["rank"] or 0, str(row["system"])))


def tested_means(chosen: Base, questions: Sequence[Question]) -> list[MeasuredPairs]:
    """For each question the tests of its pairs of systems."""
    return compared([_measured(chosen, question) for question in questions], chosen.selection.groups)


def _measured(chosen: Base, question: Question) -> SystemMeans:
    every = scores(chosen.ratings, question)
    owners = np.unique(every.user)
    rows = []
    for at in range(len(every.systems)):
        mine = every.of(at)
        rows.append((np.searchsorted(owners, mine.user), mine.value))
    averages = [None if np.isnan(values).all() else float(np.nanmean(values)) for _, values in rows]
    bounds = value_bounds(chosen.project.db, chosen.project.id, question, every.value)
    title = f"{question.rater}, {question.aspect}"
    return SystemMeans(title, list(every.systems), occasions(rows, owners), owners, averages, bounds)


def pairs(project: Project, choose: Options) -> Table:
    """One row per rater, aspect and pair of systems, the higher mean first, with the test of their difference."""
    if choose.crowd:
        raise UsageError("table “pairs” is not available for a crowd", "Use the ranking.")
    chosen = base(project, choose.selection())
    ordered, others = _ordered(chosen)
    rows: list[Row] = []
    tested = tested_means(chosen, ordered)
    for question, pairs_ in zip(ordered, tested, strict=True):
        rows += [{"rater": question.rater, "aspect": question.aspect} | row for row in pair_rows(pairs_)]
    notes = pair_notes(tested) if rows else [Note("no rater has judged two systems")]
    table = Table(
        f"Pairs of systems by mean score: {choose.protocol}", _PAIRS, tuple(rows),
        (*notes, *others, *about_base(chosen), *rater_notes(chosen)), answer=_said(tested),
    )  # fmt: skip
    return seen_first(table, BRIEF_PAIRS)


# ---- shares ----------------------------------------------------------------------------------------------------------


def _by_share(chosen: Base) -> Table:
    """One row per system, rater, aspect and label, best label first; read as one row a system, a column for each label."""
    rows: list[Row] = []
    notes: list[Note] = []
    labels: dict[str, None] = {}
    for aspect in dict.fromkeys(q.aspect for q in chosen.questions):
        alike = [q for q in chosen.questions if q.aspect == aspect]
        values = np.concatenate([chosen.ratings.verdicts[q].value for q in alike])
        protocol = chosen.selection.protocol or alike[0].protocol
        names = label_names(
            chosen.project.db, chosen.project.id, protocol, aspect, values, fine=chosen.selection.fine
        )
        if names is None:
            notes.append(Note(f"{aspect}: {protocol} scores have no labels to count"))
            continue
        for question in alike:
            if _unlabelled(chosen, question, names):
                why = "scores lie between the labels, so there is nothing to count"
                notes.append(Note(f"{question.rater}, {aspect}: {why}"))
                continue
            labels |= dict.fromkeys(names.values())
            rows += _share_rows(chosen, question, names)
    rows.sort(key=lambda row: (str(row["aspect"]) != "overall", str(row["aspect"]), str(row["system"])))
    failed = {(r["rater"], r["system"], r["aspect"]): r["failed"] for r in rows if r["failed"]}
    notes += [Note(f"{a}, {b}, {c}: {count} failed and are not in n") for (a, b, c), count in failed.items()]
    about = "share: of the lists that were judged, by label; interval over users (logit jackknife, Korn and Graubard"
    about += " where rare)"
    notes += [definition(about)] if rows else []
    table = Table(f"Shares of labels: {chosen.selection.protocol}", _SHARES, tuple(rows), tuple(notes))
    # one row a system, rater and aspect: the share of each label with its interval
    brief = wide(rows, "system rater aspect n note", lambda row: row["label"], _share_text)
    met = [label for label in labels if any(label in row for row in brief)]
    shown = (*_WHO, *(Column(label, f"{label} %") for label in met), *columns("n note"))
    answer = _best_share(rows, list(labels))
    return replace(table, brief=Table(table.title, shown, cells_of(shown, brief)), answer=answer)


def _unlabelled(chosen: Base, question: Question, names: dict[float, str]) -> bool:
    """Whether a rater's values are scores (of a metric, a mean) rather than labels."""
    if chosen.rater(question).of_metrics:
        return True
    values = chosen.ratings.verdicts[question].value
    return bool(np.setdiff1d(values[~np.isnan(values)], list(names)).size > MOST_LABELS)


def _share_rows(chosen: Base, question: Question, names: dict[float, str]) -> Iterator[Row]:
    every = scores(chosen.ratings, question)
    for at, system in enumerate(every.systems):
        mine = every.of(at)
        kept = ~np.isnan(mine.value)
        beyond = {float(v): f"{v:g}" for v in np.unique(mine.value[kept]) if float(v) not in names}
        for value, name in (names | beyond).items():
            estimate = share_estimate(np.where(kept, mine.value == value, np.nan), mine.user)
            yield {
                "system": system, "rater": question.rater, "aspect": question.aspect, "label": name,
                "count": int((mine.value == value).sum()), "share": estimate.value, **interval_cells(estimate),
                "n": estimate.n, "users": np.unique(mine.user[kept]).size, "failed": int((~kept).sum()),
                "note": estimate.note if estimate.value is None else "",
            }  # fmt: skip


def _share_text(row: Row) -> str:
    share = row["share"]
    return f"{100 * share:.1f} [{interval_text(row, 'share')}]" if isinstance(share, float) else "–"


def _best_share(rows: Sequence[Row], labels: list[str]) -> str:
    """Which system has the largest share of the best label, by the first rater and aspect."""
    if not rows or not labels:
        return ""
    first = {"rater": rows[0]["rater"], "aspect": rows[0]["aspect"], "label": labels[0]}
    best = [row for row in rows if first.items() <= row.items() and row["share"] is not None]
    if len(best) < 2:
        return ""
    best.sort(key=lambda row: (-real(row, "share"), str(row["system"])))
    (top, most), (last, least) = (
        (row["system"], (f"{100 * real(row, 'share'):.0f} %", f"[{interval_text(row, 'share')}]"))
        for row in (best[0], best[-1])
    )
    return f"{first['rater']} calls {most[0]} of {top}'s lists {labels[0]} {most[1]}, {least[0]} of {last}'s {least[1]}."
