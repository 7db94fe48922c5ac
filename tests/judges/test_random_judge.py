from __future__ import annotations

import json
from collections import Counter
from random import Random

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.random_judge import NOTE, draw, make
from tests.support.judge_calls import LABELS, asking, workload


async def test_labels_are_uniform_and_the_reasoning_says_what_it_is() -> None:
    judge = make(JudgeSpec(spec="random"))
    await judge.prepare(workload())
    answers = [json.loads((await judge.ask(asking(f"case {i}"))).text) for i in range(900)]
    counts = Counter(a["category"] for a in answers)
    assert set(counts) == LABELS
    assert min(counts.values()) > 250
    assert {a["reasoning"] for a in answers} == {NOTE}
    assert (judge.rater_kind, judge.cacheable) == ("random", False)


async def test_the_same_content_and_seed_give_the_same_answer_and_another_sample_may_not() -> None:
    judge = make(JudgeSpec(spec="random"))
    first = [(await judge.ask(asking(f"case {i}"))).text for i in range(40)]
    assert first == [(await judge.ask(asking(f"case {i}"))).text for i in range(40)]
    assert first != [(await judge.ask(asking(f"case {i}", sample=1))).text for i in range(40)]
    assert first != [(await judge.ask(asking(f"case {i}", seed=8))).text for i in range(40)]


def test_the_test_covers_every_kind_of_value() -> None:
    schema = {
        "properties": {
            "score": {"enum": [1, 2, 3]},
            "share": {"type": "number"},
            "count": {"type": "integer", "minimum": 3, "maximum": 4},
            "flags": {"type": "array", "items": {"type": "string"}},
            "either": {"anyOf": [{"const": "x"}, {"type": "null"}]},
            "sure": {"type": "boolean"},
        }
    }
    value = draw(schema, Random(1))
    assert list(value) == ["score", "share", "count", "flags", "either", "sure"]
    assert value["score"] in (1, 2, 3)
    assert 0 <= value["share"] <= 1
    assert value["count"] in (3, 4)
    assert value["flags"] == []
    assert value["either"] in ("x", None)
    assert value["sure"] in (True, False)
