"""Which models and prompts answered the runs of two sides, and whether they changed: said from what the replies and the
servers named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.table import Note
from recjudge_tui.stats.estimate import join_notes
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import ServedModel, prompt_match

Runs = Sequence[ServedModel]
_LONGEST = 60


def model_changed(new: Runs, old: Runs) -> bool | None:
    """Whether another model (its name, digest or name in replies, else the judge) gave the replies; None where one side has
    no replies, or it is unknown."""
    sides = [[run for run in runs if run.replies] for runs in (new, old)]
    if not all(sides):
        return None
    if all(run.name or run.models for side in sides for run in side):
        now, before = ({(run.name, run.digest, run.models) for run in side} for side in sides)
        return now != before
    now_judges, before_judges = ({run.judge for run in side} for side in sides)
    return True if now_judges != before_judges else None


def change_words(new: Runs, old: Runs) -> tuple[str, str]:
    """What changed, empty if nothing did; and only the new model or prompt."""
    said, now = [], []
    models = [{model_text(run) for run in runs} for runs in (new, old)]
    prompts = [{run.prompt for run in runs} for runs in (new, old)]
    for what, changed, sides in (
        ("served model", model_changed(new, old) is True, models),
        ("prompt", prompts[0] != prompts[1], prompts),
    ):
        if changed and new and old:
            later, earlier = (" and ".join(sorted(side)) for side in sides)
            said.append(f"{what} changed: {later}, before {earlier}")
            now.append(later)
    return join_notes(*said), ", ".join(now)


def model_text(run: ServedModel) -> str:
    digest = f"@{run.digest[:12]}" if run.digest else ""
    others = [model for model in run.models if model != run.name]
    named = f"{run.name}{digest}" if run.name else run.judge
    return one_line(f"{named} ({', '.join(others)})" if others else named, _LONGEST)


def served_notes(
    db: Database, later: tuple[str, list[ServedModel]], earlier: tuple[str, list[ServedModel]]
) -> Iterator[Note]:
    """Of the runs of both sides: what changed, which models answered, and whether both got the same texts and new calls."""
    new, old = later[1], earlier[1]
    if words := change_words(new, old)[0]:
        yield Note(words, "warning")
    if new and old and (other := model_changed(new, old)) is not True:
        same = "the served model is the same, as far as the server reports"
        yield Note("it is unknown whether the served model changed" if other is None else same)
    for name, runs in dict.fromkeys((name, tuple(runs)) for name, runs in (later, earlier) if runs):
        texts = [f"{model_text(run)} (run {run.run_id}, {run.created_at[:10]}, {run.prompt})" for run in runs]
        yield Note(f"{name} was answered by {'; '.join(texts)}")
    shared, changed = prompt_match(db, new, old)
    if changed:
        text = (
            f"{changed:,} of {shared:,} shared calls had a different prompt text, so the set was not frozen"
        )
        yield Note(text, "warning")
    if cached := sum(run.cached for run in new):
        calls = sum(run.calls for run in new)
        text = f"{cached:,} of {calls:,} calls of {later[0]} came from the cache, not from a model"
        yield Note(text, "warning")
