"""Which judge is meant, and what it turned out to be."""

from __future__ import annotations

from typing import Any

from recjudge_tui.model.base import Model


class JudgeSpec(Model):
    """A judge as the user named it: `rules`, `random`, `replay:FILE`, `ollama:MODEL`, `openai:MODEL`, ...

    `api_key_env` is the NAME of an environment variable; the key itself is never part of a model.
    """

    spec: str
    base_urls: tuple[str, ...] = ()
    api_key_env: str = ""

    @property
    def provider(self) -> str:
        return self.spec.partition(":")[0]

    @property
    def target(self) -> str:
        """What stands behind the first colon: the model, or the file of `replay`."""
        return self.spec.partition(":")[2]


class Identity(Model):
    """What answers: the served model, its digest where the server tells, and what it is known to do.

    `name` and `digest` (else the base URLs) are the model's part of the cache key. `None` means not known.
    """

    name: str
    digest: str = ""
    endpoints: tuple[str, ...] = ()
    context_length: int | None = None
    structured: bool | None = None
    details: dict[str, Any] = {}

    def cache_key(self) -> str:
        return f"{self.name}@{self.digest or ','.join(sorted(self.endpoints))}"


class Workload(Model):
    """What a run is about to ask, told to the judge before the first call.

    `longest_prompt_tokens` is a high estimate over all prompts of the run, `max_tokens` the cap on each
    reply: a server with a context of fixed size is given one that holds both.
    """

    calls: int
    longest_prompt_tokens: int
    max_tokens: int
    concurrency: int
    timeout_s: float
