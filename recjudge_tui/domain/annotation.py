"""What annotators are asked about a case, and what they answer."""

from __future__ import annotations

from typing import NamedTuple

# how a person's verdict was made, as `verdicts.rule` stores it
AS_GIVEN = "as given"
THIRD_PERSON = "third person"
AGREED = "agreed"
# a consensus needs this many annotators who judged the case
FEWEST_ANNOTATORS = 2
# how many events of the user an annotator is shown, in the app and in an exported task
MOST_EVENTS = 100


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
