"""Makes the verdicts of a case from its answers; repeated answers are combined first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum

from recjudge_tui.domain.calls import Answer, Order, VerdictDraft
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.judges.base import Judge
from recjudge_tui.runs.engine.held_run import HeldRun
from recjudge_tui.store.calls import CaseCall, case_calls, save_verdicts
from recjudge_tui.store.database import Database

Rule = Callable[[Prompt, str, dict[Order, Answer | None]], VerdictDraft]


def adjudicate(db: Database, run: HeldRun[Judge], case_id: int) -> None:
    """Store the verdicts of a case if all its calls have ended."""
    calls = case_calls(db, run.id, case_id)
    if any(call.state == "planned" for call in calls):
        return
    _, _, protocol, prompt = run.setup
    drafts = verdicts_of(protocol.verdict, prompt, calls)
    save_verdicts(db, run.rater_id, case_id, run.id, protocol.name, drafts)


def verdicts_of(rule: Rule, prompt: Prompt, calls: list[CaseCall]) -> list[VerdictDraft]:
    """One verdict for each aspect of the prompt, by `rule`, from all calls of a case. Repeats are voted on first."""
    drafts = []
    for aspect in prompt.aspects:
        repeats: dict[Order, list[Answer | None]] = {}
        for call in calls:
            if call.aspect in ("", aspect.name):
                repeats.setdefault(call.order, []).append(call.answers.get(aspect.name))
        if not repeats:
            continue
        votes = {order: voted(prompt, aspect.name, answers) for order, answers in repeats.items()}
        draft = rule(prompt, aspect.name, votes)
        most = max(map(len, repeats.values()))
        if most > 1:
            draft = draft.model_copy(update={"rule": f"{draft.rule}, vote of {most}"})
        drafts.append(draft)
    return drafts


def voted(prompt: Prompt, aspect: str, answers: Sequence[Answer | None]) -> Answer | None:
    """The most frequent label; None when there are no answers or one of them failed.

    A split vote gives a tie if the scale has one (a label of value 0 between others), else the lowest of
    the most frequent labels. Confidence of several answers: the share of them with that label; if the server gave the
    label's probability for each of these, the sum of these probabilities divided by the number of all answers (the
    mean probability of the label if the other answers gave it none). Reasoning: the first answer with that label. On
    a scale of numbers: their mean, without a confidence, and the reasoning of the answer nearest to it.
    """
    given = [answer for answer in answers if answer is not None]
    if not given or len(given) < len(answers):
        return None
    if len(given) == 1:
        return given[0]
    if prompt.scale is not None:
        mean = fsum(answer.value for answer in given) / len(given)
        nearest = min(given, key=lambda answer: abs(answer.value - mean))
        return Answer(aspect=aspect, value=mean, label=f"{mean:.4g}", reasoning=nearest.reasoning)
    counts = Counter(answer.value for answer in given)
    most = max(counts.values())
    value = _chosen([v for v, n in counts.items() if n == most], prompt, aspect)
    same = [answer for answer in given if answer.value == value]
    confidences = [answer.confidence for answer in same if answer.confidence is not None]
    label = next((spec.name for spec in prompt.labels_of(aspect) if spec.value == value), "")
    weight = sum(confidences) if len(confidences) == len(same) else len(same)
    return Answer(
        aspect=aspect,
        value=value,
        label=same[0].label if same else label,
        reasoning=same[0].reasoning if same else "",
        confidence=weight / len(given),
    )


def _chosen(front: list[float], prompt: Prompt, aspect: str) -> float:
    if len(front) == 1:
        return front[0]
    scale = [spec.value for spec in prompt.labels_of(aspect)]
    return 0.0 if min(scale) < 0 < max(scale) and 0 in scale else min(front)
