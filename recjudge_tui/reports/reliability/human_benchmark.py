"""A judge against people, as SAER reports it (Liu et al., SIGIR 2026): its tables in reading order."""

from __future__ import annotations

from dataclasses import replace

from recjudge_tui.domain.protocols import SAER
from recjudge_tui.project import Project
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.reliability.position import position_table, raw_counts_table
from recjudge_tui.reports.reliability.strictness import strictness_table
from recjudge_tui.stats.defaults import RESAMPLES
from recjudge_tui.store.database import Database

_PAIR_COLUMNS = (
    Column("rater", "Rater"),
    Column("system", "System"),
    Column("opponent", "Against"),
    Column("counted", "Count of"),
    Column("wins", "Wins", "int"),
    Column("losses", "Losses", "int"),
    Column("ties", "Ties", "int"),
    Column("true_ties", "True ties", "int"),
    Column("position_ties", "Position ties", "int"),
    Column("failed", "Failed", "int"),
    Column("n", "n", "int"),
    Column("consistency", "Consistency", "share"),
    *interval_columns("share"),
)


def pair_counts_table(
    db: Database, project_id: int, judge: str, *, resamples: int = RESAMPLES, seed: int = 0
) -> Table:
    """For each pair of systems: verdicts after adjudication, then single calls, with position consistency.

    `system` is the first of the two by name; `wins` are its wins.
    """
    raw = raw_counts_table(db, project_id, resamples=resamples, seed=seed)
    position = position_table(db, project_id, resamples=resamples, seed=seed)
    board = table_of(
        Project.numbered(db, project_id), "leaderboard", protocol=SAER[1], rater=judge, method="q"
    )
    adjudicated = {(r["system"], r["opponent"]): r for r in _between(board)}
    rows: list[Row] = []
    for counts, place in zip(raw.rows, position.rows, strict=True):
        if counts["rater"] != judge:
            continue
        who = {name: counts[name] for name in ("rater", "system", "opponent")}
        # in a run in progress, calls may exist before their verdict
        verdicts = adjudicated.get((counts["system"], counts["opponent"]), {})
        shared = ("wins", "losses", "ties", "failed", "n")
        rows.append(
            who
            | {"counted": "verdicts"}
            | {name: verdicts.get(name) for name in (*shared, "position_ties")}
            | {name: place[name] for name in ("true_ties", "consistency", "ci_low", "ci_high")}
        )
        rows.append(who | {"counted": "calls"} | {name: counts[name] for name in shared})
    notes = ("verdicts: both orders adjudicated; calls: each order by itself",)
    return Table("Pairs, adjudicated and raw", _PAIR_COLUMNS, tuple(rows), notes, {"judge": judge})


def _between(board: Table) -> list[Row]:
    """Rows of one system against another; with two systems the overall rows are the same."""
    between = [row for row in board.rows if row["opponent"] is not None]
    if between or len(board.rows) < 2:
        return between
    first, second = sorted(board.rows, key=lambda row: str(row["system"]))
    return [first | {"opponent": second["system"]}]


def human_benchmark(
    db: Database,
    project_id: int,
    judge: str,
    annotators: tuple[str, ...],
    consensus: str,
    pair_consensus: str = "",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Table, ...]:
    """Agreement among people and of the judge with their consensus, each rater's strictness, shares of labels, pairs.

    `consensus` adjudicates single lists (strict), `pair_consensus` pairs (conservative); if one is empty, the judge is
    listed beside people without that reference. Figures: qwk, percent; for pairs concurrence, raw and adjudicated
    counts.
    """
    tables = [
        _people_and_judge(db, project_id, judge, annotators, reference, protocol)
        for protocol, reference in zip(SAER, (consensus, pair_consensus), strict=True)
    ]
    tables += [
        strictness_table(db, project_id, (judge,), annotators, resamples=resamples, seed=seed),
        table_of(Project.numbered(db, project_id), "leaderboard", protocol=SAER[0]),
        pair_counts_table(db, project_id, judge, resamples=resamples, seed=seed),
        position_table(db, project_id, resamples=resamples, seed=seed),
    ]
    return tuple(tables)


def _people_and_judge(
    db: Database,
    project_id: int,
    judge: str,
    annotators: tuple[str, ...],
    reference: str,
    protocol: str,
) -> Table:
    stats = ("qwk", "percent")
    project = Project.numbered(db, project_id)
    among = table_of(project, "agreement", protocol=protocol, raters=annotators, stats=stats)
    tables = [among]
    if reference:
        directed = (*stats, "concurrence") if protocol == SAER[1] else stats
        tables.append(
            table_of(
                project, "agreement", protocol=protocol, raters=(judge,), truth=reference, stats=directed
            )
        )
    return replace(
        tables[-1],
        title=f"People and judge: {protocol}",
        rows=tuple(row for table in tables for row in table.rows),
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
    )
