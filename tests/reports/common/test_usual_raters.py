"""Readers, and people with few labels, stay out of every report unless they are named or asked for."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.reports.agreement.agreement import agreement_table
from recjudge_tui.reports.agreement.confusion import confusion_table
from recjudge_tui.reports.common.pairing import AgreementOptions
from recjudge_tui.reports.common.table import Table
from recjudge_tui.reports.common.usual_raters import UsualQuestions, usual_questions
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.store.verdicts.ratings import Question, project_questions, project_raters
from tests.support.verdicts import Project, give, new_project, pair_case


def usual(project: Project, *named: str) -> UsualQuestions:
    questions = project_questions(project.db, project.id)
    return usual_questions(project.db, project.id, questions, project_raters(project.db, project.id), named)


def pairs(project: Project) -> dict[int, float]:
    return {pair_case(project, f"u{at}"): float(at % 2) for at in range(10)}


def first(cases: dict[int, float], count: int) -> dict[int, float]:
    return dict(list(cases.items())[:count])


def test_a_person_with_few_labels_is_left_out_once_somebody_else_gave_enough(project_db: Path) -> None:
    project = new_project(project_db)
    cases = pairs(project)
    give(project, "cem", first(cases, 2), protocol_name="pairwise")
    give(project, "dan", first(cases, 9), protocol_name="pairwise")
    assert usual(project).few == ()
    give(project, "llama", cases, kind="judge", protocol_name="arena")
    # another protocol that asks the same question
    assert [question.rater for question in usual(project).few] == ["cem", "dan"]
    assert [question.rater for question in usual(project, "cem").few] == ["dan"]
    give(project, "cem", dict(list(cases.items())[2:]), protocol_name="pairwise")
    assert usual(project).few == (Question("dan", "pairwise", "overall"),)


def test_a_judge_with_few_verdicts_stays(project_db: Path) -> None:
    project = new_project(project_db)
    cases = pairs(project)
    give(project, "ana", cases, protocol_name="pairwise")
    give(project, "llama", first(cases, 1), kind="judge", protocol_name="pairwise")
    assert usual(project).few == ()


def test_a_reader_is_left_out_regardless_of_the_number_of_overrides(project_db: Path) -> None:
    project = new_project(project_db)
    give(project, "mara", pairs(project), kind="reader", protocol_name="pairwise")
    out = usual(project)
    assert out.kept == ()
    assert out.notes() == ["without the overrides of mara; --readers includes them"]
    assert out.notes([]) == []


def test_the_tables_leave_one_label_out_and_say_so(project_db: Path) -> None:
    project = new_project(project_db)
    cases = pairs(project)
    for rater in ("ana", "ben"):
        give(project, rater, cases, protocol_name="pairwise")
    give(project, "cem", first(cases, 1), protocol_name="pairwise")
    note = "without cem: fewer than 10 labels; --readers includes them"
    for readers in (False, True):
        compared, ranked = AgreementOptions(readers=readers), LeaderboardOptions("pairwise", readers=readers)
        tables = (
            agreement_table(project.db, project.id, compared),
            confusion_table(project.db, project.id, compared),
            leaderboard_table(project.db, project.id, ranked),
        )
        assert [note in table.notes for table in tables] == [not readers] * 3
        assert [{"ana", "ben"} <= raters(table) for table in tables] == [True] * 3
        assert ["cem" in raters(table) for table in tables] == [readers] * 3
    named = agreement_table(project.db, project.id, AgreementOptions(raters=("ana", "cem")))
    assert raters(named) == {"ana", "cem"}


def raters(table: Table) -> set[object]:
    return {row[name] for row in table.rows for name in ("rater_a", "rater_b", "rater") if name in row}
