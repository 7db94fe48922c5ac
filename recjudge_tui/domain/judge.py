"""The judge that the user named, and what is known about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import SerializerFunctionWrapHandler, field_validator, model_serializer

from recjudge_tui.domain.address import ADDRESS_OPTIONS, check_headers, check_key_variable, value_of, words_of
from recjudge_tui.domain.base import Model


class JudgeAddress(Model):
    """Where a judge answers, as `domain.address` declares it. `api_key_env` is the NAME of an environment variable; the
    key itself is never stored. The same holds for `header_env`: (header, variable) of each further header that is sent,
    also accepted as a mapping."""

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
    """What a probe found out about a judge. None: unknown. `endpoints` and `digest` say which servers and which model
    were probed; empty: any. `refused` are the parameters that the server refused, as in `Reply.dropped`. `logprobs`: the
    server returns token probabilities. `images`: the model read a word in an image. `latency_s` is the median over the
    probe's calls, which are small, `concurrency` the number of parallel calls that suits the judge. `problems` are errors
    during the probe."""

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
    """What a run is about to ask. The judge gets it before the first call. `longest_prompt_tokens` is a high estimate
    over all prompts of the run, `max_tokens` the limit of each reply; both must fit into the context of the server.
    `images`: prompts have images, so a judge that is known not to see raises JudgeError. `known` comes from an earlier
    probe: parameters that were refused are not sent, and logprobs are requested only where they work."""

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
