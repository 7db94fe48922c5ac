"""Exports of labelling tools: who said what about which case, and what is left out and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support.importing import Load, verdicts_of

PAIR = {"user_id": "7", "system_a": "old", "system_b": "new"}
CASE = {"user_id": "0012345678901234567", "item_id": "9", "system": "s"}


def _notes(db: Database) -> list[str]:
    return db.column("SELECT DISTINCT note FROM verdicts ORDER BY note")


def _choice(name: str, *chosen: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": "t", "type": "choices", "value": {"choices": list(chosen)}}


def _rating(name: str, value: object) -> dict[str, Any]:
    return {"from_name": name, "to_name": "t", "type": "rating", "value": {"rating": value}}


WORDS = {"from_name": "words", "to_name": "t", "type": "textarea", "value": {"text": ["As", "it is."]}}


def _by(who: object, *result: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": who, "result": list(result), "was_cancelled": False, **more}


def _task(data: dict[str, Any], *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 5, "data": data, "annotations": list(annotations), "drafts": [], "predictions": [], **more}


def test_label_studio_pairs_ratings_and_categories(load: Load, db: Database) -> None:
    tasks = [
        _task(
            PAIR,
            _by({"id": 3, "email": "ann@example.org"}, _choice("overall", "A"), _choice("Impact", "Tie"), WORDS),
            _by(4, {"from_name": "cmp", "type": "pairwise", "value": {"selected": "right"}}),
            predictions=[{"result": [_choice("overall", "B")]}],
        ),
        _task(CASE, _by(4, _rating("accuracy", 4), _rating("rating", 2.0))),
        _task({"user_id": 7, "system": "s"}, _by(4, _choice("choice", "Good Match"))),
    ]  # fmt: skip
    summary = load("labels", json.dumps(tasks), "export.json")
    assert (summary.files[0].layout, summary.stored, summary.skipped) == ("label-studio", 6, 0)
    assert verdicts_of(db, "user_id, item_id, rater, aspect, label, protocol") == [
        # stored with the systems in the order of their names
        ("7", "", "ann@example.org", "overall", "B", "pairwise"),
        ("7", "", "ann@example.org", "Impact", "Tie", "pairwise"),
        ("7", "", "4", "cmp", "A", "pairwise"),
        ("0012345678901234567", "9", "4", "accuracy", "4", "explanation"),
        ("0012345678901234567", "9", "4", "overall", "2", "explanation"),
        ("7", "", "4", "overall", "Good", "pointwise"),
    ]
    assert "As it is." in _notes(db)


def test_label_studio_leaves_out_what_was_not_said(load: Load, db: Database) -> None:
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1}}
    tasks = [
        _task(PAIR, _by(1, _choice("overall", "A"), was_cancelled=True), _by(2), drafts=[{"result": []}, {"result": []}]),
        _task(PAIR, _by(3, box, _choice("overall", "A", "B"), _choice("impact")), {"id": 1, "completed_by": 3}),
        _task({"text": "no user"}, _by(5, _choice("overall", "A"))),
        _task(PAIR, _by(None, _choice("overall", "A"))),
        {"id": 9, "data": PAIR},
        _task(PAIR, _by(7, _choice("overall", "A"))),
    ]  # fmt: skip
    summary = load("labels", json.dumps(tasks), "export.json")
    assert verdicts_of(db) == [("7", "overall", "B")]
    assert summary.warning_kinds == {
        "drafts": 2, "was_cancelled true": 1, "nothing in it": 3, "type rectanglelabels": 1, "several choices": 1,
        "no answer": 1, "no user_id": 1, "no rater": 1,
    }  # fmt: skip
    assert summary.skipped == 11
    assert any(":record 2: task “5”, “overall”: several choices" in text for text in summary.warnings)


def test_label_studios_older_export_and_json_min(load: Load, db: Database) -> None:
    old = {"id": 1, "data": CASE, "completions": [_by(1, _rating("persuasiveness", 5)), _by(2, skipped=True)]}
    assert load("labels", json.dumps(old) + "\n", "x.jsonl").stored == 1
    small = {**PAIR, "id": 1, "annotator": 1, "annotation_id": 2, "overall": "A", "lead_time": 3.1}
    with pytest.raises(InputError, match=r"JSON-MIN.*Export the project again as JSON"):
        load("labels", json.dumps([small]), "min.json")


def _argilla(responses: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "r1", "fields": {"prompt": "?"}, "metadata": PAIR, "responses": responses, "suggestions": {}, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [
        # version 2: to_json
        _argilla({
            "overall": [{"value": "B", "user_id": "ann"}, {"value": "Tie", "user_id": "ben", "status": "draft"}],
            "why": [{"value": "Because.", "user_id": "ann"}],
        }),
        # version 2: to_list(flatten=True), to_datasets
        {
            **PAIR, "id": "r1", "prompt": "?", "_server_id": "x", "status": "pending",
            "overall.responses": ["B", "Tie"], "overall.responses.users": ["ann", "ben"],
            "overall.responses.status": ["submitted", "draft"],
            "why.responses": ["Because."], "why.responses.users": ["ann"], "why.responses.status": ["submitted"],
            "overall.suggestion": "A", "overall.suggestion.agent": "model",
        },
        # version 1: feedback records, as its server sends them
        _argilla([
            {"user_id": "ann", "status": "submitted", "values": {"overall": {"value": "B"}, "why": {"value": "Because."}}},
            {"user_id": "ben", "status": "draft", "values": {"overall": {"value": "Tie"}}},
        ]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("array", [False, True])
def test_argilla_records_of_both_versions(
    load: Load, db: Database, record: dict[str, Any], array: bool
) -> None:
    summary = load("labels", json.dumps([record] if array else record), "records.json")
    assert summary.files[0].layout == "argilla"
    assert verdicts_of(db) == [("ann", "overall", "A")]
    assert _notes(db) == ["Because."]
    assert summary.warning_kinds["status draft"] == 1
    assert summary.skipped == 1


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ([{"value": "old", "rank": 1}, {"value": "new", "rank": 2}], "B"),
        ([{"value": "old", "rank": 2}, {"value": "new", "rank": 1}], "A"),
        ([{"value": "old", "rank": 1}, {"value": "new", "rank": 1}], "Tie"),
        (["Tie"], "Tie"),
        ([{"start": 1, "end": 2, "label": "x"}], None),
        (["old", "new"], None),
        (None, None),
    ],
)
def test_argilla_rankings_and_lists(load: Load, db: Database, value: Any, label: str | None) -> None:
    both = [
        {"value": value, "user_id": "ann", "status": "submitted"},
        {"value": "A", "user_id": "x", "status": "submitted"},
    ]
    summary = load("labels", json.dumps([_argilla({"winner": both})]), "records.json")
    assert [row for row in verdicts_of(db) if row[0] == "ann"] == (
        [("ann", "overall", label)] if label else []
    )
    assert summary.skipped == (label is None)


def _prodigy(answer: str, **more: Any) -> str:
    task = {
        "text": "t", "meta": PAIR, "_task_hash": 1, "_input_hash": -2, "answer": answer, "_session_id": "db-ann",
    }  # fmt: skip
    return json.dumps({**task, **more}) + "\n"


def test_prodigy_choices(load: Load, db: Database) -> None:
    options = [{"id": "A", "text": "the left list"}, {"id": "B", "text": "the right list"}]
    text = (
        _prodigy("accept", options=options, accept=["A"], user_input="ok")
        + _prodigy("accept", options=options, accept=["B"], _annotator_id="db-ben")
        + _prodigy("accept", label="Tie", _session_id=None)
        + _prodigy("accept", options=options, accept=["accuracy: A", "impact: Tie"], _annotator_id="cem")
        + _prodigy("ignore", accept=["A"])
        + _prodigy("reject", label="A")
        + _prodigy("accept", accept=[])
        + _prodigy("accept", accept=["A", "B"])
        + _prodigy("later", accept=["A"])
    )
    summary = load("labels", text, "annotations.jsonl")
    assert summary.files[0].layout == "prodigy"
    assert verdicts_of(db) == [
        ("db-ann", "overall", "B"), ("db-ben", "overall", "A"), ("annotations", "overall", "Tie"),
        ("cem", "accuracy", "B"), ("cem", "impact", "Tie"),
    ]  # fmt: skip
    assert summary.warning_kinds == {
        "answer ignore": 1, "answer reject": 1, "no answer": 1, "several choices": 1, "answer later": 1,
    }  # fmt: skip
    assert _notes(db) == ["", "ok"]


def test_the_text_of_a_choice_by_a_mapping(load: Load, db: Database, tmp_path: Path) -> None:
    mapping = (
        'layout = "prodigy"\n[labels]\nuser_id = "customer"\nsystem = { value = "s" }\nprotocol = { value = "pointwise" }\n'
        'value = { column = "choice_text", values = { "fits well" = "Good" } }\naspect = { value = "fit" }\n'
    )
    options = [{"id": 0, "text": "fits well"}, {"id": 1, "text": "Poor"}]
    text = "".join(_prodigy("accept", meta={"customer": n}, options=options, accept=[n]) for n in (0, 1))
    assert load("labels", text, "x.jsonl", mapping=mapping).stored == 2
    assert verdicts_of(db, "user_id, aspect, label") == [("0", "fit", "Good"), ("1", "fit", "Poor")]


def test_doccano(load: Load, db: Database) -> None:
    text = (
        json.dumps({"id": 1, "data": "t", **PAIR, "label": ["A"], "Comments": ["so", "it is"]})
        + "\n" + json.dumps({"id": 2, "text": "t", "label": ["accuracy: 4", "impact=2"], "meta": CASE})
        + "\n" + json.dumps({"id": 3, "text": "t", "label": [], **PAIR})
        + "\n" + json.dumps({"id": 4, "text": "t", "label": [[0, 3, "LOC"]], **PAIR})
        + "\n" + json.dumps({"id": 5, "text": "t", "labels": ["A", "B"], **PAIR}) + "\n"
    )  # fmt: skip
    summary = load("labels", "\ufeff" + text, "ann.smith.jsonl")
    assert (summary.files[0].layout, summary.stored) == ("doccano", 3)
    assert verdicts_of(db) == [
        ("ann.smith", "overall", "B"), ("ann.smith", "accuracy", "4"), ("ann.smith", "impact", "2"),
    ]  # fmt: skip
    assert summary.warning_kinds == {"no answer": 1, "not a verdict": 1, "several choices": 1}
    assert "so it is" in _notes(db)


def test_a_mapping_names_the_fields_of_a_task(load: Load, db: Database, tmp_path: Path) -> None:
    mapping = (
        'layout = "label-studio"\n[labels]\nuser_id = "customer"\nsystem_a = "left"\nsystem_b = "right"\n'
        'protocol = { value = "arena" }\naspect = { column = "aspect", values = { q1 = "impact" } }\n'
        'rater = { column = "rater", values = { 3 = "ann" } }\n'
        'value = { column = "value", values = { "first one" = "A" } }\n'
    )
    task = _task(
        {"customer": "c", "left": "a", "right": "b", "aspect": ""}, _by(3, _choice("q1", "first one"))
    )
    summary = load("labels", json.dumps([task]), "x.json", mapping=mapping)
    assert verdicts_of(db, "user_id, rater, aspect, label, protocol") == [
        ("c", "ann", "impact", "A", "arena")
    ]
    assert summary.files[0].layout.startswith("mapping m.toml")


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('layout = "brat"\n[labels]\n', "layout “brat” in the mapping m.toml.*label-studio, argilla, prodigy, doccano"),
        ('layout = "prodigy"\n[events]\nuser_id = "x"\n', "does not describe the fields of the labels"),
        ('layout = "prodigy"\n[labels.ann]\noverall = "x"\n', "without tables for raters or aspects"),
        ('layout = ["prodigy"]\n', "“layout” Input should be a valid string"),
    ],
)  # fmt: skip
def test_mappings_that_do_not_fit(load: Load, tmp_path: Path, toml: str, says: str) -> None:
    mapping = toml
    with pytest.raises(InputError, match=says):
        load("labels", _prodigy("accept", accept=["A"]), "x.jsonl", mapping=mapping)


def test_hostile_tasks(load: Load, db: Database) -> None:
    good = _task(PAIR, _by(1, _choice("overall", "A")))
    odd = [
        {"id": 1, "data": None, "annotations": None},
        {"id": 1, "data": [1], "annotations": [None, 3, _by(1, {"type": "choices", "value": 3}, _choice("x"))]},
        {"id": 1, "data": {**PAIR, "deep": [[[[{}]]]]}, "annotations": [_by(2, _choice("overall", "A"))]},
        _task({**PAIR, "user_id": "half \ud800"}, _by(1, _choice("overall", "A"))),
        _task({**PAIR, "user_id": "\x1b[31m" + "9" * 5000}, _by(1, _choice("overall", "\x1b[2J", "B"))),
    ]  # fmt: skip
    summary = load("labels", json.dumps([good, *odd]), "x.json")
    assert verdicts_of(db) == [("1", "overall", "B"), ("2", "overall", "B")]
    assert summary.warning_kinds["broken text"] == 1
    assert not any("\x1b" in text for text in summary.warnings)
