"""Figures of Zhang et al. (2024), Table 2, from the released labels through import and report."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from recjudge_tui.importers.load import import_files
from recjudge_tui.store.schema import connect
from tests.support.verdicts import Project, agreement

ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")


@pytest.mark.data
def test_annotator_1_against_the_users(project_db: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    with (
        (Path(os.environ["RECJUDGE_DATA"]) / "zhang2024" / "explanations.csv").open(newline="") as source,
        labels.open("w", newline="") as target,
    ):
        writer = csv.writer(target)
        writer.writerow(("rater", "rater_kind", "user_id", "item_id", "system", "aspect", "value"))
        for row in csv.DictReader(source):
            who = (row["user_id"], row["movie_id"], row["explanation_type"])
            for aspect in ASPECTS:
                if row[aspect].strip():
                    writer.writerow(("user", "ground_truth", *who, aspect, row[aspect]))
                writer.writerow(("annotator_1", "annotator", *who, aspect, row[f"{aspect}_1"]))
    with connect(project_db) as db:
        import_files(db, "zhang", [labels], "labels")
        options = {
            "truth": "user",
            "stats": ("pearson",),
            "levels": ("dataset", "user", "pair"),
            "missing_truth": 3,
        }
        table = agreement(Project(db, 1), **options)
    found = {(row["aspect"], row["level"]): row for row in table.rows}
    published = (19.88, 18.31, 16.72)
    for level, percent in zip(("dataset", "user", "pair"), published, strict=True):
        value = found["persuasiveness", level]["value"]
        assert isinstance(value, float)
        assert round(100 * value, 2) == percent
    assert found["persuasiveness", "pair"]["groups"] == 310
    assert found["persuasiveness", "dataset"]["n"] == 2536
