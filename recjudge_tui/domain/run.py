"""The settings, estimate and progress of a run."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from recjudge_tui.domain.address import check_sending, without_caps
from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import Sampling
from recjudge_tui.domain.occasions import OccasionFilter, occasion_filter
from recjudge_tui.domain.prompt import ProtocolName
from recjudge_tui.domain.protocols import Profile
from recjudge_tui.domain.run_options import RUN_OPTIONS, Aspects, Reasoning, Shots, Stratify, Until

RunState = Literal["planned", "running", "paused", "stopped", "done", "failed"]
Wanted = Literal["run", "pause", "stop"]


def _setting(name: str) -> Any:
    """The field of an option: its default, bounds and description."""
    option = RUN_OPTIONS[name]
    bounds: dict[str, Any] = dict(option.bounds)
    if option.type is float:
        bounds["allow_inf_nan"] = False
    return Field(default=option.default, description=option.help, **bounds)


class Reading(Model):
    """What a run reads instead of judging cases: the reasons of `rater` on one question about two systems, once more
    where `second`, or texts for another purpose. `digest` is that of all texts."""

    rater: str
    protocol: str
    aspect: str
    systems: tuple[str, ...] = ()
    second: bool = False
    digest: str = ""

    @property
    def about(self) -> tuple[str, ...]:
        """What the texts are about, whichever of them were read."""
        return self.rater, self.protocol, self.aspect, *self.systems


class RunSettings(Model):
    """The settings of one run; `run_options` declares what each is, its default and bounds. `limit` and `sample` count
    users; limits per minute are the whole run's. The scores of an example come from `examples_from` (empty: the only ground
    truth); its pair's cases are left out unless `keep_example_pair` (Zhang et al., 2024). `reading`: where a run reads
    texts."""

    protocol: ProtocolName
    as_published: bool = _setting("as_published")
    systems: tuple[str, ...] = _setting("systems")
    baseline: str = _setting("baseline")
    contexts: tuple[str, ...] = _setting("contexts")
    served_from: str = _setting("served_from")
    served_to: str = _setting("served_to")
    where: str = _setting("where")
    top_k: int = _setting("top_k")
    history: int = _setting("history")
    history_days: int = _setting("history_days")
    as_of: str = _setting("as_of")
    no_history: bool = _setting("no_history")
    limit: int | None = _setting("limit")
    sample: int | None = _setting("sample")
    stratify: Stratify = _setting("stratify")
    until: Until = _setting("until")
    margin: float | None = _setting("margin")
    seed: int = _setting("seed")
    swap: bool = _setting("swap")
    aspects: Aspects = _setting("aspects")
    reasoning: Reasoning = _setting("reasoning")
    shots: Shots = _setting("shots")
    examples_from: str = _setting("examples_from")
    keep_example_pair: bool = _setting("keep_example_pair")
    profile: Profile = _setting("profile")
    variables: dict[str, str] = _setting("variables")
    domain: str = _setting("domain")
    images: bool = _setting("images")
    concurrency: int | None = _setting("concurrency")
    timeout_s: float = _setting("timeout_s")
    max_tokens: int = _setting("max_tokens")
    sending: dict[str, Any] = _setting("sending")
    repeats: int = _setting("repeats")
    temperature: float | None = _setting("temperature")
    budget_usd: float | None = _setting("budget_usd")
    requests_per_minute: float | None = _setting("requests_per_minute")
    tokens_per_minute: float | None = _setting("tokens_per_minute")
    reading: Reading | None = None
    again: bool = _setting("again")
    use_cache: bool = _setting("use_cache")

    @model_validator(mode="before")
    @classmethod
    def _cap_among_options(cls, data: Any) -> Any:
        """`max_tokens` may also be given among the options, by any server's name for it."""
        if not isinstance(data, dict) or not isinstance(data.get("sending"), dict):
            return data
        sending, cap = without_caps(data["sending"])
        return {**data, "sending": sending, **({} if cap is None else {"max_tokens": cap})}

    @field_validator("sending")
    @classmethod
    def _sent_beside(cls, value: dict[str, Any]) -> dict[str, Any]:
        """What is sent beside the prompt, never instead of it, wherever the settings come from."""
        check_sending(value)
        return value

    @property
    def occasions(self) -> OccasionFilter:
        """The occasions to judge. Raises UsageError for an invalid time."""
        return occasion_filter(self.contexts, self.served_from, self.served_to)


def form_words(settings: RunSettings) -> dict[str, str]:
    """The variables that tell a prompt the form that the settings require."""
    words = {"published": "yes"} if settings.as_published else {}
    return words | ({"reasoning": settings.reasoning} if settings.reasoning != "first" else {})


REPEATS_TEMPERATURE = 0.7


def sampling_of(settings: RunSettings, sample: int) -> Sampling:
    """How call number `sample` of a case is sampled: repeats need a temperature and a seed of their own."""
    usual = REPEATS_TEMPERATURE if settings.repeats > 1 else 0.0
    return Sampling(
        temperature=usual if settings.temperature is None else settings.temperature,
        seed=settings.seed + sample,
        max_tokens=settings.max_tokens,
        extra=settings.sending,
    )


class Estimate(Model):
    """The estimate of a run before it starts, tokens from rendered prompts (low to high). `cost_usd` is None if the price
    is unknown, `seconds` without a run to measure by. `published`: the preset, a line each. `copies_notes`, `undated_note`:
    events left out as held-out copies, or shown without a time. `strata`: users drawn from each activity level. `stored`
    calls ask nothing and have no tokens here; `tokens_reused` of the low number need not be read again (None: unknown)."""

    calls: int
    cases: int
    tokens_in_low: int
    tokens_in_high: int
    tokens_out: int
    longest_prompt_tokens: int
    images: int = 0
    stored: int = 0
    tokens_reused: int | None = None
    cost_usd_low: float | None
    cost_usd_high: float | None
    seconds: float | None
    price_note: str = ""
    domain_note: str = ""
    undated_note: str = ""
    copies_notes: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    left_out: dict[str, int] = {}
    strata: dict[str, int] = {}


class Progress(Model):
    """The progress of a run: `done` + `failed` + outstanding = `calls`; `cached` of the done reused a stored reply.
    `unknown_usd`: the most that may have been billed beside `cost_usd`; `impossible_costs` calls are left out of it.
    `waiting_s`: the rest of a pause the server asked for. Of `tokens_counted` prompt tokens the server reused
    `tokens_reused`. `in_flight` attempts of `attempts` wait; `left_s`: about the rest (None: unknown). `unreachable`: why,
    and the next call tries in `retry_s`."""

    calls: int
    done: int
    failed: int
    cached: int
    tokens_in: int
    tokens_out: int
    tokens_reused: int = 0
    tokens_counted: int = 0
    cost_usd: float | None
    unknown_usd: float = 0.0
    impossible_costs: int = 0
    waiting_s: float = 0.0
    in_flight: int = 0
    attempts: int = 0
    left_s: float | None = None
    unreachable: str = ""
    retry_s: float = 0.0
    state: RunState = "running"

    @property
    def spent_usd(self) -> float:
        """The dollars that count against a budget."""
        return (self.cost_usd or 0.0) + self.unknown_usd

    @property
    def reused_share(self) -> float | None:
        """The share of prompt tokens that the server did not read again; None if it does not say."""
        return self.tokens_reused / self.tokens_counted if self.tokens_counted else None

    @property
    def outstanding(self) -> int:
        return self.calls - self.done - self.failed
