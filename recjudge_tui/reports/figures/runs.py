"""The agreement of each run with a truth: the table behind the figure of runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Row, Table, columns
from recjudge_tui.reports.rater_pairs import People, by_labels, label_sets, pair_estimates
from recjudge_tui.shapes import Meeting, Met, meet
from recjudge_tui.stats.estimate import Estimate, join_notes, undefined
from recjudge_tui.stats.registry import CORRELATIONS
from recjudge_tui.store.answers import RunCases, cases_by_run
from recjudge_tui.store.ratings import run_verdicts

_COLUMNS = columns(
    "run|Run", "started|Started|time", "rater", "truth|Against", "protocol aspect", "stat|Statistic", "value",
    *interval_columns(), "ceiling|(People)|float", "n", "verdicts|(Verdicts)|int", "note",
)  # fmt: skip


def runs_table(
    project: Project, selection: Selection, raters: tuple[str, ...], truth: str, stat: str
) -> Table:
    """One row per run of the question, oldest first: the statistic of its own verdicts with `truth`, even if a later run of
    its rater judged the same cases; undefined if they share no case. `raters`: only runs of these; empty: all."""
    protocol, aspect = selection.protocol or "", selection.aspect or ""
    every = cases_by_run(project.db, project.id, protocol, aspect)
    judged = [run for run in every if not raters or run.rater in raters]
    met = meet(project, selection, truth)
    meetings = {m.a.rater: m for m in met.meetings if m.a.protocol == protocol}
    labels, people, known = label_sets(met), People(met), met.ratings.raters
    rows: list[Row] = []
    for run in judged:
        meeting, top = meetings.get(run.rater), None
        estimate = undefined(f"{run.rater} and {truth} share no question")
        if meeting is not None:
            own = run_verdicts(project.db, run.id, aspect, met.ratings.cases)
            verdicts = {**met.ratings.verdicts, meeting.a: own}
            of_run = replace(met, ratings=replace(met.ratings, verdicts=verdicts))
            estimate = _estimate(of_run, meeting, labels[meeting], run, stat)
            if stat in CORRELATIONS or by_labels(meeting, met):
                both = met.pairs(meeting).complete
                human = people.ceiling(meeting, both, labels[meeting], (stat,), "dataset")
                top = human.people[stat].value if stat in human.people else None
        rows.append({
            "run": str(run.id), "started": run.started, "rater": run.rater, "truth": truth, "protocol": protocol,
            "aspect": aspect, "stat": stat, "value": estimate.value, "ci_low": estimate.ci_low,
            "ci_high": estimate.ci_high, "ceiling": top, "n": estimate.n, "verdicts": len(run.cases),
            "note": estimate.note,
        })  # fmt: skip
    notes = rater_notes(known[name] for name in (truth, *(run.rater for run in judged)) if name in known)
    if not rows:
        notes = [f"no run has judged {protocol} {aspect} yet"]
    return Table(
        "Agreement over runs", _COLUMNS, tuple(rows), tuple(notes), {"protocol": protocol, "truth": truth}
    )


def _estimate(met: Met, meeting: Meeting, labels: list[float] | None, run: RunCases, stat: str) -> Estimate:
    if stat not in CORRELATIONS and not by_labels(meeting, met):
        return undefined("a scale without labels")
    both = met.pairs(meeting, np.isin(met.ratings.cases.ids, run.cases)).complete
    if both.n == 0:
        return undefined("no case that both judged" if run.cases else "no verdict is from this run")
    estimate = pair_estimates(both, labels, (stat,))[stat]
    return replace(estimate, note=join_notes(estimate.note, both.seen.words()))
