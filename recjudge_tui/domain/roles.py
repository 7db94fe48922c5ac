"""Which kinds of rater there are, and which roles they play. SQL, reports and screens derive their lists from here."""

from __future__ import annotations

import re
from typing import Literal

RaterKind = Literal[
    "judge", "rules", "random", "annotator", "ground_truth", "consensus", "ensemble", "metric", "reader"
]
# in the order of listings: machines first, then people, who can be a reference
RATER_KINDS: tuple[RaterKind, ...] = (
    "judge", "rules", "random", "ensemble", "metric", "reader", "annotator", "ground_truth", "consensus",
)  # fmt: skip

# what a run can ask: a language model (`judge`), the built-in rules, answers drawn at random
RUN_RATERS: tuple[RaterKind, ...] = ("judge", "rules", "random")
# what a run can ask without a language model
BUILT_IN: tuple[RaterKind, ...] = ("rules", "random")
# raters without an opinion: nobody disagrees with them
BASELINES: tuple[RaterKind, ...] = ("metric", "random")
# judges whose verdicts a reader reviews
REVIEWED: tuple[RaterKind, ...] = ("judge", "rules")
# made from the verdicts of other raters
COMBINED: tuple[RaterKind, ...] = ("ensemble", "consensus")

# people who judged a case without seeing a judge's verdict: annotators, and the users who got the recommendation
FIRST_HAND: tuple[RaterKind, ...] = ("annotator", "ground_truth")
# all persons, with the reader, who overrides verdicts of judges
PERSONS: tuple[RaterKind, ...] = ("annotator", "ground_truth", "reader")
# who overrides single verdicts: a choice of cases, so figures leave these raters out until asked for them
READERS: tuple[RaterKind, ...] = ("reader",)
# raters that represent people, including a consensus of their verdicts
PEOPLE: tuple[RaterKind, ...] = ("annotator", "consensus", "ground_truth", "reader")
# what a judge can be compared with; figures take the first kind that a project has
REFERENCES: tuple[RaterKind, ...] = ("ground_truth", "consensus", "annotator")
MACHINES: tuple[RaterKind, ...] = tuple(kind for kind in RATER_KINDS if kind not in PEOPLE)

# a row of labels can name these raters as they are: neither built in nor made by recjudge
IMPORTED: tuple[RaterKind, ...] = ("annotator", "ground_truth", "judge")
GROUND_TRUTH_NAMES = ("user", "ground_truth")

# how the first words of models' names begin
_FAMILIES = (
    "gpt", "chatgpt", "openai", "anthropic", "llama", "codellama", "qwen", "qwq", "mistral", "mixtral", "gemini", "deepseek",
    "grok", "chatglm", "internlm", "baichuan", "nemotron", "hunyuan", "prometheus", "judgelm", "llm",
)  # fmt: skip
# whole words that name a model, or what it does
_MODEL_WORDS = ("claude", "ai", "bot", "chatbot", "copilot", "model", "judge", "glm")
# words that name a model only before a number, because people and things have these names too
_NUMBERED = (
    "gemma",
    "phi",
    "yi",
    "falcon",
    "alpaca",
    "ernie",
    "kimi",
    "command",
    "nova",
    "palm",
    "olmo",
    "vicuna",
)
# the names of OpenAI's models of one letter: o1-mini
_OF_ONE_LETTER = re.compile(r"\bo\d-(?:mini|preview|pro)\b")
_PERSON_WORDS = (
    "human",
    "person",
    "people",
    "annotator",
    "expert",
    "worker",
    "crowd",
    "student",
    "user",
    "assessor",
)


def kind_by_name(name: str) -> RaterKind:
    """The kind of an imported rater that the data does not name: by its name a judge, the users themselves, or a person."""
    if name in GROUND_TRUTH_NAMES:
        return "ground_truth"
    return "judge" if _names_model(name) else "annotator"


def _names_model(name: str) -> bool:
    """Whether this looks like the name of a language model (`gpt-4o`, `Qwen2.5-7B`, `LLM judge 1`) and not of a person."""
    words = re.findall(r"[^\W\d_]+|\d+", name.lower())
    followed = zip(words, [*words, ""][1:], strict=True)
    if any(word.startswith(_FAMILIES) or (word in _NUMBERED and after.isdigit()) for word, after in followed):
        return True
    if _OF_ONE_LETTER.search(name.lower()):
        return True
    return any(word in _MODEL_WORDS for word in words) and not any(word in _PERSON_WORDS for word in words)
