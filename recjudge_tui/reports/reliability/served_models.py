"""The differences between two runs: the served models, the prompt texts, and cached replies."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.store.database import Database
from recjudge_tui.store.runs.judges import ServedModel, prompt_match

_DIGEST = 12


class ServedSide(NamedTuple):
    """One side for a person, and the models behind its runs."""

    name: str
    runs: list[ServedModel]


def served_notes(db: Database, later: ServedSide, earlier: ServedSide) -> list[str]:
    """Which models answered both sides and whether they changed; whether both got the same prompts, and made new
    calls."""
    new, old = later.runs, earlier.runs
    notes = [f"{side.name} was answered by {_list(side.runs)}" for side in (later, earlier)]
    changed = served_changed(new, old)
    if changed is None:
        notes.append("it is unknown whether the served model changed")
    else:
        notes.append(
            "the served model CHANGED"
            if changed
            else "the served model is the same, as far as the server reports"
        )
    prompts = [sorted({run.prompt for run in runs}) for runs in (new, old)]
    if new and old and prompts[0] != prompts[1]:
        notes.append(f"the prompt differs: {', '.join(prompts[0])}, before {', '.join(prompts[1])}")
    words = prompt_match(db, new, old)
    if words.changed:
        notes.append(
            f"{words.changed:,} of {words.calls:,} shared calls had a different prompt text, so the set was not frozen"
        )
    cached, calls = sum(run.cached for run in new), sum(run.calls for run in new)
    if cached:
        notes.append(
            f"{cached:,} of {calls:,} calls of {later.name} came from the cache, not from a model; run it with --no-cache"
        )
    return notes


def served_settings(later: ServedSide, earlier: ServedSide) -> dict[str, object]:
    """The same for scripts: `served`, `served_before` (a list of runs) and `served_changed` (None: unknown)."""
    new, old = later.runs, earlier.runs
    return {
        "served": [_as_json(run) for run in new],
        "served_before": [_as_json(run) for run in old],
        "served_changed": served_changed(new, old),
    }


def served_changed(new: list[ServedModel], old: list[ServedModel]) -> bool | None:
    """Whether another model (name, digest or name in replies) answered; None if one side does not report it."""
    sides = [{(run.name, run.digest, run.models) for run in runs} for runs in (new, old)]
    if not all(any(name or models for name, _, models in side) for side in sides):
        return None
    return sides[0] != sides[1]


def _as_json(run: ServedModel) -> dict[str, object]:
    return run._asdict() | {"models": list(run.models)}


def _list(runs: list[ServedModel]) -> str:
    if not runs:
        return "no run of its own"
    return "; ".join(_model_text(run) for run in runs)


def _model_text(run: ServedModel) -> str:
    digest = f"@{run.digest[:_DIGEST]}" if run.digest else ""
    named = f"{run.name}{digest}" if run.name else f"{run.judge} (the server did not say which model)"
    others = [model for model in run.models if model != run.name]
    others_named = f", replies from {', '.join(others)}" if others else ""
    return f"{named}{others_named} (run {run.run_id}, {run.created_at[:10]}, {run.prompt})"
