"""Parses a reply: JSON as asked, JSON within text, or the published text forms; anything else raises ReplyFault.

Labels are matched without regard to case and white space. A label comes from the top level of the one object that has
every field asked for, or from lines of the text form. A reply that contradicts itself is a fault.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any

from recjudge_tui.domain.calls import ParsedBy, Reply
from recjudge_tui.domain.prompt import AspectSpec, LabelSpec, Prompt, ScaleSpec
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies.objects import Fields, TextObject, json_objects, whole_object
from recjudge_tui.protocols.replies.prose import (
    LabelLine,
    SummaryLine,
    argues,
    contradiction,
    is_placeholder,
    label_lines,
    summary_lines,
)

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
# most servers give the thinking apart
_THINKING = re.compile(r"\A(?:<think(?:ing)?>.*?</think(?:ing)?>\s*)+", re.DOTALL)
_THINKING_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
# a field with a longer text than this is not a label
_LONGEST_LABEL = 200
_MOST_FIELDS = 200


def read_fields(prompt: Prompt, reply: Reply, wanted: tuple[AspectSpec, ...]) -> tuple[Fields, ParsedBy]:
    """The reply as a mapping: every wanted field with the reply of one of its labels.

    Raises ReplyFault; its message tells the model what is missing, wrong or said twice.
    """
    text = _THINKING.sub("", reply.text.strip())
    if not text:
        raise ReplyFault("the reply was empty")
    whole = whole_object(text)
    if whole is not None:
        return _checked(prompt, whole, wanted), "schema" if reply.structured else "json"
    labels = tuple(dict.fromkeys(label.reply for a in wanted for label in prompt.labels_of(a.name)))
    objects = json_objects(text, {*(name for aspect in wanted for name in _names(aspect)), *labels})
    given = [each for each in objects if _is_answer(prompt, each.fields, wanted)]
    prose = _prose(text, objects)
    if _THINKING_TAG.search(prose):
        raise ReplyFault(
            "it has thinking (a tag such as <think>) in the middle; the answer must come after it"
        )
    lines = prose.split("\n")
    labelled, summaries = label_lines(lines, wanted), summary_lines(lines)
    _check_agreement(prompt, wanted, given, labelled, summaries)
    _check_beside([each for each in objects if each not in given], prompt, wanted, labels)
    parsed_by: ParsedBy = "text"
    if given:
        fields, parsed_by = _checked(prompt, given[-1].fields, wanted), "json"
        first = given[0]
        before = _prose(text[: first.start], [each for each in objects if each.end <= first.start])
        after = _prose(text, [TextObject(first.fields, 0, first.end), *objects[objects.index(first) + 1 :]])
    elif labelled and {line.aspect for line in labelled} == set(wanted):
        fields = _spelled_out(prompt, lines, labelled)
        single = len(wanted) == 1
        before, after = _beside(prompt, wanted[0], lines, labelled) if single else _around(lines, labelled)
    elif summaries:
        fields = _summary(prompt, lines, summaries[-1], wanted)
        before, after = _around(lines, summaries)
    elif objects:
        # raises: a repeated example, or the fields asked for are missing
        examples = [each for each in objects if _is_example(prompt, each.fields)]
        fields = _checked(prompt, (examples or objects)[-1].fields, wanted)
        before, after = "", ""
    else:
        raise ReplyFault("no JSON object with the fields asked for was found")
    replies = {fields[field_key(aspect.field)] for aspect in wanted}
    if fault := contradiction(before, after, wanted, replies, labels):
        raise ReplyFault(fault)
    return fields, parsed_by


def label_of(prompt: Prompt, aspect: AspectSpec, value: object) -> LabelSpec:
    """The label that `value` names, or a number on the scale. Raises ReplyFault, which says what is allowed."""
    if prompt.scale is not None:
        return _on_scale(prompt.scale, aspect, value)
    labels = prompt.labels_of(aspect.name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    for label in labels:
        if len(text) <= _LONGEST_LABEL and _same(text, label.reply):
            return label
    allowed = ", ".join(f"“{label.reply}”" for label in labels)
    raise ReplyFault(f"“{aspect.field}” must be one of {allowed}, not “{text[:60]}”")


def _on_scale(scale: ScaleSpec, aspect: AspectSpec, value: object) -> LabelSpec:
    text = str(value)
    number = float(text) if len(text) <= _LONGEST_LABEL and _NUMBER.fullmatch(text) else math.nan
    # comparisons with NaN are false
    if not scale.low <= number <= scale.high:
        raise ReplyFault(
            f"“{aspect.field}” must be a number from {scale.low:g} to {scale.high:g}, not “{text[:60]}”"
        )
    number += 0.0  # no negative zero
    return LabelSpec(name=f"{number:g}", reply=f"{number!r}", value=number)


def _checked(prompt: Prompt, reply: Fields, wanted: tuple[AspectSpec, ...]) -> Fields:
    if _is_example(prompt, reply):
        raise ReplyFault("the reply only repeats an example of the instructions")
    if len(reply) > _MOST_FIELDS:
        raise ReplyFault(f"the object has more than {_MOST_FIELDS} fields")
    fields = {field_key(name): value for name, value in reply.items()}
    for aspect in wanted:
        given = _given(reply, aspect)
        if not given:
            raise ReplyFault(f"the field “{aspect.field}” is missing")
        if any(isinstance(value, (dict, list, bool)) for value in given):
            raise ReplyFault(f"the field “{aspect.field}” must hold one label")
        replies = {label_of(prompt, aspect, value).reply for value in given}
        if len(replies) > 1:
            raise ReplyFault(f"“{aspect.field}” is given twice, with different values")
        fields[field_key(aspect.field)] = replies.pop()
    return fields


def _given(reply: Fields, aspect: AspectSpec) -> list[Any]:
    """The values at the top level of a reply under any name of the aspect."""
    names = set(map(field_key, _names(aspect)))
    return [value for name, value in reply.items() if value is not None and field_key(name) in names]


def _names(aspect: AspectSpec) -> tuple[str, ...]:
    return aspect.field, *aspect.aliases


def _is_example(prompt: Prompt, reply: Fields) -> bool:
    return any(reply == example.reply for example in prompt.examples)


def _is_answer(prompt: Prompt, reply: Fields, wanted: tuple[AspectSpec, ...]) -> bool:
    return any(_given(reply, aspect) for aspect in wanted) and not _is_example(prompt, reply)


def text_of(value: object) -> str:
    """The text of a field: a text as it is, another value as JSON, nothing as an empty text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if value else ""


def field_key(name: str) -> str:
    """The key of a field in the mapping of `read_fields`, however the reply spelled it."""
    return "_".join(name.casefold().split())


def _same(text: str, label: str) -> bool:
    """Whether a text is the label but for case and white space. A long text is not read to its end."""
    words = label.casefold().split()
    given = text.split(None, len(words))
    # case folding makes no text shorter
    if len(given) != len(words) or sum(map(len, given)) > sum(map(len, words)):
        return False
    return [word.casefold() for word in given] == words


def _readable(prompt: Prompt, aspect: AspectSpec, value: object) -> str | None:
    """The label that the value names, as a reply spells it; None if it names none."""
    try:
        return label_of(prompt, aspect, value).reply
    except ReplyFault:
        return None


def _check_agreement(
    prompt: Prompt,
    wanted: tuple[AspectSpec, ...],
    given: list[TextObject],
    labelled: list[LabelLine],
    summaries: list[SummaryLine],
) -> None:
    """Raise ReplyFault where two objects differ in more than their words, or two places name different labels."""
    for first, second in itertools.pairwise(given):
        if any(
            second.fields.get(name, value) != value
            for name, value in first.fields.items()
            if not isinstance(value, str)
        ):
            raise ReplyFault("it has two JSON objects that differ")
    for place, aspect in enumerate(wanted):
        labels = tuple(label.reply for label in prompt.labels_of(aspect.name))
        values = [value for answer in given for value in _given(answer.fields, aspect)]
        values = [value for value in values if not is_placeholder(str(value), labels)]
        values += [
            line.value for line in labelled if line.aspect == aspect and not argues(line.value, labels)
        ]
        values += [line.values[place] for line in summaries if len(line.values) == len(wanted)]
        stated = dict.fromkeys(_readable(prompt, aspect, value) or str(value)[:60] for value in values)
        if len(stated) > 1:
            shown = " and ".join(f"“{value}”" for value in stated)
            raise ReplyFault(f"“{aspect.field}” is given twice, with different values: {shown}")


def _check_beside(
    objects: list[TextObject], prompt: Prompt, wanted: tuple[AspectSpec, ...], labels: tuple[str, ...]
) -> None:
    """Raise ReplyFault if an object that is not the answer contains a requested field or a label, at any depth."""
    names = {field_key(name) for aspect in wanted for name in _names(aspect)}
    values: list[object] = [each.fields for each in objects if not _is_example(prompt, each.fields)]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            if names & set(map(field_key, value)):
                raise ReplyFault(
                    "the fields asked for are in a JSON object within another one, or hold no label"
                )
            values += value.values()
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str | int) and any(_same(str(value), label) for label in labels):
            raise ReplyFault("a JSON object without the fields asked for names a label")


def _prose(text: str, objects: list[TextObject]) -> str:
    """The text with a line break in place of each object that has fields."""
    answers = [each for each in objects if each.fields]
    ends = [0, *(each.end for each in answers)]
    starts = [*(each.start for each in answers), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _around(lines: list[str], labelled: list[LabelLine] | list[SummaryLine]) -> tuple[str, str]:
    """The text before the first and after the last of the lines with labels."""
    return "\n".join(lines[: labelled[0].number]), "\n".join(lines[labelled[-1].number + 1 :])


def _beside(
    prompt: Prompt, aspect: AspectSpec, lines: list[str], labelled: list[LabelLine]
) -> tuple[str, str]:
    """The text before the first line that names a label, and the text after it without such lines."""
    numbers = [line.number for line in labelled if _readable(prompt, aspect, line.value)]
    after = [line for number, line in enumerate(lines) if number > numbers[0] and number not in numbers]
    return "\n".join(lines[: numbers[0]]), "\n".join(after)


def _spelled_out(prompt: Prompt, lines: list[str], labelled: list[LabelLine]) -> Fields:
    """The published text forms: a line such as `CATEGORY: Good Match` for every aspect.

    The text before and after those lines is the reasoning, including lines on an aspect that argue without naming a
    label.
    """
    fields: Fields = {
        field_key(line.aspect.field): label_of(prompt, line.aspect, line.value).reply
        for line in {line.aspect.name: line for line in labelled}.values()
    }
    labels = {line.number for line in labelled if _readable(prompt, line.aspect, line.value)}
    rest = "\n".join("" if number in labels else line for number, line in enumerate(lines))
    fields["reasoning"] = re.sub(r"^\W*reasoning\W*[:=]\W*", "", rest.strip(), flags=re.I)
    return fields


def _summary(prompt: Prompt, lines: list[str], line: SummaryLine, wanted: tuple[AspectSpec, ...]) -> Fields:
    """The published short form `Summary: 3 4 3 5`: a label for every aspect, in their order."""
    if len(line.values) != len(wanted):
        raise ReplyFault(
            f"“Summary” must hold {len(wanted)} values, one for each aspect, not {len(line.values)}"
        )
    given = {
        field_key(a.field): label_of(prompt, a, v).reply for a, v in zip(wanted, line.values, strict=True)
    }
    return {**given, "reasoning": "\n".join(lines[: line.number]).strip()}
