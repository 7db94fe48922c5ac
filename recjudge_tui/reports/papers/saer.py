"""The page of SAER's two stages: which system is better, and the tables that say so, each a declared report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from recjudge_tui.domain.protocols import OVERALL, SAER
from recjudge_tui.domain.roles import rules_note
from recjudge_tui.domain.text import money
from recjudge_tui.project import Project
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.scales import speaks_for_people
from recjudge_tui.reports.common.table import Note, Row, Table, columns, titled
from recjudge_tui.reports.declare import table_of
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.steps import Step
from recjudge_tui.store.ratings import project_raters
from recjudge_tui.store.runs import case_count, run_row, run_summary

_MOST = 8
_COST = columns(
    "stage|Stage", "run|Run", "prompt", "state|State", "calls|Calls|int", "done|Done|int", "failed",
    "cached|From cache|int", "tokens_in|(Tokens in)|int", "tokens_out|(Tokens out)|int", "cost_usd|Cost|usd",
    "seconds|Time|seconds", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Stages:
    """The runs of the two stages; `second` is None if it was not run, and `why_none` says why. `left_out`: the systems that
    the first stage kept out of the second, with their shares of the lowest label, all above `threshold`. `human_price` is
    what a person is paid for one of these cases."""

    rater: str
    first: int
    second: int | None
    left_out: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    why_none: str = ""
    human_price: float | None = None

    @property
    def runs(self) -> list[int]:
        return [run for run in (self.first, self.second) if run is not None]


def saer_page(project: Project, stages: Stages) -> Page:
    """Label shares of every list, the leaderboard of pairs, agreement with people if there are any, cost and time; before
    them what they say, the answer first."""
    rater = stages.rater
    shares = table_of(project, "leaderboard", protocol=SAER[0], method="share", rater=rater)
    board = table_of(project, "leaderboard", protocol=SAER[1], method="winrate", aspect=OVERALL, rater=rater)
    known = project_raters(project.db, project.id)
    people = tuple(name for name, other in known.items() if speaks_for_people(other))
    agreed = [
        table_of(project, "agreement", protocol=protocol, raters=(rater, *people))
        for protocol, _ in zip(SAER, stages.runs, strict=False)
        if people
    ]
    rows = tuple(row for table in agreed for row in table.rows if row["rater_a"] == rater)
    cost = _cost(project, stages)
    tables = [titled(replace(shares, answer=""), "Every list alone: shares of labels")]
    if stages.second is not None:
        tables.append(titled(replace(board, answer=""), "Lists in pairs: leaderboard"))
    if rows:
        title = "Agreement with people"
        tables.append(replace(agreed[0], title=title, rows=rows, notes=(), answer="", brief=None))
    run = run_row(project.db, stages.first)
    unknown = "No person judged any of these cases: how far this judge can be trusted here is unknown."
    lead = [
        *_pairs(project, stages, board), *_left_out(stages, shares), shares.answer, *_stages(stages, shares, board),
        *(table.answer for table in agreed), "" if rows else unknown, _bill(cost),
        f"{rules_note(rater)}." if run["rater_kind"] == "rules" else "",
    ]  # fmt: skip
    settings = {
        "rater": rater, "runs": stages.runs, "drop_poor_over": stages.threshold, "left_out": dict(stages.left_out),
    }  # fmt: skip
    title = f"SAER: {run['project']}, judged by {rater}"
    return Page(title, tuple(filter(None, lead)), (*tables, cost), settings)


def _pairs(project: Project, stages: Stages, board: Table) -> Iterator[str]:
    if stages.second is None:
        yield f"The second stage was not run: {stages.why_none}."
        return
    baseline = json.loads(run_row(project.db, stages.second)["settings"])["baseline"]
    if not any(row["score"] is not None for row in board.rows):
        yield "No pair of lists got a verdict, so there is no conclusion about which system is better."
    elif baseline:
        pairs = table_of(
            project, "leaderboard", protocol=SAER[1], aspect=OVERALL, rater=stages.rater, table="pairs"
        )
        against = [row for row in pairs.rows if row["opponent"] == baseline and row["n"]]
        yield from map(_against, sorted(against, key=lambda row: -_number(row["win_rate"]))[:_MOST])
    else:
        yield board.answer


def _against(row: Row) -> str:
    """als is judged better than pop: win rate 65 % (won 16, tied 7, lost 7; p .008)."""
    p = row["p_holm"]
    how = "cannot be told apart from"
    if isinstance(p, float) and p < ALPHA:
        how = "is judged better than" if _number(row["lead"]) > 0 else "is judged worse than"
    test = f"p = {p:.2g} after Holm" if isinstance(p, float) else f"not tested: {row['note']}"
    counts = f"won {row['wins']}, tied {row['ties']}, lost {row['losses']} of {row['n']}"
    return (
        f"{row['system']} {how} {row['opponent']}: win rate {_number(row['win_rate']):.1%}, {counts}; {test}."
    )


def _left_out(stages: Stages, shares: Table) -> Iterator[str]:
    if stages.threshold is None:
        return
    worst = (_labels(shares) or ["the lowest label"])[-1]
    over = f"more than {stages.threshold * 100:g} % of the lists {worst}"
    names = ", ".join(f"{name} ({share * 100:.1f} %)" for name, share in stages.left_out.items())
    yield (
        f"Left out of the pairs, for {over}: {names}. They were not compared, so they might have won or lost there."
        if names
        else f"No system had {over}: all were compared in pairs."
    )


def _labels(shares: Table) -> list[str]:
    return list(dict.fromkeys(str(row["label"]) for row in shares.rows if row["aspect"] == OVERALL))


def _stages(stages: Stages, shares: Table, board: Table) -> Iterator[str]:
    """Whether the two stages agree on the first system, where each shows one: by an interval above all others, by a rank
    that no test leaves open."""
    labels = _labels(shares)
    best = [row for row in shares.rows if row["label"] in labels[:1] and row["ci_low"] is not None]
    if stages.second is None or len(best) < 2:
        return
    best.sort(key=lambda row: -_number(row["ci_low"]))
    clear = all(_number(best[0]["ci_low"]) > _number(row["ci_high"]) for row in best[1:])
    alone = str(best[0]["system"]) if clear else ""
    first = [str(r["system"]) for r in board.rows if r["opponent"] is None and r.get("rank_high") == 1]
    paired = first[0] if len(first) == 1 else ""
    if alone and alone == paired:
        yield f"Both stages put {alone} first."
    elif alone and paired:
        yield f"The stages disagree: alone, {alone} is {labels[0]} most often; in pairs, {paired} is better."
    else:
        rated = f"{alone or 'no system'} is {'' if alone else 'shown to be '}{labels[0]} most often"
        judged = f"{paired} is better" if paired else "no system is shown to be first"
        yield f"Alone, {rated}; in pairs, {judged}."


def _cost(project: Project, stages: Stages) -> Table:
    rows: list[Row] = []
    for stage, run in zip(("every list alone", "lists in pairs"), stages.runs, strict=False):
        summary = run_summary(project.db, run)
        names = (column.name for column in _COST if column.name not in ("stage", "run", "note"))
        row: Row = {"stage": stage, "run": str(run)} | {name: summary[name] for name in names}
        if row["cost_usd"] is None and summary["done"] <= summary["cached"]:
            row["cost_usd"] = 0.0
        rows.append(row | {"note": "the price of this judge is unknown" if row["cost_usd"] is None else ""})
    total: Row = {"stage": "together"}
    for column in _COST:
        if column.kind in ("int", "usd", "seconds"):
            known = [value for row in rows if isinstance(value := row[column.name], int | float)]
            # unknown if one of them is
            total[column.name] = sum(known) if len(known) == len(rows) else None
    notes = [
        Note(f"{row['failed']} calls of run {row['run']} failed", "warning", Step("retry", {"run": str(row["run"])}))
        for row in rows if row["failed"]
    ]  # fmt: skip
    if stages.human_price is not None:
        cases = sum(case_count(project.db, run) for run in stages.runs)
        wages, paid = cases * stages.human_price, total["cost_usd"]
        share = f", of which the judge's price is {paid / wages:.2%}" if isinstance(paid, float) else ""
        people = f"people would cost {money(wages)} for the same {cases:,} cases"
        notes.append(Note(f"at {money(stages.human_price)} a case, {people}{share}"))
    return Table("Cost and time", _COST, (*rows, total | {"note": ""}), tuple(notes))


def _bill(cost: Table) -> str:
    total = cost.rows[-1]
    usd = total["cost_usd"]
    price = money(usd) if isinstance(usd, int | float) else "an unknown price"
    cached = f", {total['cached']:,} of them from earlier replies" if total["cached"] else ""
    return f"It took {total['calls']:,} calls{cached}, {_number(total['seconds']):,.1f} s and {price}."


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
