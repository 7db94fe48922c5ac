"""What a run takes: calls, tokens, time, and its cost, by the user's prices.toml, else the list prices of genai-prices."""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from math import fsum
from pathlib import Path
from statistics import StatisticsError, fmean, linear_regression
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from recjudge_tui.config_file import lines_of_keys, toml_fault
from recjudge_tui.domain.calls import Message, Usage, estimate_image_tokens, estimate_tokens
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import CaseViews, Material, UserView
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.roles import RaterKind, is_language_model
from recjudge_tui.domain.run import Estimate
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.files import parse_toml, small_file
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.protocols.rendering import messages, profile_messages
from recjudge_tui.settings import config_dir
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.runs import judge_past

MILLION = 1_000_000
BATCH_DISCOUNT = 0.5
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1", "0.0.0.0")
_AMOUNTS = {"input", "output", "cached_input", "cache_write", "batch_discount"}
_MOST_DOLLARS = 1_000_000_000
_DATE = re.compile(r"[-@](?:20\d\d-\d\d-\d\d|20\d{6}|latest)$")
# `us.` keeps the calls in a region, `global.` does not; `-v1:0` is the version of the interface
_CLAUDE_ON_BEDROCK = re.compile(
    r"(?:.*/)?(?:[a-z]{2,6}(?:-gov)?\.)?anthropic\.(?P<model>.+?)(?:-v\d+(?::\w+)*)?"
)
_PROVIDERS = {"bedrock": "aws"}


@dataclass(frozen=True)
class Price:
    """What a call costs. `amounts` are US dollars per million tokens by kind: `input`, `output`, and where they differ
    `cached_input` (read from the vendor's cache) and `cache_write` (stored in it); None: the list price of `model`
    (provider, name), which may be higher for a long prompt. A call in a hosted batch costs the share `batch_discount` of
    it; `factor` is 1 or this share."""

    source: str
    amounts: dict[str, float] | None = None
    model: tuple[str, str] = ("", "")
    batch_discount: float = BATCH_DISCOUNT
    factor: float = 1.0

    def cost(self, tokens_in: float, tokens_out: float, cached: float = 0, written: float = 0) -> float:
        """Dollars for one call; of the `tokens_in`, the server's cache gave `cached`, and `written` were stored in it."""
        cached = min(cached, tokens_in)
        written = min(written, tokens_in - cached)
        if (amounts := self.amounts) is None:
            counts: dict[str, Any] = {
                "input": tokens_in,
                "output": tokens_out,
                "cache_read": cached,
                "cache_write": written,
            }
            return float(_by_list(*self.model, **counts).total_price) * self.factor
        dollars = (tokens_in - cached - written) * amounts["input"] + tokens_out * amounts["output"]
        dollars += cached * amounts.get("cached_input", amounts["input"])
        dollars += written * amounts.get("cache_write", amounts["input"])
        return dollars / MILLION * self.factor

    def most(self, tokens_in: float, tokens_out: float) -> float:
        """The most that a call of so many tokens can cost: all of them stored in the cache, where that costs more."""
        return max(self.cost(tokens_in, tokens_out), self.cost(tokens_in, tokens_out, written=tokens_in))

    def of_calls(
        self, calls: int, tokens_in: int, tokens_out: int, cached: int = 0, *, most: bool = False
    ) -> float:
        """Dollars for calls of the same size with so many tokens together, or the most that they can cost."""
        each = [n / max(calls, 1) for n in (tokens_in, tokens_out, cached)]
        return calls * (self.most(*each[:2]) if most else self.cost(*each))


def price_of(judge: JudgeSpec, kind: RaterKind = "judge") -> Price | None:
    """The judge's price; 0 for a server on this machine and for a judge of another `kind` than a language model; None when
    unknown, never a guess. The user's own table comes first. If it does not have the exact name, the price of the model
    without its date is used, and Claude on Amazon Bedrock has the price of `anthropic:MODEL`. List prices are those of the
    server that is asked: of the provider's own, or of another one that the list knows by its address."""
    if not is_language_model(kind):
        return NO_MODEL
    path = config_dir() / "prices.toml"
    table = _read(path, path.stat().st_mtime_ns) if path.exists() else {}
    provider, _, model = judge.spec.partition(":")
    plain = _DATE.sub("", model)
    claude = _CLAUDE_ON_BEDROCK.fullmatch(model) if provider == "bedrock" else None
    names = [judge.spec, f"{provider}:{plain}"]
    names += [f"anthropic:{_DATE.sub('', claude['model'])}"] if claude else []
    for name in names:
        if (own := table.get(name)) is not None:
            return own if name == judge.spec else replace(own, source=f"{own.source}, as {name}")
    if provider in ("replay", "gguf") or (provider == "ollama" and not judge.base_urls):
        return LOCAL
    if judge.base_urls and all(urlsplit(url).hostname in _LOCAL_HOSTS for url in judge.base_urls):
        return LOCAL
    urls = judge.base_urls or tuple(filter(None, (os.environ.get(f"{provider.upper()}_BASE_URL"),)))
    listed = {_listed(_PROVIDERS.get(provider, provider), model, url) for url in urls or ("",)}
    if listed == {None} and claude and not urls:
        listed = {_listed("anthropic", claude["model"], "")}
    found = listed.pop() if len(listed) == 1 else None
    return (
        None if found is None else Price(f"list price, genai-prices {version('genai-prices')}", model=found)
    )


LOCAL, NO_MODEL = (Price(source, {"input": 0.0, "output": 0.0}) for source in ("local", "no language model"))


@lru_cache(maxsize=64)
def _listed(provider: str, model: str, url: str) -> tuple[str, str] | None:
    """The (provider, model) under which the list has it; None if it has not. Nothing is fetched from the net."""
    try:
        found = _by_list(provider, model, url, input=1, output=1)
    except LookupError:
        return None
    return found.provider.id, model


def _by_list(provider: str, model: str, url: str = "", **tokens: float) -> Any:
    """The list's calculation for so many tokens by kind, by the provider or the address. Raises LookupError."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    where: dict[str, Any] = {"provider_api_url": url} if url else {"provider_id": provider}
    return calc_price(Tokens(**{f"{kind}_tokens": round(n) for kind, n in tokens.items()}), model, **where)


def unknown_price(judge: JudgeSpec) -> RunError:
    """The error of a run with a budget whose judge has no known price, with the line to write."""
    return RunError(
        "a budget needs the price of the judge",
        f"The price of “{judge.spec}” is unknown.",
        f"Write this line into {config_dir() / 'prices.toml'}, with its dollars per million tokens:"
        f' "{judge.spec}" = {{ input = 0.50, output = 1.50 }}',
    )


def require_price(judge: JudgeSpec) -> None:
    """Raises RunError for a language model whose price is not known, because a budget cannot be enforced for it."""
    if price_of(judge, make_judge(judge).rater_kind) is None:
        raise unknown_price(judge)


def cost_at(price: Price | None, usage: Usage) -> float | None:
    """The cost of a call: at this price, or as the server reports it if that is more or all that is known; else None."""
    if price is None:
        return usage.cost_usd
    if price.amounts and not price.amounts["input"] and not price.amounts["output"]:
        return usage.cost_usd or 0.0
    # no prompt is empty: a server that reports zero tokens has not counted them
    if not usage.input or usage.output is None:
        return None
    by_table = price.cost(usage.input, usage.output, usage.cached_input or 0, usage.cache_written or 0)
    return max(by_table, usage.cost_usd or 0.0)


@lru_cache(maxsize=4)
def _read(path: Path, _changed: int) -> dict[str, Price]:
    """`["openai:gpt-4o"]` tables with `input`, `output` and, if they differ, the other amounts of a Price."""
    try:
        text = small_file(path).decode("utf-8")
        content = parse_toml(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", f"{error.strerror}.") from error
    except RecursionError as error:
        raise _not_a_table(path, None, "its tables are nested too deeply") from error
    except ValueError as error:
        raise _not_a_table(path, *toml_fault(error)) from error
    lines = lines_of_keys(text)
    prices: dict[str, Price] = {}
    for name, row in content.items():
        if not isinstance(row, dict):
            raise _not_a_table(path, lines.get((name,)), f"“{name}” is not a table")
        for field in ("input", "output"):
            if field not in row:
                raise _not_a_table(path, lines.get((name,)), f"[{name}] has no “{field}”")
        for field in sorted(row.keys() & _AMOUNTS):
            value = row[field]
            if type(value) not in (int, float) or not 0 <= value <= _MOST_DOLLARS:
                fault = f"{one_line(repr(value), 40)} is not a price; it must be 0 or more, at most {_MOST_DOLLARS:,}"
                raise _not_a_table(path, lines.get((name, field)), f"“{field}” of [{name}]: {fault}")
        amounts = {field: float(row[field]) for field in _AMOUNTS & row.keys()}
        discount = amounts.pop("batch_discount", BATCH_DISCOUNT)
        prices[name] = Price(str(path), amounts, batch_discount=discount)
    return prices


def _not_a_table(path: Path, line: int | None, fault: str) -> UsageError:
    return UsageError(
        f"{path}{'' if line is None else f':{line}'} cannot be read as a table of prices",
        f"{fault[:1].upper()}{fault[1:]}.",
        'Write ["openai:MODEL"] with input = and output = in dollars per million tokens.',
    )


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
    past, price, stored = judge_past(db, judge), price_of(judge, kind), round(calls * planned.stored)
    asked = calls - stored
    seconds = 0.0 if not asked else None if past.seconds_a_call is None else past.seconds_a_call * asked
    if price == NO_MODEL:
        return Estimate(
            calls=calls, cases=sample.cases, tokens_in_low=0, tokens_in_high=0, tokens_out=0,
            longest_prompt_tokens=0, cost_usd_low=0.0, cost_usd_high=0.0,
            seconds=seconds, price_note=price.source, stored=stored,
        )  # fmt: skip
    materials = sample.materials()
    cases = []
    for material in materials:
        if planned.profiles:  # filler words for a profile that is not written yet
            user = material.user.model_copy(update={"profile": "likes " * WORDS_A_PROFILE})
            material = material.model_copy(update={"user": user})
        cases.append([_of_call(messages(prompt, material, aspect)) for aspect in planned.aspects])
    low, high = (
        round(_of_all(sample, [sum(call[bound] for call in case) for case in cases]) * planned.calls_a_case)
        for bound in (0, 1)
    )
    shown = planned.calls_a_case * len(planned.aspects)
    low += sample.image_tokens[0] * shown
    high += sample.image_tokens[1] * shown
    known = [call for call in past.calls if call.tokens_cached is not None]
    read = sum(call.tokens_in for call in known)
    reused = round(low * sum(call.tokens_cached or 0 for call in known) / read) if read else None
    if planned.profiles:
        written = [_of_call(profile_messages(prompt, material)) for material in materials]
        low += round(fmean(fewest for fewest, _ in written) * planned.profiles)
        high += round(fmean(most for _, most in written) * planned.profiles)
        cases.append(written)
    a_reply, aspects = planned.tokens_a_reply, len(planned.aspects)
    # a reply about one of several aspects is shorter in proportion, but never without its reasoning
    a_reply = a_reply if aspects == 1 else max(a_reply // aspects, LEAST_TOKENS_A_REPLY)
    tokens_out = questions * a_reply + planned.profiles * TOKENS_A_PROFILE
    longest = max(most for case in cases for _, most in case) + sample.most_image_tokens
    part = asked / calls if calls else 0.0
    low, high, tokens_out = (round(n * part) for n in (low, high, tokens_out))
    reused = None if reused is None else round(reused * part)
    if past.calls and asked:
        each = seconds_of(past.calls, (low - (reused or 0)) / asked) / planned.at_once
        seconds = asked * each
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
        return max(_of_call(messages(prompt, m, aspect))[0] for m in shown for aspect in aspects)

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


def _of_all(sample: Sample, tokens: Sequence[int]) -> float:
    """The tokens of all cases, by least squares over the kept ones: tokens = a + b * characters, with b >= 0. If all kept
    cases have the same size, it is the mean times the number of cases."""
    sizes, for_a_character = [size for size, _ in sample.kept], 0.0
    with suppress(StatisticsError):
        for_a_character = max(linear_regression(sizes, tokens).slope, 0.0)
    return sample.cases * fmean(tokens) + for_a_character * (sample.characters - sample.cases * fmean(sizes))


def _of_call(sent: Iterable[Message]) -> tuple[int, int]:
    """Lower and upper bound of the tokens of the texts. Images are counted exactly, over all cases."""
    low, high = (sum(part) for part in zip(*(estimate_tokens(m.content) for m in sent), strict=True))
    return low, high
