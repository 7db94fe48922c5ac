"""One judge against people, as SAER reports it (Liu et al., SIGIR 2026): its figures one a row, made from other reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from recjudge_tui.domain.protocols import SAER
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.calibration import strictness_table
from recjudge_tui.reports.common.scales import is_judging
from recjudge_tui.reports.common.table import Row, Table, columns, seen_first
from recjudge_tui.reports.declare import Options, table_of
from recjudge_tui.reports.words import figure_text
from recjudge_tui.stats.registry import label_of
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Question, Rater, project_questions, project_raters

_COLUMNS = columns(
    "part|Part", "protocol rater", "of|Reference", "figure label? count? value ci_low ci_high n note"
)
_COUNTS = ("wins", "losses", "ties", "true_ties", "position_ties")


def benchmark(project: Project, choose: Options) -> Table:
    """Kappa and agreement among people and of the judge with their consensus, concurrence on pairs, every rater's
    strictness, shares of labels by system, counts of pairs adjudicated and raw, position. `raters`: the judge and the
    annotators; all annotators if none is named, the only judge likewise. `truth`: the consensus for lists and the one
    for pairs, found if there is one of each. Raises UsageError if it is unclear which judge or consensus is meant, or
    if lists and pairs have no verdicts; NotFoundError for an unknown rater."""
    truths = tuple(filter(None, (choose.truth or "").split(",")))
    for name in (*choose.raters, *truths):
        rater_row(project.db, project.id, name)
    known = project_raters(project.db, project.id)
    questions = [q for q in project_questions(project.db, project.id) if q.protocol in SAER]
    judge, annotators = _judge_and_people(questions, known, choose.raters)
    consensus = {protocol: _consensus(questions, known, truths, protocol) for protocol in SAER}
    who = {judge, *annotators, *consensus.values()}
    rows: list[Row] = []
    notes: list[str] = []
    for protocol, reference in consensus.items():
        stats: tuple[str, ...] = ("qwk", "percent")
        met = [table_of(project, "agreement", protocol=protocol, raters=annotators, stat=stats)]
        if reference:
            stats = (*stats, "concurrence") if protocol == SAER[1] else stats
            among = {"protocol": protocol, "raters": (judge,), "truth": reference, "stat": stats}
            met.append(table_of(project, "agreement", **among))
        elif any(q.protocol == protocol for q in questions):
            notes.append(f"no consensus of {protocol} labels: combine the annotators into one")
        for row in (row for table in met for row in table.rows):
            rows.append(_row("agreement", row, rater=row["rater_a"], of=row["rater_b"], figure=row["stat"]))
    strictness = strictness_table(project, (judge,), annotators)
    for row in strictness.rows:
        figure = f"{row['figure']} {row['label']}".strip()
        rows.append(_row("strictness", row, of=row["against"], figure=figure))
    shares = table_of(project, "leaderboard", protocol=SAER[0])
    for row in (row for row in shares.rows if row["rater"] in who):
        share = {"of": row["system"], "figure": f"share {row['label']}", "value": row["share"]}
        rows.append(_row("shares", row, protocol=SAER[0], **share))
    counts = table_of(project, "robustness position", rater=judge, counts=True)
    position = table_of(project, "robustness position", gap=False)
    for row, name in product(counts.rows, _COUNTS):
        count, n = row.get(name), row["n"]
        if isinstance(count, int) and isinstance(n, int):
            share = {"value": count / n if n else None, "note": "" if n else "no verdicts"}
            cells = {**_between(row), "figure": f"{name}, {row['counted']}", "count": count, "n": n, **share}
            rows.append(_row("pairs", {"rater": row["rater"]}, **cells))
    # a row about all systems stands for several pairs of them
    for row in (row for row in position.rows if row["rater"] in who and row["system"]):
        consistency = {"figure": "consistency", "value": row["consistency"], "n": row["pairs"]}
        rows.append(_row("position", row, **_between(row), **consistency))
        why = "" if row["set_1_share"] is not None else "no pair has orders that disagree"
        share = {"figure": "set 1 share", "value": row["set_1_share"], "note": why}
        rows.append(_row("position", {"rater": row["rater"]}, **_between(row), **share))
    for table in (strictness, shares, counts, position):
        notes += table.notes
    settings: dict[str, object] = {"judge": judge, "annotators": list(annotators), **consensus}
    answer = next((row for row in rows if row["part"] == "agreement" and row["rater"] == judge), None)
    said = "" if answer is None else (
        f"{judge} and {answer['of']}, {answer['protocol']}:"
        f" {label_of(str(answer['figure']))} {figure_text(answer, 'value')}."
    )  # fmt: skip
    table = Table(
        "Human benchmark", _COLUMNS, tuple(rows), tuple(dict.fromkeys(notes)), settings, answer=said
    )
    first = [row for row in rows if row["part"] in ("agreement", "position")]
    return seen_first(table, "part protocol rater of figure value ci_low ci_high n", first or rows)


def _judge_and_people(
    questions: Sequence[Question], known: Mapping[str, Rater], raters: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    met = sorted({question.rater for question in questions})
    named = [name for name in raters if is_judging(known[name]) or known[name].kind == "ensemble"]
    judges = named or [name for name in met if is_judging(known[name])]
    if len(judges) != 1:
        raise UsageError(
            "the human benchmark needs exactly one judge",
            f"Available: {', '.join(judges)}." if judges else "No judge judged lists or pairs here.",
            "Name the judge (and the annotators) among the raters.",
        )
    people = tuple(name for name in raters if known[name].kind == "annotator")
    people = people or tuple(name for name in met if known[name].kind == "annotator")
    if not people:
        raise UsageError("no annotator judged lists or pairs here", next_step="Import labels of people.")
    return judges[0], people


def _consensus(
    questions: Iterable[Question], known: Mapping[str, Rater], truths: Sequence[str], protocol: str
) -> str:
    asked = {question.rater for question in questions if question.protocol == protocol}
    met = sorted(r for r in asked if (r in truths if truths else known[r].kind == "consensus"))
    if len(met) > 1:
        raise UsageError(
            f"several raters could be the consensus on {protocol} labels",
            f"Available: {', '.join(met)}.",
            "Name the consensus for lists and the one for pairs as the truth: A,B.",
        )
    return met[0] if met else ""


def _between(row: Row) -> Row:
    return {"protocol": SAER[1], "of": f"{row['system']} vs {row['opponent']}"}


def _row(part: str, row: Row, **more: object) -> Row:
    names = [column.name for column in _COLUMNS]
    return {"part": part} | {name: row[name] for name in names if name in row} | more
