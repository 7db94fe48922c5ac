"""SAER's two stages on one page: label shares, pairs, people, cost and time, and the conclusion."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from recjudge_tui.domain.protocols import OVERALL, SAER
from recjudge_tui.project import Project
from recjudge_tui.reports.common.page import Page
from recjudge_tui.reports.common.scales import speaks_for_people
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.leaderboard.battles import Battles, battles
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, board_ratings, leaderboard_table
from recjudge_tui.reports.leaderboard.scores import win_rate_scores
from recjudge_tui.reports.leaderboard.separable import tested_neighbours
from recjudge_tui.reports.papers.saer_conclusion import Findings, Stages, conclusion
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.stats.hypotheses import Pair
from recjudge_tui.stats.ranking import Neighbours, PairTest
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.runs import run_row, run_summary
from recjudge_tui.store.verdicts.ratings import Question, project_raters

_COST = (
    Column("stage", "Stage"),
    Column("run", "Run"),
    Column("prompt", "Prompt"),
    Column("state", "State"),
    Column("calls", "Calls", "int"),
    Column("done", "Done", "int"),
    Column("failed", "Failed", "int"),
    Column("cached", "From cache", "int"),
    Column("tokens_in", "Tokens in", "int", minor=True),
    Column("tokens_out", "Tokens out", "int", minor=True),
    Column("cost_usd", "Cost", "usd"),
    Column("seconds", "Time", "seconds"),
    Column("note", "Note"),
)
_UNPRICED = "the price of this judge is unknown"


def saer_page(
    db: Database, project_id: int, stages: Stages, *, resamples: int = RESAMPLES, seed: int = 0
) -> Page:
    """The tables and their conclusion: label shares of every list alone, the leaderboard of pairs (win rate, ties
    counting half), agreement with people if there are any, cost and time."""
    findings = _findings(db, project_id, stages, resamples, seed)
    tables = [replace(findings.shares, title="Every list alone: shares of labels")]
    if stages.second is not None:
        tables.append(replace(findings.board, title="Lists in pairs: leaderboard"))
    if findings.people.rows:
        tables.append(replace(findings.people, title="Agreement with people"))
    tables.append(findings.cost)
    settings = {
        "rater": stages.rater,
        "runs": [run for run in (stages.first, stages.second) if run is not None],
        "drop_poor_over": stages.threshold,
        "left_out": dict(stages.left_out),
        "resamples": resamples,
        "seed": seed,
    }
    rules = run_row(db, stages.first)["rater_kind"] == "rules"
    project = run_row(db, stages.first)["project"]
    return Page(
        f"SAER: {project}, judged by {stages.rater}",
        conclusion(findings, rules=rules),
        tuple(tables),
        settings,
    )


def _findings(db: Database, project_id: int, stages: Stages, resamples: int, seed: int) -> Findings:
    options = LeaderboardOptions(
        SAER[1], (stages.rater,), OVERALL, method="winrate", resamples=resamples, seed=seed
    )
    shares = leaderboard_table(db, project_id, replace(options, protocol=SAER[0], method="share"))
    board = leaderboard_table(db, project_id, options)
    ratings = board_ratings(db, project_id, options)
    question = Question(stages.rater, SAER[1], OVERALL)
    tested: Sequence[Neighbours] = ()
    numbered: tuple[str, ...] = ()
    tests: Mapping[Pair, PairTest] = {}
    if stages.second is not None and question in ratings.verdicts:
        fought: Battles = battles(ratings, question, resamples, options.selection.groups)
        tested = tested_neighbours(fought, win_rate_scores(fought))
        numbered, tests = fought.systems, fought.tests
    ranked = tuple(
        str(row["system"]) for row in board.rows if row["opponent"] is None and row["score"] is not None
    )
    return Findings(
        stages,
        shares,
        board,
        _people(db, project_id, stages, resamples, seed),
        _cost(db, stages),
        "" if stages.second is None else _baseline(db, stages.second),
        ranked,
        tested,
        numbered,
        tests,
        frozenset(n for n, r in project_raters(db, project_id).items() if r.kind == "consensus"),
    )


def _baseline(db: Database, run_id: int) -> str:
    return str(json.loads(run_row(db, run_id)["settings"])["baseline"])


def _people(db: Database, project_id: int, stages: Stages, resamples: int, seed: int) -> Table:
    """The judge against every person and consensus, on the lists and on the pairs."""
    people = [n for n, r in project_raters(db, project_id).items() if speaks_for_people(r)]
    tables = [
        table_of(Project.numbered(db, project_id), "agreement", raters=(stages.rater, *people), protocol=name)
        for name, run in zip(SAER, (stages.first, stages.second), strict=True)
        if people and run is not None
    ]
    rows = [row for table in tables for row in table.rows if row["rater_a"] == stages.rater]
    if not rows:
        return Table("Agreement", (), ())
    return replace(tables[0], rows=tuple(rows), notes=())


def _cost(db: Database, stages: Stages) -> Table:
    rows: list[Row] = []
    for stage, run_id in (("every list alone", stages.first), ("lists in pairs", stages.second)):
        if run_id is None:
            continue
        summary = run_summary(db, run_id)
        names = (column.name for column in _COST if column.name not in ("stage", "run", "note"))
        row: Row = {"stage": stage, "run": str(run_id)} | {name: summary[name] for name in names}
        has_new_calls = summary["done"] > summary["cached"]
        if row["cost_usd"] is None and not has_new_calls:
            row["cost_usd"] = 0.0
        rows.append(row | {"note": _UNPRICED if row["cost_usd"] is None else ""})
    total: Row = {"stage": "together"}
    for column in _COST:
        if column.kind in ("int", "usd", "seconds"):
            total[column.name] = _sum([row[column.name] for row in rows])
    return Table("Cost and time", _COST, (*rows, total | {"note": ""}))


def _sum(values: Sequence[object]) -> float | None:
    """The sum; None if one of the values is unknown."""
    known = [value for value in values if isinstance(value, int | float)]
    return sum(known) if len(known) == len(values) else None
