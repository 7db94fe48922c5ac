"""From a judge's name to the judge. Providers are imported when first asked for."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from recjudge_tui.errors import UsageError
from recjudge_tui.judges.base import Judge
from recjudge_tui.model.judge import JudgeSpec

ENTRY_POINTS = "recjudge.judges"

# provider -> (module, function JudgeSpec -> Judge, what the user writes)
_BUILT_IN: dict[str, tuple[str, str, str]] = {
    "rules": ("recjudge_tui.judges.rules", "make", "rules"),
    "random": ("recjudge_tui.judges.random_judge", "make", "random"),
    "replay": ("recjudge_tui.judges.replay", "make", "replay:FILE"),
    "ollama": ("recjudge_tui.judges.ollama_judge", "make", "ollama:MODEL"),
    "openai": ("recjudge_tui.judges.openai_judge", "make", "openai:MODEL"),
}


def spellings() -> list[str]:
    """How each provider is written, built-in ones first, then those that other packages bring."""
    third_party = sorted(point.name for point in entry_points(group=ENTRY_POINTS))
    return [form for _, _, form in _BUILT_IN.values()] + [f"{name}:…" for name in third_party]


def make_judge(spec: JudgeSpec) -> Judge:
    """The judge that `spec` names; no call is made. Raises UsageError for an unknown provider."""
    if spec.provider in _BUILT_IN:
        module, function, form = _BUILT_IN[spec.provider]
        if ":" in form and not spec.target:
            raise UsageError(f"judge “{spec.spec}” is not complete", f"Write it as {form}.")
        return cast(Judge, getattr(import_module(module), function)(spec))
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == spec.provider:
            return cast(Judge, point.load()(spec))
    raise UsageError(f"no judge “{spec.spec}”", f"Known: {', '.join(spellings())}.")
