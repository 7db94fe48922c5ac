"""The order of a project's questions: the first is what its home and its agreement open on."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.reports.figures.options import Topic, project_topics
from tests.support.verdicts import give, list_case, new_project, pair_case


def test_the_first_label_of_an_annotator_keeps_the_question(project_db: Path) -> None:
    project = new_project(project_db)
    users = [f"u{at}" for at in range(10)]
    lists = dict.fromkeys([list_case(project, user) for user in users], 1.0)
    pairs = dict.fromkeys([pair_case(project, user) for user in users], 1.0)
    for rater in ("ana", "ben"):
        give(project, rater, lists)
        give(project, rater, pairs, protocol_name="pairwise")
    by_name = project_topics(project.db, project.id)
    assert by_name == (Topic("pairwise", "overall"), Topic("pointwise", "overall"))
    few = list(lists.items())
    give(project, "cem", dict(few[:9]))
    assert project_topics(project.db, project.id) == by_name
    give(project, "cem", dict(few[9:]))
    assert project_topics(project.db, project.id) == by_name[::-1]
