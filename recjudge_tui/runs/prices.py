"""Prices of judges: the user's prices.toml first, the list prices of the package genai-prices second."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recjudge_tui.config_file import lines_of_keys, toml_fault
from recjudge_tui.domain.calls import Usage
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RunError, UsageError
from recjudge_tui.files import small_file
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.settings import config_dir

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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

    @property
    def is_free(self) -> bool:
        return self.amounts is not None and not self.amounts["input"] and not self.amounts["output"]

    def cost(self, tokens_in: float, tokens_out: float, cached: float = 0, written: float = 0) -> float:
        """Dollars for one call; of the `tokens_in`, the server's cache gave `cached`, and `written` were stored in it."""
        cached = min(cached, tokens_in)
        written = min(written, tokens_in - cached)
        if (amounts := self.amounts) is None:
            from genai_prices import Usage as Tokens
            from genai_prices import calc_price

            tokens = Tokens(
                input_tokens=round(tokens_in),
                output_tokens=round(tokens_out),
                cache_read_tokens=round(cached),
                cache_write_tokens=round(written),
            )
            return (
                float(calc_price(tokens, self.model[1], provider_id=self.model[0]).total_price) * self.factor
            )
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

    def in_batch(self) -> Price:
        """The price of the same tokens in a hosted batch."""
        return replace(self, factor=self.batch_discount)


def price_of(judge: JudgeSpec) -> Price | None:
    """The judge's price; 0 for a server on this machine; None when unknown, never a guess. The user's own table comes
    first. If it does not have the exact name, the price of the model without its date is used, and Claude on Amazon
    Bedrock has the price of `anthropic:MODEL`. List prices are those of the server that is asked: of the provider's own,
    or of another one that the list knows by its address."""
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


LOCAL = Price("local", {"input": 0.0, "output": 0.0})


@lru_cache(maxsize=64)
def _listed(provider: str, model: str, url: str) -> tuple[str, str] | None:
    """The (provider, model) under which the list has it; None if it has not. Nothing is fetched from the net."""
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    where: dict[str, Any] = {"provider_api_url": url} if url else {"provider_id": provider}
    try:
        found = calc_price(Tokens(input_tokens=1, output_tokens=1), model, **where)
    except LookupError:
        return None
    return found.provider.id, model


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
    if is_language_model(make_judge(judge).rater_kind) and price_of(judge) is None:
        raise unknown_price(judge)


def cost_at(price: Price | None, usage: Usage) -> float | None:
    """The cost of a call: at this price, or as the server reports it if that is more or the price is not known. None when
    unknown."""
    if price is None:
        return usage.cost_usd
    if price.is_free:
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
        content = tomllib.loads(text)
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
            if (
                not isinstance(value, int | float)
                or isinstance(value, bool)
                or not 0 <= value <= _MOST_DOLLARS
            ):
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
