"""`recjudge rater metric`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builder import Built, project


@pytest.fixture
def films(project_db: Path) -> Built:
    return project(
        project_db.with_name("rated.db"),
        items={"i1": "Heat"},
        explanations=[
            ("user_id", "item_id", "system", "text", "reference"),
            ("u1", "i1", "x", "so good", "good"),
        ],
        events=[("user_id", "item_id", "type"), ("u1", "i1", "heldout_click")],
        lists={("u1", "a"): ["i1"]},
    )


def test_the_raters_are_reported_on_stderr_and_listed(films: Built) -> None:
    made = films.run("rater metric bleu-1 ndcg --k 5 -p films")
    assert (made.exit_code, made.stdout) == (0, "")
    assert made.stderr.splitlines() == [
        "metric “bleu-1” created: 1 explanation verdicts",
        "metric “ndcg@5” created: 1 list verdicts",
    ]
    listed = films.done("rater list -p films --format csv")
    assert [line.split(",")[0] for line in listed.splitlines()[1:]] == ["bleu-1", "ndcg@5"]
    assert "“ndcg@5” updated" in films.run("rater metric ndcg@5 -p films").stderr
