"""Judges to choose from: those found on this machine, used before, or named."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeAddress


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


BUILT_IN = (KnownJudge("rules", "built in, no model"), KnownJudge("random", "built in, a baseline"))
