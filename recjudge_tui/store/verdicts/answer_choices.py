"""The possible answers to a question: the labels or the scale of its prompt."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts.prompts import prompt_by_id


class Choices(NamedTuple):
    """The possible answers: (label, value), best first, or a number from `low` to `high`."""

    labels: tuple[tuple[str, float], ...]
    low: float = 0.0
    high: float = 0.0


def choices(db: Database, verdict_id: int) -> Choices:
    """The answers that can replace a verdict: the labels or the scale of its prompt.

    For a verdict without a run, those of the prompt of the protocol's newest run, else of the protocol's newest prompt;
    without a prompt, the labels given so far. Raises NotFoundError, or UsageError when there are none.
    """
    verdict = db.row("SELECT * FROM verdicts WHERE id = ?", (verdict_id,))
    if verdict is None:
        raise NotFoundError("this verdict no longer exists", "Its run or import was deleted in the meantime.")
    prompt_id = db.value(
        """SELECT prompt_id FROM runs WHERE id = :run OR (project_id = :project AND protocol = :protocol)
           ORDER BY id = :run DESC, id DESC LIMIT 1""",
        {"run": verdict["run_id"], "project": verdict["project_id"], "protocol": verdict["protocol"]},
    ) or db.value(
        "SELECT id FROM prompts WHERE protocol = ? ORDER BY id DESC LIMIT 1", (verdict["protocol"],)
    )
    if prompt_id is not None:
        prompt = prompt_by_id(db, prompt_id)
        if prompt.scale is not None:
            return Choices((), prompt.scale.low, prompt.scale.high)
        labels = prompt.labels_of(verdict["aspect"])
        if labels:
            return Choices(tuple((label.name, label.value) for label in labels))
    given = db.rows(
        """SELECT DISTINCT label, value FROM verdicts WHERE project_id = ? AND protocol = ? AND aspect = ?
             AND label <> '' AND state = 'ok' ORDER BY value DESC LIMIT 9""",
        (verdict["project_id"], verdict["protocol"], verdict["aspect"]),
    )
    if not given:
        raise UsageError(
            "there are no answers to choose from",
            f"No {verdict['protocol']} prompt asks for “{verdict['aspect']}”, and no label was given so far.",
            "Override the verdict of a judge or a person.",
        )
    return Choices(tuple((row["label"], row["value"]) for row in given))


def parse_choice(db: Database, verdict_id: int, wanted: str) -> tuple[str, float]:
    """The (label, value) among the choices that matches `wanted`, ignoring case.

    A prefix is enough if only one label has it. Raises NotFoundError, or UsageError naming the choices.
    """
    offered = choices(db, verdict_id)
    if not offered.labels:
        try:
            value = float(wanted)
        except ValueError:
            value = float("nan")
        if offered.low <= value <= offered.high:
            return f"{value:g}", value
        raise UsageError(f"“{wanted}” is not a number from {offered.low:g} to {offered.high:g}")
    lowered = wanted.casefold()
    exact = [pair for pair in offered.labels if pair[0].casefold() == lowered]
    begun = [pair for pair in offered.labels if lowered and pair[0].casefold().startswith(lowered)]
    for matches in (exact, begun):
        if len(matches) == 1:
            return matches[0]
    names = ", ".join(label for label, _ in offered.labels)
    raise UsageError(f"no label “{wanted}” for this verdict", f"Available: {names}.")
