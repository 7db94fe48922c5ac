"""Small databases for report tests, filled through the store's own functions."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.calls import Answer, CallResult, Order, ParsedReply, Reply
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import ItemView, SlateView, UserView
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.run import Estimate, RunSettings
from recjudge_tui.project import Project as OpenProject
from recjudge_tui.protocols.registry import adjudicate
from recjudge_tui.reports.common.table import Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.store.calls import (
    CallKey,
    CallOutcome,
    calls_of_cases,
    outstanding,
    save_outcomes,
    save_verdicts,
)
from recjudge_tui.store.cases import CaseKey, ShownCase, ensure_case, save_snapshots
from recjudge_tui.store.database import Database, now
from recjudge_tui.store.imports import Target, begin_import
from recjudge_tui.store.prompts import get_prompt, load_shipped
from recjudge_tui.store.raters import ensure_rater
from recjudge_tui.store.runs import NewRun, PlannedCall, add_calls, add_cases, create_run
from recjudge_tui.store.schema import connect
from tests.builder import Built
from tests.support.hostile import project_of_any_name

MATCH = {2.0: "Good", 1.0: "Partial", 0.0: "Poor"}
PAIR = {1.0: "A", 0.0: "Tie", -1.0: "B"}
ESTIMATE = Estimate(
    calls=0, cases=0, tokens_in_low=0, tokens_in_high=0, tokens_out=0, longest_prompt_tokens=0,
    cost_usd_low=None, cost_usd_high=None, seconds=None,
)  # fmt: skip


class Project(NamedTuple):
    db: Database
    id: int


def new_project(path: Path, name: str = "films") -> Project:
    db = _opened(path)
    return Project(db, project_of_any_name(db, name))


def opened(built: Built) -> Project:
    """The only project of a file that was filled through the commands."""
    return Project(_opened(built.path), 1)


def _opened(path: Path) -> Database:
    # closed with the last reference to it, in whatever thread collects it: an open connection that is collected is a
    # warning, so an error here
    db = connect(path, one_thread=False)
    weakref.finalize(db, db.connection.close)
    return db


def import_target(project: Project) -> Target:
    """Where a test's imported rows go: an import of its own."""
    source = begin_import(project.db, project.id, "items", "plain", "all.csv", "0")
    return Target(db=project.db, project_id=project.id, import_id=source, since=source)


def list_case(project: Project, user: str, system: str = "x") -> int:
    with project.db.transaction():
        return ensure_case(project.db, project.id, CaseKey("list", user, system))


def pair_case(project: Project, user: str, first: str = "a", second: str = "b") -> int:
    with project.db.transaction():
        return ensure_case(project.db, project.id, CaseKey("pair", user, first, second))


def text_case(project: Project, user: str, item: str, system: str) -> int:
    with project.db.transaction():
        return ensure_case(project.db, project.id, CaseKey("explanation", user, system, item_id=item))


def give(
    project: Project,
    rater: str,
    values: Mapping[int, float | None],
    *,
    protocol_name: str = "pointwise",
    kind: RaterKind = "annotator",
    aspect: str = "overall",
) -> None:
    """Verdicts by case id, as an import writes them; None is a failed one."""
    names = MATCH if protocol_name == "pointwise" else PAIR if protocol_name == "pairwise" else {}
    with project.db.transaction():
        rater_id = ensure_rater(project.db, project.id, rater, kind)
        project.db.execute_many(
            """INSERT INTO verdicts (rater_id, case_id, aspect, protocol, state, value, label, rule, created_at, project_id)
               VALUES (?, ?, ?, ?, ?, ?, ?, 'as given', ?, ?)""",
            [
                (
                    rater_id, case, aspect, protocol_name, "failed" if value is None else "ok", value,
                    "" if value is None else names.get(value, f"{value:g}"), now(), project.id,
                )
                for case, value in values.items()
            ],
        )  # fmt: skip


def judge_pairs(
    project: Project,
    rater: str,
    answers: Mapping[int, tuple[float | None, float | None]],
    kind: RaterKind = "judge",
) -> int:
    """A finished pairwise run: for each case the answers in the orders a-b and b-a; None is a failed call.

    Calls, answers and the adjudicated verdicts go through the store as in a real run.
    """
    return _judge(project, rater, kind, "pairwise", {case: _by_order(both) for case, both in answers.items()})


def judge_lists(
    project: Project, rater: str, answers: Mapping[int, float | None], kind: RaterKind = "judge"
) -> int:
    """A finished pointwise run."""
    return _judge(project, rater, kind, "pointwise", {case: {"": value} for case, value in answers.items()})


def judge_with_reasons(project: Project, rater: str, reasons: Sequence[str]) -> None:
    """A pairwise run in which odd users' cases are won by a and even ones' by b, and a text is the reason of both calls.

    {a} and {b} in it become the places of the lists: Set 1 or Set 2.
    """
    cases = [pair_case(project, f"u{user}") for user in range(len(reasons))]
    judge_pairs(
        project, rater, {case: (1.0, 1.0) if at % 2 else (-1.0, -1.0) for at, case in enumerate(cases)}
    )
    with project.db.transaction():
        for order, (a, b) in {"ab": ("Set 1", "Set 2"), "ba": ("Set 2", "Set 1")}.items():
            project.db.execute_many(
                """UPDATE answers SET reasoning = ? WHERE call_id IN (
                     SELECT id FROM calls WHERE case_id = ? AND list_order = ?)""",
                [(text.format(a=a, b=b), case, order) for case, text in zip(cases, reasons, strict=True)],
            )


def _by_order(both: tuple[float | None, float | None]) -> dict[Order, float | None]:
    return {"ab": both[0], "ba": both[1]}


def _judge(
    project: Project,
    rater: str,
    kind: RaterKind,
    name: str,
    answers: Mapping[int, Mapping[Order, float | None]],
) -> int:
    db = project.db
    load_shipped(db)
    prompt_id, _, prompt = get_prompt(db, f"{name}-media")
    settings = RunSettings.model_validate({"protocol": name})
    names = PAIR if name == "pairwise" else MATCH
    with db.transaction():
        rater_id = ensure_rater(db, project.id, rater, kind)
        new = NewRun(project.id, rater_id, prompt_id, JudgeSpec(spec="rules"), settings, ESTIMATE)
        run_id = create_run(db, new)
        shown = SlateView(items=(ItemView(item_id="i1", title="Heat"),))
        (user,) = save_snapshots(db, "user", [UserView(user_id="someone")])
        (slate,) = save_snapshots(db, "slate", [shown])
        for case, orders in answers.items():
            add_cases(db, run_id, [(case, ShownCase(user, slate, slate if name == "pairwise" else None))])
            add_calls(db, run_id, [PlannedCall(case, order) for order in orders])
        keys = [key for _, key in outstanding(db, run_id, 0, 10**6)]
        save_outcomes(db, [_outcome(key, answers[key.case_id][key.order], names) for key in keys])
        drafts = {
            case: [adjudicate(prompt, "overall", {c.order: c.answers.get("overall") for c in asked})]
            for case, asked in calls_of_cases(db, run_id, answers).items()
        }
        save_verdicts(db, rater_id, run_id, name, drafts)
    return run_id


def _outcome(key: CallKey, value: float | None, names: Mapping[float, str]) -> CallOutcome:
    if value is None:
        return CallOutcome(key, "hash", None, CallResult(1, error_kind="timeout", error="no answer in 60 s"))
    answer = Answer(
        aspect="overall", value=value, label=names[value], reasoning=f"because of {key.order or 'it'}"
    )
    parsed = ParsedReply(answers=(answer,), parsed_by="schema")
    return CallOutcome(key, "hash", None, CallResult(1, Reply(text="{}"), parsed))


def cases_of(make: Sequence[int], values: Sequence[float | None]) -> dict[int, float | None]:
    return dict(zip(make, values, strict=True))


def table(project: Project, report: str, **options: object) -> Table:
    """The table of a declared report."""
    return table_of(OpenProject.numbered(project.db, project.id), report, **options)


def only(made: Table, **wanted: object) -> Row:
    """The one row of a table that has these cells."""
    (found,) = (row for row in made.rows if all(row.get(name) == value for name, value in wanted.items()))
    return found


def agreement(project: Project, **options: object) -> Table:
    """The declared report on agreement."""
    return table_of(OpenProject.numbered(project.db, project.id), "agreement", **options)
