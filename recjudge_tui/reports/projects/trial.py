"""The result of trying a prompt on one case, as a table."""

from __future__ import annotations

from recjudge_tui.domain.calls import Trial
from recjudge_tui.domain.roles import BUILT_IN
from recjudge_tui.reports.common.table import Column, Row, Table

_COLUMNS = (
    Column("kind", "Kind"),
    Column("aspect", "Aspect"),
    Column("label", "Label"),
    Column("value", "Value", "float"),
    Column("confidence", "Confidence", "float", minor=True),
    Column("reasoning", "Reasoning"),
)


def trial_table(trial: Trial, prompt: str) -> Table:
    """A row for each answer, then one for each flag (`aspect` is the issue, `label` the item's id); `prompt` is its
    name.

    A failed call has no rows; the reason is in the notes. The settings have the tokens, US dollars and seconds of the
    call; None if unknown.
    """
    reply, parsed = trial.reply, trial.parsed
    rows: list[Row] = []
    for answer in parsed.answers if parsed is not None else ():
        rows.append(
            {
                "kind": "answer",
                "aspect": answer.aspect,
                "label": answer.label,
                "value": answer.value,
                "confidence": answer.confidence,
                "reasoning": answer.reasoning,
            }
        )
    for flag in parsed.flags if parsed is not None else ():
        rows.append(
            {"kind": "flag", "aspect": flag.issue, "label": flag.item_id, "value": None, "confidence": None,
             "reasoning": flag.reason}
        )  # fmt: skip
    settings: dict[str, object] = {
        "prompt": prompt,
        "case_id": trial.case_id,
        "order": trial.order or None,
        "judge": trial.judge,
        "model": (reply.model or None) if reply else None,
        "attempts": trial.attempts,
        "tokens_in": reply.usage.input if reply else None,
        "tokens_out": reply.usage.output if reply else None,
        "cost_usd": trial.cost_usd,
        "seconds": reply.latency_s if reply else None,
        "parsed_by": parsed.parsed_by if parsed else None,
        "error_kind": trial.error_kind or None,
        "reply": reply.text if reply else None,
    }
    return Table(f"{prompt} on case {trial.case_id}", _COLUMNS, tuple(rows), _notes(trial), settings)


def _notes(trial: Trial) -> tuple[str, ...]:
    notes = ["a trial: nothing is stored and no verdict is counted"]
    if trial.rater_kind in BUILT_IN:
        notes.append(f"“{trial.judge}” is not a language model")
    if trial.parsed is None:
        notes.insert(0, f"no answer ({trial.error_kind}): {trial.error}")
    return tuple(notes)
