"""Honest replies and what may become of them, read with the package's parser and with the careful reader."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from recjudge_tui.domain.calls import Reply
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import read_fields
from tests.support.careful_reader import careful_label
from tests.support.cases import shipped

MARKS = "{}[]\":,\\ \n\t'“”.*#>-=()0123456789abnrtu\u200b\u202eé"
TAKEN_BACK = (
    "Wait, that is wrong. My final answer: {other}",
    "Scratch that, {other}.",
    "On reflection: {other}",
    "I made a mistake. It is {other}.",
    "Correction: {other}",
    "Sorry, I meant {other}.",
    "{other}",
)


class Question(NamedTuple):
    """The field asked for and the words that may stand in it."""

    field: str
    labels: tuple[str, ...]


class MutatedReply(NamedTuple):
    """A reply, and the mutation that made it."""

    text: str
    kind: str


def honest_replies(question: Question) -> Iterator[tuple[str, str]]:
    """Replies as models send them, each with the label that it states."""
    for label in question.labels:
        body = {"reasoning": "Most items fit, but two repeat.", question.field: label}
        whole = json.dumps(body)
        yield whole, label
        yield json.dumps(body, indent=2), label
        yield f"```json\n{whole}\n```", label
        yield f"Here is my verdict.\n\n{whole}", label
        yield f"{whole}\nI hope that helps.", label
        yield whole[:-1] + ",}", label
        yield f"[{whole}]", label
        yield f"{{{whole}}}", label
        yield f"<think>Is it one or the other?</think>\n{whole}", label
        yield f"Reasoning: most items fit.\n{question.field.upper()}: {label}", label
        yield f"**{question.field.title()}:** **{label}**\nMost items fit.", label
        yield json.dumps({**body, "flagged_items": [{"item": 2, "reason": 'a "quoted" {word}'}]}), label


def mutations(question: Question, count: int, seed: int) -> Iterator[MutatedReply]:
    """`count` replies, each an honest one changed once to five times."""
    draw = random.Random(seed)
    honest = list(honest_replies(question))
    kinds = list(KINDS)
    for _ in range(count):
        text, label = draw.choice(honest)
        names = draw.choices(kinds, k=draw.choice((1, 1, 1, 2, 3, 5)))
        for name in names:
            other = draw.choice([each for each in question.labels if each != label])
            text = KINDS[name](text, question.field, other, draw)
        yield MutatedReply(text, "+".join(names))


def _place(text: str, draw: random.Random) -> int:
    return draw.randrange(len(text) + 1)


def _deleted(text: str, field: str, other: str, draw: random.Random) -> str:
    place = _place(text, draw)
    return text[:place] + text[place + draw.choice((1, 1, 2, 8)) :]


def _inserted(text: str, field: str, other: str, draw: random.Random) -> str:
    place = _place(text, draw)
    return text[:place] + draw.choice(MARKS) + text[place:]


def _replaced(text: str, field: str, other: str, draw: random.Random) -> str:
    place = _place(text, draw)
    return text[:place] + draw.choice(MARKS) + text[place + 1 :]


def _cut(text: str, field: str, other: str, draw: random.Random) -> str:
    return text[: _place(text, draw)]


def _repeated(text: str, field: str, other: str, draw: random.Random) -> str:
    start, end = sorted((_place(text, draw), _place(text, draw)))
    place = _place(text, draw)
    return text[:place] + text[start:end] + text[place:]


def _planted(text: str, field: str, other: str, draw: random.Random) -> str:
    """Another answer anywhere: as an object, a pair, a line or words, with or without escapes."""
    place = _place(text, draw)
    answer = json.dumps({field: other})
    pair, line, words = f'"{field}": "{other}", ', f"\n{field}: {other}\n", f"{field} is {other}"
    form = draw.choice((answer, json.dumps(answer)[1:-1], pair, line, words))
    return text[:place] + form + text[place:]


def _quoted_in_reasoning(text: str, field: str, other: str, draw: random.Random) -> str:
    quoted = f'I first thought {{"{field}": "{other}"}} but no. '
    return text.replace("Most items", quoted + "most items", 1)


def _second_key(text: str, field: str, other: str, draw: random.Random) -> str:
    pair = f'"{draw.choice((field, field.title()))}": "{other}"'
    return (
        text.replace('"reasoning"', f'{pair}, "reasoning"', 1)
        if draw.random() < 0.5
        else text.replace("}", f", {pair}}}", 1)
    )


def _second_object(text: str, field: str, other: str, draw: random.Random) -> str:
    answer = json.dumps({"reasoning": "x", field: other})
    return f"{text}\n{answer}" if draw.random() < 0.5 else f"{answer} {text}"


def _nested(text: str, field: str, other: str, draw: random.Random) -> str:
    return f'{{"verdict": {text}}}' if draw.random() < 0.5 else f'{{"{field}": "{other}", "draft": {text}}}'


def _taken_back(text: str, field: str, other: str, draw: random.Random) -> str:
    return f"{text}{draw.choice((' ', chr(10)))}{draw.choice(TAKEN_BACK).format(other=other)}"


def _another_line(text: str, field: str, other: str, draw: random.Random) -> str:
    line = f"{field.title()}: {other}"
    return f"{text}\n{line}" if draw.random() < 0.5 else f"{line}\n{text}"


KINDS: dict[str, Callable[[str, str, str, random.Random], str]] = {
    "deleted": _deleted,
    "inserted": _inserted,
    "replaced": _replaced,
    "cut": _cut,
    "repeated": _repeated,
    "planted": _planted,
    "quoted in reasoning": _quoted_in_reasoning,
    "second key": _second_key,
    "second object": _second_object,
    "nested": _nested,
    "taken back": _taken_back,
    "another line": _another_line,
}
PROMPTS = ("pointwise-shopping", "pairwise-media", "explanation-media")


class FuzzResult(NamedTuple):
    """How many replies were read, how many gave a label, and those whose label can be disputed."""

    tried: int
    read: int
    disputed: list[tuple[MutatedReply, str]]


def fuzzed(prompt_name: str, count: int, seed: int) -> FuzzResult:
    """Mutates `count` replies to the first question of a shipped prompt."""
    prompt = shipped(prompt_name)
    aspect = prompt.aspects[0]
    question = question_of(prompt_name)
    read = 0
    disputed: list[tuple[MutatedReply, str]] = []
    for mutated in mutations(question, count, seed):
        try:
            fields, _ = read_fields(prompt, Reply(text=mutated.text), (aspect,))
        except ReplyFault:
            continue
        read += 1
        label = fields[aspect.field]
        if careful_label(mutated.text, aspect.field, question.labels) != label:
            disputed.append((mutated, label))
    return FuzzResult(count, read, disputed)


def question_of(prompt_name: str) -> Question:
    """The first question of a shipped prompt."""
    prompt = shipped(prompt_name)
    aspect = prompt.aspects[0]
    return Question(aspect.field, tuple(label.reply for label in prompt.labels_of(aspect.name)))


def honest_failures(prompt_name: str) -> list[str]:
    """The honest replies that are not read as what they state."""
    prompt = shipped(prompt_name)
    aspect = prompt.aspects[0]
    failures = []
    for text, label in honest_replies(question_of(prompt_name)):
        try:
            fields, _ = read_fields(prompt, Reply(text=text), (aspect,))
        except ReplyFault as fault:
            failures.append(f"{fault}: {text}")
            continue
        if fields[aspect.field] != label:
            failures.append(text)
    return failures
