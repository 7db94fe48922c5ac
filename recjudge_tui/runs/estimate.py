"""Estimate a run: calls, tokens, cost, time."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from math import fsum
from statistics import fmean
from typing import NamedTuple

from recjudge_tui.domain.calls import Message, estimate_image_tokens, estimate_tokens
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import CaseViews, Material, UserView
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.roles import RaterKind, is_language_model
from recjudge_tui.domain.run import Estimate
from recjudge_tui.errors import RunError
from recjudge_tui.protocols.rendering import messages, profile_messages
from recjudge_tui.runs.prices import price_of
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import judge_past

SAMPLED_CASES = 40
TOKENS_A_PROFILE = 200
WORDS_A_PROFILE = 120
LEAST_TOKENS_A_REPLY = 80
SECONDS_A_STORED_CALL = 0.002


class CallPlan(NamedTuple):
    """The calls of a plan: for each case and aspect `calls_a_case`, after one call for each profile, `at_once` of them
    together. Of all of them, the share `stored` is expected to have a stored reply."""

    aspects: tuple[str, ...]
    calls_a_case: int
    profiles: int
    tokens_a_reply: int
    at_once: int
    stored: float = 0.0


class Sample:
    """The sizes of a plan's cases in characters, with a few cases kept whole: the first ones and the largest. `images` are
    those shown in all cases, `image_tokens` their tokens (low, high), `most_image_tokens` those of one case."""

    def __init__(self, *, has_images: bool = True) -> None:
        self._has_images = has_images
        self.cases = 0
        self.characters = 0
        self.kept: list[tuple[int, CaseViews]] = []
        self.images = 0
        self.image_tokens = (0, 0)
        self.most_image_tokens = 0
        self._largest = 0
        self._user: tuple[UserView | None, int] = (None, 0)

    def add(self, views: CaseViews) -> None:
        # neighbouring cases share the user
        if self._user[0] is not (user := views.user):
            events = (*user.history, *user.clicks, *user.others)
            self._user = user, sum(event.item.characters for event in events if event.item)
        items = [item for slate in views.slates for item in slate.items]
        texts = (views.explanation, views.example)
        size = self._user[1] + sum([item.characters for item in items])
        size += sum([len(text.text) for text in texts if text])
        items += [views.explanation.item] if views.explanation else []
        if self._has_images and (images := [item.image for item in items if item.image is not None]):
            counts = [estimate_image_tokens(image) for image in images]
            low, high = sum(count[0] for count in counts), sum(count[1] for count in counts)
            self.images += len(counts)
            self.image_tokens = (self.image_tokens[0] + low, self.image_tokens[1] + high)
            self.most_image_tokens = max(self.most_image_tokens, high)
        self.cases += 1
        self.characters += size
        if len(self.kept) < SAMPLED_CASES:
            self.kept.append((size, views))
        elif size > self._largest:
            self.kept[-1] = (size, views)
        self._largest = max(self._largest, size)

    def materials(self) -> list[Material]:
        """The cases that are kept."""
        return [Material(**views._asdict()) for _, views in self.kept]


def estimate(
    db: Database,
    judge: JudgeSpec,
    kind: RaterKind,
    prompt: Prompt,
    sample: Sample,
    planned: CallPlan,
) -> Estimate:
    """Estimate tokens from the rendered prompts of a sample, scaled by size, and from the images of all cases; cost from
    the price; time, and what the server reuses of prompts, from the judge's last run: unknown without one. Only the low
    cost counts on reuse; for the high one, all prompts are stored in the server's cache if that costs more. A judge that
    is not a language model takes no tokens and costs nothing. Calls with a stored reply take and cost nothing."""
    questions = sample.cases * planned.calls_a_case * len(planned.aspects)
    calls = questions + planned.profiles
    past, stored = judge_past(db, judge), round(calls * planned.stored)
    asked = calls - stored
    seconds = 0.0 if not asked else None if past.seconds_a_call is None else past.seconds_a_call * asked
    if not is_language_model(kind):
        return Estimate(
            calls=calls, cases=sample.cases, tokens_in_low=0, tokens_in_high=0, tokens_out=0,
            longest_prompt_tokens=0, cost_usd_low=0.0, cost_usd_high=0.0,
            seconds=seconds, price_note="no language model", stored=stored,
        )  # fmt: skip
    materials = sample.materials()
    cases = []
    for material in materials:
        if planned.profiles:  # filler words for a profile that is not written yet
            user = material.user.model_copy(update={"profile": "likes " * WORDS_A_PROFILE})
            material = material.model_copy(update={"user": user})
        about = [_of_call(messages(prompt, material, aspect)) for aspect in planned.aspects]
        cases.append(
            _Tokens(sum(c.low for c in about), sum(c.high for c in about), max(c.high for c in about))
        )
    low = round(_of_all(sample, [case.low for case in cases]) * planned.calls_a_case)
    high = round(_of_all(sample, [case.high for case in cases]) * planned.calls_a_case)
    shown = planned.calls_a_case * len(planned.aspects)
    low += sample.image_tokens[0] * shown
    high += sample.image_tokens[1] * shown
    known = [call for call in past.calls if call.tokens_cached is not None]
    read = sum(call.tokens_in for call in known)
    reused = round(low * sum(call.tokens_cached or 0 for call in known) / read) if read else None
    if planned.profiles:
        written = [_of_call(profile_messages(prompt, material)) for material in materials]
        low += round(fmean(call.low for call in written) * planned.profiles)
        high += round(fmean(call.high for call in written) * planned.profiles)
        cases += written
    a_reply, aspects = planned.tokens_a_reply, len(planned.aspects)
    # a reply about one of several aspects is shorter in proportion, but never without its reasoning
    a_reply = a_reply if aspects == 1 else max(a_reply // aspects, LEAST_TOKENS_A_REPLY)
    tokens_out = questions * a_reply + planned.profiles * TOKENS_A_PROFILE
    longest = max(tokens.longest for tokens in cases) + sample.most_image_tokens
    part = asked / calls if calls else 0.0
    low, high, tokens_out = (round(n * part) for n in (low, high, tokens_out))
    reused = None if reused is None else round(reused * part)
    if past.calls and asked:
        each = seconds_of(past.calls, (low - (reused or 0)) / asked) / planned.at_once
        seconds = asked * each
    price = price_of(judge)
    return Estimate(
        calls=calls,
        cases=sample.cases,
        stored=stored,
        tokens_in_low=low,
        tokens_in_high=high,
        tokens_out=tokens_out,
        longest_prompt_tokens=longest,
        images=sample.images * shown,
        tokens_reused=reused,
        cost_usd_low=price.of_calls(asked, low, tokens_out, reused or 0) if price else None,
        cost_usd_high=price.of_calls(asked, high, tokens_out * 2, most=True) if price else None,
        seconds=seconds + stored * SECONDS_A_STORED_CALL if seconds is not None else None,
        price_note=price.source if price else "price unknown: add it to prices.toml",
    )


def seconds_of(past: Sequence[StoredRow], fresh: float) -> float:
    """The seconds of a call that reads `fresh` tokens and writes as many as the past ones did: reading and writing speed
    by least squares over the past calls."""
    rows = [(call.tokens_in - (call.tokens_cached or 0), call.tokens_out, call.latency_s) for call in past]
    xx, yy, xy = (fsum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (1, 1), (0, 1)))
    xt, yt = (fsum(r[i] * r[2] for r in rows) for i in (0, 1))
    fits = [(0.0, yt / yy), *([(xt / xx, 0.0)] if xx else [])]
    # calls of one size do not tell the two speeds apart
    if (determinant := xx * yy - xy * xy) > 1e-6 * xx * yy:
        both = (xt * yy - yt * xy) / determinant, (yt * xx - xt * xy) / determinant
        fits = [both] if min(both) >= 0 else fits
    read, write = min(fits, key=lambda fit: fsum((fit[0] * x + fit[1] * y - t) ** 2 for x, y, t in rows))
    return read * max(fresh, 0.0) + write * fmean(row[1] for row in rows)


def refuse_too_long(
    prompt: Prompt, materials: Sequence[Material], aspects: Sequence[str], reply: int, context: int
) -> None:
    """Raise RunError if the longest of these prompts and a usual reply do not fit into the judge's context, with the
    number of events that does. Prompts are counted by their low estimate: what may fit is not refused."""

    def longest(history: int) -> int:
        shown = (
            m.model_copy(update={"user": m.user.model_copy(update={"history": m.user.history[:history]})})
            for m in materials
        )
        return max(_of_call(messages(prompt, m, aspect)).low for m in shown for aspect in aspects)

    most = max(len(material.user.history) for material in materials)
    if (tokens := longest(most)) + reply <= context:
        return
    fits = bisect(range(most), context - reply, key=longest) - 1
    raise RunError(
        "the prompts are too long for this judge",
        f"The longest has about {tokens:,} tokens and a reply {reply:,}; the context has {context:,}.",
        f"Show fewer events of each user: --history {fits} fits."
        if fits >= 0
        else "Not even prompts without a history fit: choose a longer context, or show fewer items (--top).",
    )


class _Tokens(NamedTuple):
    """Tokens of prompts: lower and upper bound of the sum, and the upper bound of the longest prompt."""

    low: int
    high: int
    longest: int


def _of_all(sample: Sample, tokens: Sequence[int]) -> float:
    """The tokens of all cases, by least squares over the kept ones: tokens = a + b * characters, with b >= 0. If all kept
    cases have the same size, it is the mean times the number of cases."""
    sizes = [size for size, _ in sample.kept]
    size, mean = fmean(sizes), fmean(tokens)
    spread = fsum((s - size) ** 2 for s in sizes)
    together = fsum((s - size) * (t - mean) for s, t in zip(sizes, tokens, strict=True))
    for_a_character = max(together / spread, 0.0) if spread else 0.0
    return sample.cases * mean + for_a_character * (sample.characters - sample.cases * size)


def _of_call(sent: Iterable[Message]) -> _Tokens:
    """The tokens of the texts. Images are counted exactly, over all cases."""
    low, high = (sum(part) for part in zip(*(estimate_tokens(m.content) for m in sent), strict=True))
    return _Tokens(low, high, high)
