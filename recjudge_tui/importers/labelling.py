"""The forms in which labelling tools write an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.importers.values import refuse

# names of questions that are not aspects
_PLAIN_NAMES = frozenset(
    "answer choice choices comparison label labels overall pairwise preference rating response stars verdict winner"
    " category pw".split()
)
_ASPECT_IN_VALUE = re.compile(r"([^\W\d][\w \-/]{0,60}?)\s*[:=]\s*(\S.*)")


def answer_of(cells: Mapping[str, str], question: str, value: str) -> dict[str, str]:
    """The aspect and the value: a value `aspect: value` names its own aspect; else the task names it, else the question, of
    which a generic name such as `rating` is `overall`."""
    pair = (cells.get("system_a", ""), cells.get("system_b", ""))
    if value not in pair and (named := _ASPECT_IN_VALUE.fullmatch(value.strip())):
        return {"aspect": named[1], "value": named[2]}
    generic = OVERALL if question.lower() in _PLAIN_NAMES else question
    return {"aspect": cells["aspect"] if cells.get("aspect", "").strip() else generic, "value": value}


def choices(value: Any) -> list[str]:
    """The chosen values as text. Raises RowFault if there are none, or if they are not plain values.

    Several values are allowed only if each names its own aspect (`accuracy: 4`); else RowFault.
    """
    values = value if isinstance(value, list) else [value]
    texts = [str(part).strip() for part in values if isinstance(part, str | bool) and str(part).strip()]
    refuse(len(texts) < len(values), "not a verdict")
    refuse(not texts, "no answer")
    several = len(texts) > 1 and not all(map(_ASPECT_IN_VALUE.fullmatch, texts))
    refuse(several, "several choices", texts=", ".join(texts))
    return texts


def winner(value: Any) -> Any:
    """The first of a ranking of two, or Tie; any other value unchanged."""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(v, dict) for v in value):
        return value
    first, second = (str(v.get("rank", "")) for v in value)
    if first.isdigit() and second.isdigit():
        return "Tie" if first == second else value[int(first) > int(second)].get("value")
    return value


def text_of_choice(record: Mapping[str, Any], value: Any) -> dict[str, str]:
    """The text of the option whose id was chosen, as Prodigy has it."""
    chosen = value[0] if isinstance(value, list) and len(value) == 1 else value
    options = record.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and str(option.get("id")) == str(chosen):
            return {"choice_text": str(option.get("text", ""))}
    return {}


def by_person(record: dict[str, Any]) -> dict[str, Any]:
    """Argilla's responses by person, as version 1 writes them, from those by question of version 2, nested or flat."""
    questions = record.get("responses")
    if not isinstance(questions, dict):
        flat = [key.removesuffix(".responses") for key in record if key.endswith(".responses")]
        if not flat:
            return record
        parts = ("responses", "responses.users", "responses.status")
        columns = {name: [record.get(f"{name}.{part}") or () for part in parts] for name in flat}
        names = ("value", "user_id", "status")
        entries_of = {question: zip_longest(*cells) for question, cells in columns.items()}
        questions = {q: [dict(zip(names, e, strict=True)) for e in found] for q, found in entries_of.items()}
    people: dict[str, dict[str, Any]] = {}
    for question, entries in questions.items():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                who = {"user_id": entry.get("user_id"), "status": entry.get("status")}
                values = people.setdefault(repr(who), {**who, "values": {}})["values"]
                values[question] = {"value": entry.get("value")}
    rest = {k: value for k, value in record.items() if ".responses" not in k and ".suggestion" not in k}
    return {**rest, "responses": list(people.values())}
