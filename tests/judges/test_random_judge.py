from __future__ import annotations

import json
from collections import Counter

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.random_judge import NOTE, make
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
