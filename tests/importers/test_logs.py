"""Evaluation logs of other tools: the scores of judges that ran elsewhere become labels of raters."""

from __future__ import annotations

import json

import pytest

from recjudge_tui.store.database import Database
from tests.support.importing import Load, rows_of

INSPECT = {
    "version": 2, "status": "success", "eval": {"task": "rec", "model": "openai/gpt-4o"}, "results": {"scores": []},
    "samples": [
        {"id": 1, "epoch": 1, "metadata": {"user_id": "u1", "system": "als"}, "scores": {"judge": {"value": 0.75, "explanation": "fits"}}},  # noqa: E501
        {"id": 2, "epoch": 1, "metadata": {}, "scores": {"match": {"value": "I"}}},
    ],
}  # fmt: skip
PROMPTFOO = {
    "evalId": "e", "results": {"version": 3, "prompts": [{"raw": "x"}], "results": [{
        "testIdx": 0, "vars": {"user_id": "u1"}, "provider": {"id": "openai:gpt-4o", "label": ""},
        "gradingResult": {"score": 0.8, "componentResults": [
            {"score": 0.8, "reason": "fits", "assertion": {"type": "llm-rubric"}}, {"score": 1, "assertion": {"type": "contains"}},  # noqa: E501
            {"score": 0.3, "assertion": {"type": "llm-rubric"}}, {"score": 0.4, "assertion": {"type": "llm-rubric", "metric": "tone"}},  # noqa: E501
        ]},
    }], "stats": {}},
}  # fmt: skip
LANGFUSE = {
    "data": [
        {"id": "a", "traceId": "t1", "name": "relevance", "value": 0.9, "dataType": "NUMERIC", "source": "EVAL", "trace": {"userId": "u1"}},  # noqa: E501
        {"id": "b", "traceId": "t2", "name": "tone", "stringValue": "warm", "dataType": "CATEGORICAL", "source": "ANNOTATION"},  # noqa: E501
    ],
    "meta": {"page": 1},
}  # fmt: skip
PHOENIX = {
    "data": [
        {
            "id": "1", "span_id": "s1", "name": "correctness", "annotator_kind": "LLM",
            "result": {"label": "ok", "score": 1.0},
        }
    ]
}  # fmt: skip
LANGSMITH = {
    "id": "r1", "name": "als", "run_type": "chain", "reference_example_id": "e1",
    "feedback_stats": {"correctness": {"n": 1, "avg": 0.5}, "tone": {"n": 2, "avg": 1.0}},
}  # fmt: skip
FEEDBACK = {
    "id": "f", "run_id": "r1", "key": "tone", "score": True, "comment": "c", "feedback_source": {"type": "model"},
}  # fmt: skip
LM_EVAL = {
    "doc_id": 0, "doc": {"q": 1}, "resps": [["a"]], "filter": "none", "metrics": ["exact_match", "f1"],
    "exact_match": 1.0, "f1": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("layout", "name", "content", "labels"),
    [
        ("inspect-ai", "log.json", INSPECT, [("judge", "u1", "als", "overall", 0.75), ("match", "2", "openai/gpt-4o", "overall", 0.0)]),  # noqa: E501
        ("promptfoo", "results.json", PROMPTFOO, [("llm-rubric", "u1", "openai:gpt-4o", name, value) for name, value in (("overall", 0.8), ("assertion 3", 0.3), ("tone", 0.4))]),  # noqa: E501
        ("langfuse", "scores.json", LANGFUSE, [("EVAL", "u1", "traces", "relevance", 0.9)]),
        ("phoenix", "annotations.json", PHOENIX, [("LLM", "s1", "traces", "correctness", 1.0)]),
        ("langsmith", "runs.jsonl", LANGSMITH, [("langsmith", "e1", "als", "correctness", 0.5), ("langsmith", "e1", "als", "tone", 1.0)]),  # noqa: E501
        ("langsmith", "feedback.jsonl", FEEDBACK, [("model", "r1", "runs", "tone", 1.0)]),
        ("lm-eval", "samples_task_2024-01-01T00.jsonl", LM_EVAL, [("lm-eval", "0", "task", "exact_match", 1.0), ("lm-eval", "0", "task", "f1", 0.5)]),  # noqa: E501
    ],
)  # fmt: skip
def test_a_log_gives_the_labels_of_its_judges(
    load: Load, db: Database, layout: str, name: str, content: object, labels: list[tuple[object, ...]]
) -> None:
    summary = load("labels", json.dumps(content) + "\n", name)
    assert summary.files[0].layout == layout
    assert (
        rows_of(
            db,
            "SELECT v.rater, c.user_id, c.system_a, v.aspect, v.value FROM v_verdicts v JOIN cases c ON c.id = v.case_id ORDER BY verdict_id",  # noqa: E501
        )
        == labels
    )
    assert set(db.column("SELECT kind FROM raters")) == {"judge"}
