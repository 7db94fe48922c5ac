"""The committed sample data: made by its script, complete in itself, and as the import tables say."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from functools import cache
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "sample_data"
DOMAINS = ("shop", "films")
COLUMNS = {
    "events": ["user_id", "item_id", "text", "type", "timestamp", "value"],
    "heldout_events": ["user_id", "item_id", "text", "type", "timestamp", "value"],
    "lists_cooccurrence": ["user_id", "system", "item_id", "rank", "score"],
    "lists_text": ["user_id", "system", "item_id", "rank", "score"],
    "explanations": ["user_id", "item_id", "system", "text", "reference"],
    "labels_pointwise": [
        "rater", "user_id", "system", "aspect", "value", "protocol", "rater_kind", "note",
    ],
    "labels_pairwise": [
        "rater", "user_id", "system_a", "system_b", "aspect", "value", "protocol", "rater_kind",
    ],
    "labels_explanations": [
        "rater", "user_id", "item_id", "system", "aspect", "value", "protocol", "rater_kind",
    ],
}  # fmt: skip
LISTS = ("lists_cooccurrence", "lists_text")
POINTS = {"Good": 2, "Partial": 1, "Poor": 0, "A": 1, "Tie": 0, "B": -1}

Rows = list[dict[str, str]]
Read = Callable[[str], Rows]


@pytest.fixture(scope="module", params=DOMAINS)
def read(request: pytest.FixtureRequest) -> Read:
    """Reads a table of one domain by its name."""

    @cache
    def rows(name: str) -> Rows:
        with (SAMPLE / request.param / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, strict=True))

    return rows


def ids(read: Read, table: str, column: str) -> set[str]:
    return {row[column] for row in read(table)}


def make(out: Path) -> dict[str, bytes]:
    script = SAMPLE / "make_sample_data.py"
    subprocess.run([sys.executable, "-B", str(script), "--out", str(out)], check=True, capture_output=True)
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.csv"))}


def test_script_writes_the_committed_bytes_every_time(tmp_path: Path) -> None:
    committed = {str(p.relative_to(SAMPLE)): p.read_bytes() for p in sorted(SAMPLE.rglob("*.csv"))}
    first, second = make(tmp_path / "first"), make(tmp_path / "second")
    assert first == second
    assert sorted(first) == sorted(committed)
    assert [name for name in first if first[name] != committed[name]] == []


def test_columns_are_those_of_plain_tables(read: Read) -> None:
    for name, columns in COLUMNS.items():
        assert list(read(name)[0]) == columns, name
    assert {"item_id", "title", "category"} <= set(read("items")[0])
    assert {"user_id", "age", "gender", "occupation"} <= set(read("users")[0])


def test_every_user_and_item_named_anywhere_exists(read: Read) -> None:
    users, items = ids(read, "users", "user_id"), ids(read, "items", "item_id")
    for name in COLUMNS:
        for row in read(name):
            assert row["user_id"] in users
            assert row.get("item_id", "") in items | {""}


def test_events_name_an_item_or_carry_words(read: Read) -> None:
    kinds = set()
    for row in read("events"):
        kinds.add(row["type"])
        assert bool(row["text"]) == (row["type"] in {"search", "browse"})
        assert bool(row["item_id"]) != bool(row["text"])
        assert (row["value"] in {"1", "2", "3", "4", "5"}) == (row["type"] == "rating")
    assert kinds >= {"rating", "click", "search", "browse"}


def test_held_out_events_come_after_the_window_and_are_new_to_the_user(read: Read) -> None:
    shown, heldout = read("events"), read("heldout_events")
    had = {(row["user_id"], row["item_id"]) for row in shown if row["type"] in {"purchase", "rating"}}
    moments = [datetime.fromisoformat(row["timestamp"]) for row in shown + heldout]
    assert all(moment.utcoffset() is not None for moment in moments)
    assert max(moments[: len(shown)]) < min(moments[len(shown) :])
    assert {row["type"] for row in heldout} <= {"heldout_purchase", "heldout_rating"}
    assert not had & {(row["user_id"], row["item_id"]) for row in heldout}


@pytest.mark.parametrize("name", LISTS)
def test_lists_rank_all_candidates_of_everyone_best_first(read: Read, name: str) -> None:
    users, items = ids(read, "users", "user_id"), ids(read, "items", "item_id")
    ranked: dict[str, Rows] = {}
    for row in read(name):
        assert row["system"] == name.removeprefix("lists_")
        ranked.setdefault(row["user_id"], []).append(row)
    assert set(ranked) == users
    heldout = read("heldout_events")
    for user_id, rows in ranked.items():
        candidates = {row["item_id"] for row in rows}
        assert len(candidates) == len(rows)
        assert [int(row["rank"]) for row in rows] == list(range(1, len(rows) + 1))
        scores = [float(row["score"]) for row in rows]
        assert scores == sorted(scores, reverse=True)
        owned = {e["item_id"] for e in read("events") if e["user_id"] == user_id and is_owning(e)}
        assert items - candidates <= owned
        assert {e["item_id"] for e in heldout if e["user_id"] == user_id} <= candidates


def is_owning(event: dict[str, str]) -> bool:
    return event["type"] in {"purchase", "rating"}


@pytest.mark.parametrize("name", ["labels_pointwise", "labels_pairwise"])
def test_both_annotators_label_every_case_and_agree_as_people_do(read: Read, name: str) -> None:
    judged: dict[str, dict[tuple[str, str], int]] = {}
    for row in read(name):
        assert row["rater_kind"] == "annotator"
        assert row["aspect"] == "overall"
        assert row["protocol"] == name.removeprefix("labels_")
        judged.setdefault(row["rater"], {})[row["user_id"], row.get("system", "")] = POINTS[row["value"]]
    assert sorted(judged) == ["annotator_1", "annotator_2"]
    first, second = judged["annotator_1"], judged["annotator_2"]
    systems = ("cooccurrence", "text") if name == "labels_pointwise" else ("",)
    assert set(first) == set(second) == {(u, s) for u in ids(read, "users", "user_id") for s in systems}
    assert 0.5 <= quadratic_kappa([(first[case], second[case]) for case in first]) <= 0.75
    assert len(set(first.values())) == 3


def quadratic_kappa(pairs: list[tuple[int, int]]) -> float:
    """Written out by hand: 1 - mean squared distance / the mean over all pairings of the two raters."""
    observed = sum((a - b) ** 2 for a, b in pairs) / len(pairs)
    expected = sum((a - b) ** 2 for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    return 1 - observed / expected


def test_every_explanation_is_scored_by_three_raters_on_four_aspects(read: Read) -> None:
    texts = {(row["user_id"], row["item_id"], row["system"]) for row in read("explanations")}
    scores = read("labels_explanations")
    judged = {(r["user_id"], r["item_id"], r["system"], r["rater"], r["aspect"]) for r in scores}
    assert judged == {
        (*text, rater, aspect)
        for text in texts
        for rater in ("user", "annotator_1", "annotator_2")
        for aspect in ("persuasiveness", "transparency", "accuracy", "satisfaction")
    }
    assert len(scores) == len(judged)
    assert {row["value"] for row in scores} == {"1", "2", "3", "4", "5"}
    assert {r["rater"] for r in scores if r["rater_kind"] == "ground_truth"} == {"user"}
    assert all(row["reference"] for row in read("explanations"))
