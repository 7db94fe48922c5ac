from __future__ import annotations

from pathlib import Path

from recjudge_tui.domain.filters import KEYS, parse_filter
from recjudge_tui.store.filters import MOST, filter_values
from recjudge_tui.store.projects import create_project
from recjudge_tui.store.schema import connect
from recjudge_tui.store.verdicts import filtered_ids
from tests.support.app.projects import make_project


def test_every_value_offered_finds_something(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        values = filter_values(db, project)
        for key in ("judge", "label", "aspect", "system", "protocol", "flag", "run"):
            assert values[key], key
            for value in values[key]:
                if key == "judge" and not db.value(
                    "SELECT count(*) FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = ?",
                    (value,),
                ):
                    continue
                assert filtered_ids(db, project, parse_filter(f'{key}:"{value}"')), (key, value)
    assert values["flag"][0] == "any"
    assert values["disagree"][0] == "human"
    assert set(values) - {"rater"} <= set(KEYS)


def test_labels_are_found_without_reading_every_verdict(project_db: Path) -> None:
    project = make_project(project_db)
    with connect(project_db) as db:
        values = filter_values(db, project)
        found = {row[0] for row in db.rows("SELECT DISTINCT label FROM verdicts WHERE label <> ''")}
        assert {label.casefold() for label in values["label"]} == {label.casefold() for label in found}
        plan = " ".join(
            row["detail"]
            for row in db.rows(
                "EXPLAIN QUERY PLAN SELECT label FROM verdicts WHERE project_id = 1 AND (label = '') = 0 "
                "AND label COLLATE NOCASE > 'a' COLLATE NOCASE ORDER BY label COLLATE NOCASE LIMIT 1"
            )
        )
    assert "verdicts_by_label" in plan
    assert "TEMP B-TREE" not in plan


def test_values_that_cannot_be_typed_and_too_many_are_left_out(project_db: Path) -> None:
    with connect(project_db) as db:
        project = create_project(db, "movies")
        other = create_project(db, "books")
        names = ['with "quotes"', "two\nlines", "\x1b[31mred", "n" * 61, "two words", "plain"]
        names += [f"z{number:04d}" for number in range(MOST + 50)]
        for name in names:
            db.execute(
                "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, ?, 'judge', '')",
                (project, name),
            )
        db.execute(
            "INSERT INTO raters (project_id, name, kind, created_at) VALUES (?, 'theirs', 'judge', '')",
            (other,),
        )
        judges = filter_values(db, project)["judge"]
    assert {"two words", "plain"} <= set(judges)
    assert len(judges) <= MOST
    assert all(name.isprintable() and '"' not in name and len(name) <= 60 for name in judges)
    assert "theirs" not in judges
