"""A judge against people, as SAER reports it (Liu et al., SIGIR 2026): its tables in reading order."""

from __future__ import annotations

from dataclasses import replace

from recjudge_tui.domain.protocols import SAER
from recjudge_tui.project import Project
from recjudge_tui.reports.calibration import strictness_table
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.store.database import Database


def human_benchmark(
    db: Database,
    project_id: int,
    judge: str,
    annotators: tuple[str, ...],
    consensus: str,
    pair_consensus: str = "",
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
    project = Project.numbered(db, project_id)
    position = table_of(project, "robustness position", gap=False)
    # rows about all systems stand for several pairs of them
    of_systems = tuple(row for row in position.rows if row["system"] is not None)
    tables += [
        strictness_table(project, (judge,), annotators),
        table_of(project, "leaderboard", protocol=SAER[0]),
        table_of(project, "robustness position", rater=judge, counts=True),
        replace(position, rows=of_systems),
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
