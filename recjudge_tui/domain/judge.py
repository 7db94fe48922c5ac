"""The judge that the user named, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import SerializerFunctionWrapHandler, field_validator, model_serializer

from recjudge_tui.domain.address import ADDRESS_OPTIONS, check_headers, check_key_variable, value_of, words_of
from recjudge_tui.domain.base import Model


class JudgeAddress(Model):
    """Where a judge answers, as `domain.address` declares it. `api_key_env` is the NAME of a variable, never the key;
    `header_env`: (header, variable) of each further header, also a mapping."""

    base_urls: tuple[str, ...] = ()
    api_key_env: str = ""
    header_env: tuple[tuple[str, str], ...] = ()

    @field_validator("header_env", mode="before")
    @classmethod
    def _pairs(cls, value: object) -> object:
        return tuple(value.items()) if isinstance(value, Mapping) else value

    @classmethod
    def of_words(cls, words: Mapping[str, Sequence[str]]) -> JudgeAddress:
        """The address from the words of each option, by its name. Raises AddressError for words that do not fit it."""
        return cls(**{name: value_of(ADDRESS_OPTIONS[name], given) for name, given in words.items()})

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The words of each option, as on the command line."""
        return {name: words_of(option, getattr(self, name)) for name, option in ADDRESS_OPTIONS.items()}

    @property
    def where(self) -> str:
        """`http://HOST/v1, key from NAME, header X-A from VAR`: what differs from the provider's own; else empty."""
        key = (f"key from {self.api_key_env}",) if self.api_key_env else ()
        headers = (f"header {name} from {variable}" for name, variable in self.header_env)
        return ", ".join((*self.base_urls, *key, *headers))

    def check(self) -> None:
        """Raises AddressError for what cannot be sent, and for a secret in place of the name of its variable."""
        check_key_variable(self.api_key_env)
        check_headers(self.header_env)

    def judge_named(self, spec: str) -> JudgeSpec:
        """The judge of this name at this address."""
        return JudgeSpec(spec=spec, **{name: getattr(self, name) for name in ADDRESS_OPTIONS})


class JudgeSpec(JudgeAddress):
    """A judge as the user named it: `rules`, `random`, `replay:FILE`, `ollama:MODEL`, `openai:MODEL`, ..."""

    spec: str

    @model_serializer(mode="wrap")
    def _stored(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The name first, and no empty headers, so that equal judges are stored in the same way as by earlier versions."""
        whole: dict[str, Any] = write(self)
        ordered = {"spec": whole.pop("spec"), **whole}
        return ordered if self.header_env else {k: v for k, v in ordered.items() if k != "header_env"}

    @property
    def headers(self) -> tuple[str, ...]:
        """`NAME=VARIABLE` of each further header."""
        return self.words["header_env"]

    @property
    def provider(self) -> str:
        return self.spec.partition(":")[0]

    @property
    def target(self) -> str:
        """The part after the first colon: the model, or the file of `replay`."""
        return self.spec.partition(":")[2]

    @property
    def rater(self) -> str:
        """The name of its rater: the model without its provider, folder and ending; `replay:FILE` without the last two."""
        name = self.target.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if self.provider == "replay":
            return f"replay:{name.rpartition('.')[0] or name}"
        return self.spec if self.provider in ("rules", "random") or not name else name.removesuffix(".gguf")


class Identity(Model):
    """The served model, its digest if the server reports one, and its known properties. `name` and `digest` (else the
    base URLs) identify the model in the cache key, with the `headers` (NAME=VARIABLE) that are sent. None: unknown."""

    name: str
    digest: str = ""
    endpoints: tuple[str, ...] = ()
    context_length: int | None = None
    structured: bool | None = None
    details: dict[str, Any] = {}
    headers: tuple[str, ...] = ()

    def cache_key(self) -> str:
        """The key that a reusable stored reply must have: the model, and the headers, because a gateway may choose
        another model by them."""
        sent = "".join(f";{header}" for header in sorted(self.headers))
        return f"{self.name}@{self.digest or ','.join(sorted(self.endpoints))}{sent}"


class Capabilities(Model):
    """What a probe found out about a judge. None: unknown. `endpoints`, `digest`: which servers and model; empty: any.
    `refused`: parameters, as in `Reply.dropped`. `images`: the model read a word in one. `latency_s`: the median of small
    calls; `concurrency`: the parallel calls that suit. `problems`: errors during the probe."""

    language_model: bool = True
    reachable: bool = True
    model: str = ""
    digest: str = ""
    endpoints: tuple[str, ...] = ()
    schema_enforced: bool | None = None
    temperature: bool | None = None
    seed: bool | None = None
    logprobs: bool | None = None
    images: bool | None = None
    refused: tuple[str, ...] = ()
    context_length: int | None = None
    latency_s: float | None = None
    concurrency: int = 1
    problems: tuple[str, ...] = ()

    def hold_for(self, endpoints: tuple[str, ...], digest: str = "") -> bool:
        """Whether these servers and this model were probed."""
        same_servers = not self.endpoints or set(self.endpoints) == set(endpoints)
        return same_servers and digest in ("", self.digest or digest)


class Workload(Model):
    """What a run is about to ask, given to the judge before the first call. `longest_prompt_tokens` (a high estimate) and
    `max_tokens` must fit into the server's context. `images`: a judge known not to see raises JudgeError. `known`: refused
    parameters are not sent, logprobs requested only where they work."""

    calls: int
    longest_prompt_tokens: int
    max_tokens: int
    images: bool = False
    concurrency: int
    timeout_s: float
    known: Capabilities | None = None


class Recipe(Model):
    """How a rater is made: by `rule` from `raters`, of whom `quorum` are needed; from a `metric`; by asking a `judge`."""

    rule: str = ""
    raters: tuple[str, ...] = ()
    quorum: int | None = None
    protocol: str = ""
    metric: str = ""
    k: int | None = None
    tokens: str = ""
    judge: str = ""


class KnownJudge(NamedTuple):
    """A judge to choose; `source` says where it comes from. A spec that ends in a colon still needs a model."""

    spec: str
    source: str
    address: JudgeAddress = JudgeAddress()

    @property
    def key(self) -> str:
        """What tells it from a judge of the same name elsewhere."""
        return "\n".join((self.spec, *self.address.base_urls))

    @property
    def is_whole(self) -> bool:
        return bool(self.spec) and not self.spec.endswith(":")


class LocalJudges(NamedTuple):
    """The judges found on this machine: the models of its servers, then the vendors whose keys are set. `places`:
    base URLs (none: the provider's default server) -> `Ollama localhost:11434 ✓ 2 models`, without the sign."""

    judges: tuple[KnownJudge, ...]
    places: dict[tuple[str, ...], str]
