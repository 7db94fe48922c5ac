"""Reads mutated replies with the package's parser and with the careful reader, and compares what they say."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.calls import Reply
from recjudge_tui.errors import ReplyFault
from recjudge_tui.protocols.replies import read_fields
from tests.support.careful_reader import careful_label
from tests.support.cases import shipped
from tests.support.mutated_replies import MutatedReply, Question, honest_replies, mutations

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
