"""What a run will take: calls, tokens, money, time."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.model.judge import JudgeSpec
from recjudge_tui.model.material import Material
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.model.records import RaterKind
from recjudge_tui.model.run import Estimate
from recjudge_tui.model.tokens import estimate_tokens
from recjudge_tui.protocols.rendering import messages
from recjudge_tui.running.prices import price_of
from recjudge_tui.store.database import Database
from recjudge_tui.store.pace import seconds_a_call

SAMPLED_CASES = 40
# what a written profile takes
TOKENS_A_PROFILE = 200


class Asking(NamedTuple):
    """How the cases of a plan are asked about: each aspect so often, and after how many profiles."""

    aspects: tuple[str, ...]
    calls_a_case: int
    profiles: int
    tokens_a_reply: int


class Sample:
    """The sizes of a plan's cases, with a few of them kept whole: the first ones and the largest."""

    def __init__(self) -> None:
        self.cases = 0
        self.characters = 0
        self.kept: list[tuple[int, Material]] = []

    def add(self, material: Material) -> None:
        size = _characters(material)
        self.cases += 1
        self.characters += size
        if len(self.kept) < SAMPLED_CASES:
            self.kept.append((size, material))
        elif size > max(s for s, _ in self.kept):
            self.kept[-1] = (size, material)


def _characters(material: Material) -> int:
    user = material.user
    events = (e.item for e in (*user.history, *user.clicks) if e.item)
    items = (item for slate in material.slates for item in slate.items)
    texts = sum(len(view.text) for view in (material.explanation, material.example) if view)
    return texts + sum(len(i.title) + len(i.category) + len(i.brand) + 30 for i in (*events, *items))


def estimate(
    db: Database,
    judge: JudgeSpec,
    kind: RaterKind,
    prompt: Prompt,
    sample: Sample,
    asking: Asking,
) -> Estimate:
    """Tokens from rendered prompts of a sample, scaled by size; price from the table; time from earlier runs.

    A judge that is no language model takes no tokens and no money.
    """
    calls_a_case = asking.calls_a_case * len(asking.aspects)
    calls = sample.cases * calls_a_case + asking.profiles
    pace = seconds_a_call(db, judge.spec)
    seconds = None if pace is None else pace * calls
    if kind != "judge":
        return Estimate(
            calls=calls, cases=sample.cases, tokens_in_low=0, tokens_in_high=0, tokens_out=0,
            longest_prompt_tokens=0, cost_usd_low=0.0, cost_usd_high=0.0,
            seconds=seconds, price_note="not a language model",
        )  # fmt: skip
    rendered = [(size, _tokens(prompt, material, asking.aspects)) for size, material in sample.kept]
    of_sample = sum(size for size, _ in rendered)
    share = sample.characters / of_sample if of_sample else sample.cases / len(rendered)
    # a profile is written from about what one case shows
    scale = share * asking.calls_a_case * calls / (sample.cases * calls_a_case)
    low = round(sum(t[0] for _, t in rendered) * scale)
    high = round(sum(t[1] for _, t in rendered) * scale)
    tokens_out = (calls - asking.profiles) * asking.tokens_a_reply + asking.profiles * TOKENS_A_PROFILE
    price = price_of(judge)
    return Estimate(
        calls=calls,
        cases=sample.cases,
        tokens_in_low=low,
        tokens_in_high=high,
        tokens_out=tokens_out,
        longest_prompt_tokens=max(t[2] for _, t in rendered),
        cost_usd_low=price.cost(low, tokens_out) if price else None,
        cost_usd_high=price.cost(high, tokens_out * 2) if price else None,
        seconds=seconds,
        price_note=price.source if price else "price unknown: add it to prices.toml",
    )


def _tokens(prompt: Prompt, material: Material, aspects: tuple[str, ...]) -> tuple[int, int, int]:
    """Of one asking about all aspects: low, high, and the high estimate of its longest call."""
    low = high = longest = 0
    for aspect in aspects:
        counted = [estimate_tokens(m.content) for m in messages(prompt, material, aspect)]
        low += sum(part[0] for part in counted)
        this = sum(part[1] for part in counted)
        high, longest = high + this, max(longest, this)
    return low, high, longest
