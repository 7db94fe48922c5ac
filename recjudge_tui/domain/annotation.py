"""What annotators are asked about a case, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# how a person's verdict was made, as `verdicts.rule` stores it
AS_GIVEN = "as given"
THIRD_PERSON = "third person"
AGREED = "agreed"
# a consensus needs this many annotators who judged the case
FEWEST_ANNOTATORS = 2
# how many events of the user an annotator is shown, in the app and in an exported task
MOST_EVENTS = 100


# of two lists: value -> the keys of its answer
PAIR_KEYS = {1.0: ("1", "a"), 0.0: ("0", "t"), -1.0: ("2", "b")}
_MOST_KEYS = 10


def answer_keys(labels: Mapping[float, str], *, of_pairs: bool) -> dict[float, tuple[str, ...]]:
    """The keys of each answer, by value, wherever a person gives one: labels that are digits are their own; of two lists
    those of PAIR_KEYS, or 1 for the clearest win of the first; else 1 is the lowest."""
    if labels and all(len(label) == 1 and label in "0123456789" for label in labels.values()):
        return {value: (labels[value],) for value in sorted(labels)}
    if of_pairs and labels.keys() == PAIR_KEYS.keys():
        return dict(PAIR_KEYS)
    ordered = sorted(labels, reverse=of_pairs)[:_MOST_KEYS]
    return {value: (str(place % 10),) for place, value in enumerate(ordered, 1)}


class AspectAnswer(NamedTuple):
    """The answer about one aspect. `value` refers to the systems in the order of the case, not in the order shown."""

    aspect: str
    value: float
    label: str


class ItemFlag(NamedTuple):
    """A flagged item; `reason` may be empty."""

    item_id: str
    issue: str
    reason: str = ""


class CaseAnswers(NamedTuple):
    """All answers of one person about one case."""

    answers: tuple[AspectAnswer, ...]
    flags: tuple[ItemFlag, ...] = ()
    note: str = ""


class AnswerOption(NamedTuple):
    """An answer to choose: its keys, its text, and the value and label that are stored."""

    keys: tuple[str, ...]
    words: str
    value: float
    label: str


class AspectQuestion(NamedTuple):
    """A question. `options` are in the order shown; none where the answer is a number from `low` to `high`."""

    aspect: str
    question: str
    options: tuple[AnswerOption, ...]
    low: float = 0.0
    high: float = 0.0

    def said(self, value: float) -> str:
        """The words of the option with this value; the number where there is none."""
        words = {option.value: option.words for option in self.options}
        return words.get(value) or f"{value:g}"
