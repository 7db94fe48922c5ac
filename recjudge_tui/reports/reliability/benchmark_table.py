"""The human benchmark as one table, one row per figure; the raters are found by their roles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recjudge_tui.domain.protocols import SAER
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.estimate_cells import interval_columns
from recjudge_tui.reports.common.scales import is_judging
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.reliability.human_benchmark import human_benchmark
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.verdicts.ratings import Question, Rater, project_questions, project_raters

_COLUMNS = (
    Column("part", "Part"),
    Column("protocol", "Protocol"),
    Column("rater", "Rater"),
    Column("of", "Reference"),
    Column("figure", "Figure"),
    Column("label", "Label", minor=True),
    Column("count", "Count", "int", minor=True),
    Column("value", "Value", "float"),
    *interval_columns(),
    Column("n", "n", "int"),
    Column("note", "Note"),
)
_COUNTS = ("wins", "losses", "ties", "true_ties", "position_ties")


def benchmark_table(
    db: Database, project_id: int, raters: Sequence[str] = (), truth: Sequence[str] = ()
) -> Table:
    """One judge against people as SAER reports it, one row per figure: kappa and percent agreement among people and of
    the judge with their consensus, concurrence on pairs, every rater's strictness, shares of labels by system, counts
    of pairs adjudicated and raw, position.

    `raters`: the judge and the annotators; all annotators if none is named, the only judge likewise. `truth`: the
    consensus for lists and the one for pairs, found automatically if there is one of each. Raises UsageError if it is
    unclear which judge or consensus is meant, or if lists and pairs have no verdicts; NotFoundError for an unknown
    rater.
    """
    for name in (*raters, *truth):
        rater_row(db, project_id, name)
    known, questions = project_raters(db, project_id), project_questions(db, project_id)
    saer_questions = [question for question in questions if question.protocol in SAER]
    judge = _judge(saer_questions, known, raters)
    annotators = _of_kind(saer_questions, known, raters, "annotator")
    if not annotators:
        raise UsageError(
            "no annotator judged lists or pairs here",
            next_step="Import labels with “recjudge import FILE --as labels”.",
        )
    consensus = {protocol: _consensus(saer_questions, known, truth, protocol) for protocol in SAER}
    tables = human_benchmark(db, project_id, judge, annotators, *consensus.values())
    rows = list(_rows(tables, {judge, *annotators, *consensus.values()}))
    missing = [
        p for p, name in consensus.items() if not name and any(q.protocol == p for q in saer_questions)
    ]
    notes = [f"no consensus of {p} labels: “recjudge rater combine” creates one" for p in missing]
    notes += dict.fromkeys(note for table in tables for note in table.notes)
    settings: dict[str, object] = {"judge": judge, "annotators": list(annotators), **consensus}
    settings |= {}
    return Table("Human benchmark", _COLUMNS, tuple(rows), tuple(notes), settings)


def _judge(questions: Sequence[Question], known: dict[str, Rater], raters: Sequence[str]) -> str:
    met = {question.rater for question in questions}
    named = [name for name in raters if is_judging(known[name]) or known[name].kind == "ensemble"]
    names = named or sorted(name for name in met if is_judging(known[name]))
    if len(names) != 1:
        raise UsageError(
            "the human benchmark needs exactly one judge",
            f"Available: {', '.join(names)}." if names else "No judge judged lists or pairs here.",
            "Name the judge (and the annotators) with --raters.",
        )
    return names[0]


def _of_kind(
    questions: Sequence[Question], known: dict[str, Rater], raters: Sequence[str], kind: str
) -> tuple[str, ...]:
    met = {question.rater for question in questions if known[question.rater].kind == kind}
    return tuple(name for name in raters if known[name].kind == kind) or tuple(sorted(met))


def _consensus(
    questions: Sequence[Question], known: dict[str, Rater], truth: Sequence[str], protocol: str
) -> str:
    met = sorted(
        {
            question.rater
            for question in questions
            if question.protocol == protocol
            and (question.rater in truth if truth else known[question.rater].kind == "consensus")
        }
    )
    if len(met) > 1:
        raise UsageError(
            f"several raters could be the consensus on {protocol} labels",
            f"Available: {', '.join(met)}.",
            "Name the consensus for lists and the one for pairs with --truth A,B.",
        )
    return met[0] if met else ""


def _rows(tables: Sequence[Table], who: set[str]) -> Iterator[Row]:
    lists, pairs, strictness, shares, counts, position = tables
    for row in (*lists.rows, *pairs.rows):
        yield _row("agreement", row, rater=row["rater_a"], of=row["rater_b"], figure=row["stat"])
    for row in strictness.rows:
        yield _row("strictness", row, of=row["against"], figure=f"{row['figure']} {row['label']}".strip())
    for row in shares.rows:
        if row["rater"] in who:
            named = {"protocol": SAER[0], "of": row["system"], "figure": f"share {row['label']}"}
            yield _row("shares", row, **named, value=row["share"])
    for row in counts.rows:
        yield from _counts(row)
    for row in position.rows:
        if row["rater"] in who:
            figures = {"figure": "consistency", "value": row["consistency"], "n": row["pairs"]}
            ends = {"ci_low": row["ci_low"], "ci_high": row["ci_high"], "note": row["note"]}
            yield _row("position", _between(row), **figures, **ends)
            share = row["set_1_share"]
            why = "" if share is not None else "no pair has orders that disagree"
            yield _row("position", _between(row), figure="set 1 share", value=share, note=why)


def _counts(row: Row) -> Iterator[Row]:
    """Each count of pairs or calls with its share of the total."""
    for name in _COUNTS:
        count, n = row.get(name), row["n"]
        if isinstance(count, int) and isinstance(n, int):
            share = {"value": count / n if n else None, "note": "" if n else "no verdicts"}
            yield _row("pairs", _between(row), figure=f"{name}, {row['counted']}", count=count, n=n, **share)


def _between(row: Row) -> Row:
    return {"rater": row["rater"], "protocol": SAER[1], "of": f"{row['system']} vs {row['opponent']}"}


def _row(part: str, row: Row, **more: object) -> Row:
    names = [column.name for column in _COLUMNS]
    return {"part": part} | {name: row[name] for name in names if name in row} | more
