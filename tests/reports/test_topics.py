"""The order of a project's questions: the first is what its home and its agreement open on."""

from __future__ import annotations

from pathlib import Path

from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.topics import Topic, topics
from tests.support.verdicts import give, list_case, new_project, pair_case


def test_the_first_label_of_an_annotator_keeps_the_question(project_db: Path) -> None:
    project = new_project(project_db)
    users = [f"u{at}" for at in range(10)]
    lists = dict.fromkeys([list_case(project, user) for user in users], 1.0)
    pairs = dict.fromkeys([pair_case(project, user) for user in users], 1.0)
    for rater in ("ana", "ben"):
        give(project, rater, lists)
        give(project, rater, pairs, protocol_name="pairwise")
    opened = Opened.numbered(project.db, project.id)
    by_name = topics(opened)
    assert by_name == (Topic("pairwise", "overall"), Topic("pointwise", "overall"))
    few = list(lists.items())
    give(project, "cem", dict(few[:9]))
    assert topics(opened) == by_name
    give(project, "cem", dict(few[9:]))
    assert topics(opened) == by_name[::-1]
