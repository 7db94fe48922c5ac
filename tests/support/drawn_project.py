"""A project that every figure can be drawn of, but Q against a metric, which needs lists of items."""

from __future__ import annotations

from pathlib import Path

from tests.support.verdicts import Project, give, judge_lists, judge_pairs, list_case, new_project, pair_case

SYSTEMS = ("als", "cooc", "text")
USERS = 16


def drawn_project(path: Path, systems: tuple[str, str, str] = SYSTEMS, text: str = "") -> Project:
    """Two judges with confidences, one run each, and two annotators on pairs; one judge and both people on lists.

    `text` goes into the names of the raters.
    """
    project = new_project(path)
    pairs = [
        pair_case(project, f"u{user:02}", *sorted((systems[one], systems[other])))
        for user in range(USERS)
        for one, other in ((0, 1), (0, 2), (1, 2))
    ]
    truth = {case: (1.0, 0.0, -1.0, 1.0, 1.0)[at % 5] for at, case in enumerate(pairs)}
    for name, wrong in ((f"good{text}", 6), (f"poor{text}", 2)):
        # every so many is wrong
        said = {case: -value if at % wrong == 0 else value for at, (case, value) in enumerate(truth.items())}
        judge_pairs(project, name, {case: (value, value) for case, value in said.items()})
    give(project, f"anna{text}", dict(truth), protocol_name="pairwise")
    give(project, f"ben{text}", {c: 0.0 if at % 7 == 0 else v for at, (c, v) in enumerate(truth.items())},
         protocol_name="pairwise")  # fmt: skip
    lists = [list_case(project, f"u{user:02}", system) for user in range(USERS) for system in systems]
    labels = {case: (2.0, 1.0, 0.0, 2.0)[at % 4] for at, case in enumerate(lists)}
    judge_lists(
        project, f"good{text}", {c: 1.0 if at % 5 == 0 else v for at, (c, v) in enumerate(labels.items())}
    )
    give(project, f"anna{text}", dict(labels))
    project.db.execute("UPDATE verdicts SET confidence = 0.55 + 0.1 * (case_id % 4) WHERE run_id IS NOT NULL")
    project.db.execute(
        "UPDATE cases SET served_at = '2026-05-0' || (1 + (id - 1) / 3 % 3) || 'T08:00:00+00:00'"
    )
    project.db.connection.commit()
    return project
