"""Answers to tasks written by `annotate export`. The task's name identifies the case, the rater and the order shown."""

from __future__ import annotations

from recjudge_tui.domain.protocols import OVERALL, PROTOCOLS, ProtocolFacts
from recjudge_tui.domain.records import Label
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.values import number, plain_number, shown
from recjudge_tui.importers.plain.columns import CASE, TASK
from recjudge_tui.store.people import is_task_token

# words for: the list shown first, neither, the list shown second; the last two of each are the keys of the app
_SIDES = {
    1: ("list 1", "list1", "first", "1", "a"),
    0: ("tie", "neither", "equal", "0", "t"),
    -1: ("list 2", "list2", "second", "2", "b"),
}


def answers_task(row: dict[str, str]) -> bool:
    """Whether the row answers an exported task: other tools also have a column of this name, beside a user column."""
    task = row.get(TASK, "").strip()
    names_case = any(row.get(name, "").strip() for name in ("user_id", CASE))
    return bool(task) and (is_task_token(task) or not names_case)


def task_answer(row: dict[str, str]) -> Label:
    """The answer in one row of plain columns, with `value` in the order shown. Raises RowFault."""
    name = row.get("protocol", "").strip().lower()
    if name not in PROTOCOLS:
        raise RowFault("unknown protocol", f"protocol {shown(name)} of the task is unknown; left out")
    aspect, text = row.get("aspect", "").strip() or OVERALL, row["value"].strip()
    if not text:
        raise RowFault("no value", f"no answer on {aspect} of task {shown(row[TASK])}; left out")
    facts = PROTOCOLS[name]
    value = _value(text, facts)
    return Label(
        rater=row.get("rater", ""),
        user_id="",
        task=row[TASK],
        aspect=aspect,
        value=value,
        label=facts.labels.get(value) or plain_number(value),
        protocol=name,
        note=row.get("note", ""),
    )


def _value(text: str, facts: ProtocolFacts) -> float:
    if facts.scores:
        value = number(text, "value")
        if not facts.low <= value <= facts.high:
            ends = f"{plain_number(facts.low)} to {plain_number(facts.high)}"
            raise RowFault("outside the scale", f"value {shown(text)} is outside {ends}; left out")
        return value
    word = " ".join(text.lower().split())
    if facts.of_pairs:
        side = next((side for side, words in _SIDES.items() if word in words), None)
        names = "List 1, Tie and List 2"
        answer_value = None if side is None else side * facts.high + 0.0
    else:
        # numbers are not accepted: the keys of the app and the stored values differ
        answer_value = facts.value_of_word.get(word)
        names = ", ".join(facts.labels.values())
    if answer_value is None or (word.lstrip("-").isdigit() and not facts.of_pairs):
        raise RowFault("unknown value", f"{shown(text)} is not one of {names}; left out")
    return answer_value
