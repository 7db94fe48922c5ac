"""Prices of judges, from the user's prices.toml first and the shipped table second."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
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
UNKNOWN_PRICE = (
    "--budget needs the price of the judge",
    "The price of this judge is unknown.",
    "Add the judge to prices.toml in the config folder, or leave out --budget.",
)
_SHIPPED = Path(__file__).with_name("prices.toml")
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1", "0.0.0.0")
_AMOUNTS = {"input", "output", "cached_input", "cache_write", "batch_discount", "regional"}
_MOST_DOLLARS = 1_000_000_000
_DATE = re.compile(r"[-@](?:20\d\d-\d\d-\d\d|20\d{6}|latest)$")
# `us.` keeps the calls in a region, `global.` does not; `-v1:0` is the version of the interface
_BEDROCK = re.compile(
    r"(?:.*/)?(?:(?P<area>[a-z]{2,6}(?:-gov)?)\.)?(?P<vendor>[a-z0-9]+)\.(?P<model>.+?)(?:-v\d+(?::\w+)*)?"
)


class Price(NamedTuple):
    """US dollars per million tokens. `cached_input` is for those read from the vendor's cache, `cache_write` for those
    stored in it; None: they cost as much as others.

    `batch_discount` is the share of the price that a call in a hosted batch costs, `regional` the factor for calls that
    Amazon Bedrock keeps in one region.
    """

    input: float
    output: float
    cached_input: float | None
    source: str
    batch_discount: float = BATCH_DISCOUNT
    regional: float = 1.0
    cache_write: float | None = None

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> float:
        """Dollars for one or many calls; of the `tokens_in`, `cached` came from the server's cache, and `written` were
        stored in it."""
        cached = min(cached, tokens_in)
        written = min(written, tokens_in - cached)
        fresh = tokens_in - cached - written
        dollars = fresh * self.input + tokens_out * self.output
        dollars += cached * (self.input if self.cached_input is None else self.cached_input)
        dollars += written * (self.input if self.cache_write is None else self.cache_write)
        return dollars / MILLION

    def most(self, tokens_in: int, tokens_out: int) -> float:
        """The most that a call of so many tokens can cost: all of them stored in the cache, where that costs more."""
        return max(self.cost(tokens_in, tokens_out), self.cost(tokens_in, tokens_out, written=tokens_in))

    def in_batch(self) -> Price:
        """The price of the same tokens in a hosted batch."""
        return self._times(self.batch_discount)

    def in_region(self) -> Price:
        """The price of the same tokens where Amazon Bedrock keeps the calls in one region."""
        return self._times(self.regional)

    def _times(self, factor: float) -> Price:
        cached, written = (
            None if price is None else price * factor for price in (self.cached_input, self.cache_write)
        )
        return self._replace(
            input=self.input * factor, output=self.output * factor, cached_input=cached, cache_write=written
        )


def price_of(judge: JudgeSpec) -> Price | None:
    """The judge's price; 0 for a server on this machine; None when unknown, never a guess.

    The user's own table comes first; the shipped list prices apply to the vendor's own address only. If a table does
    not have the exact name, the price of the model without its date is used, and Claude on Amazon Bedrock has
    Anthropic's price.
    """
    own = _listed(_table(config_dir() / "prices.toml"), judge.spec)
    if own is not None:
        return own
    local_by_default = judge.provider in ("replay", "gguf") or (judge.provider == "ollama" and not judge.base_urls)
    on_this_machine = judge.base_urls and all(
        urlsplit(url).hostname in _LOCAL_HOSTS for url in judge.base_urls
    )
    if local_by_default or on_this_machine:
        return Price(0.0, 0.0, None, "local")
    elsewhere = judge.base_urls or os.environ.get(f"{judge.provider.upper()}_BASE_URL")
    return None if elsewhere else _listed(_table(_SHIPPED), judge.spec, "list price of June 2026")


def _listed(table: dict[str, Price], spec: str, source: str = "") -> Price | None:
    """The price of a judge, or of its family; `source` replaces the name of the file."""
    name, regional = (spec, False) if spec in table else _family(spec)
    price = table.get(name)
    if price is None:
        return None
    named = source or price.source
    price = price._replace(source=named if name == spec else f"{named}, as {name}")
    return price.in_region() if regional else price


def _family(spec: str) -> tuple[str, bool]:
    """A judge's name without date, region and version, and whether its calls stay in one region."""
    provider, _, model = spec.partition(":")
    parts = _BEDROCK.fullmatch(model) if provider == "bedrock" else None
    if parts is None:
        return f"{provider}:{_DATE.sub('', model)}", False
    plain = _DATE.sub("", parts["model"])
    name = f"anthropic:{plain}" if parts["vendor"] == "anthropic" else f"bedrock:{parts['vendor']}.{plain}"
    return name, parts["area"] != "global"


def require_price(judge: JudgeSpec) -> None:
    """Raises RunError for a language model whose price is not known, because a budget cannot be enforced for it."""
    if is_language_model(make_judge(judge).rater_kind) and price_of(judge) is None:
        raise RunError(*UNKNOWN_PRICE)


def cost_of(judge: JudgeSpec, usage: Usage, *, batch: bool = False) -> float | None:
    """The cost of a call, live or in a batch: by the table, or as the server reports it if that is more or the price
    is not known. None when unknown.
    """
    return cost_at(price_of(judge), usage, batch=batch)


def cost_at(price: Price | None, usage: Usage, *, batch: bool = False) -> float | None:
    """`cost_of` for a price that is already known: all calls of a run have the same one.

    A server may report any cost; if the usage at our price costs more, that counts.
    """
    if price is None:
        return usage.cost_usd
    if not price.input and not price.output:
        return usage.cost_usd or 0.0
    # no prompt is empty: a server that reports zero tokens has not counted them
    if not usage.input or usage.output is None:
        return None
    price = price.in_batch() if batch else price
    by_table = price.cost(usage.input, usage.output, usage.cached_input or 0, usage.cache_written or 0)
    return max(by_table, usage.cost_usd or 0.0)


def _table(path: Path) -> dict[str, Price]:
    """The table as it is now in the file; empty when there is no file."""
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@lru_cache(maxsize=4)
def _read(path: Path, _changed: int) -> dict[str, Price]:
    """`["openai:gpt-4o"]` tables with `input`, `output` and, if they differ, the other fields of a Price."""
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
            if fault := _fault_of(row[field]):
                raise _not_a_table(path, lines.get((name, field)), f"“{field}” of [{name}]: {fault}")
        prices[name] = Price(
            float(row["input"]),
            float(row["output"]),
            float(row["cached_input"]) if "cached_input" in row else None,
            str(path),
            float(row.get("batch_discount", BATCH_DISCOUNT)),
            float(row.get("regional", 1.0)),
            float(row["cache_write"]) if "cache_write" in row else None,
        )
    return prices


def _fault_of(value: object) -> str:
    """The reason why this is not a valid price or factor; empty if it is."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_DOLLARS:
        return ""
    return f"{one_line(repr(value), 40)} is not a price; it must be 0 or more, at most {_MOST_DOLLARS:,}"


def _not_a_table(path: Path, line: int | None, fault: str) -> UsageError:
    return UsageError(
        f"{path}{'' if line is None else f':{line}'} cannot be read as a table of prices",
        f"{fault[:1].upper()}{fault[1:]}.",
        'Write ["openai:MODEL"] with input = and output = in dollars per million tokens.',
    )
