"""The kinds of raters and their roles. SQL, reports and screens derive their lists from here."""

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

# the judges of runs: a language model (`judge`), the built-in rules, random answers
RUN_RATERS: tuple[RaterKind, ...] = ("judge", "rules", "random")
# judges without a language model, with a description
BUILT_IN: dict[RaterKind, str] = {
    "rules": "built in, not a language model",
    "random": "by chance, not a language model",
}
# their values are not opinions, so nobody can disagree with them
WITHOUT_OPINION: tuple[RaterKind, ...] = ("metric", "random")
# judges whose verdicts a reader reviews
REVIEWED: tuple[RaterKind, ...] = ("judge", "rules")
# made from the verdicts of other raters
COMBINED: tuple[RaterKind, ...] = ("ensemble", "consensus")

# people who judged a case without seeing a judge's verdict: annotators, and the users who got the recommendation
FIRST_HAND: tuple[RaterKind, ...] = ("annotator", "ground_truth")
# all persons, with the reader, who overrides verdicts of judges
PERSONS: tuple[RaterKind, ...] = ("annotator", "ground_truth", "reader")
# the reader overrides verdicts on cases of their own choice, so figures leave these raters out unless requested
READERS: tuple[RaterKind, ...] = ("reader",)
# raters that represent people, including a consensus of their verdicts
PEOPLE: tuple[RaterKind, ...] = ("annotator", "consensus", "ground_truth", "reader")
# possible references for a judge; figures take the first kind that a project has
REFERENCES: tuple[RaterKind, ...] = ("ground_truth", "consensus", "annotator")
MACHINES: tuple[RaterKind, ...] = tuple(kind for kind in RATER_KINDS if kind not in PEOPLE)

# kinds that a row of labels can name, because they are neither built in nor made by recjudge
IMPORTED: tuple[RaterKind, ...] = ("annotator", "ground_truth", "judge")
GROUND_TRUTH_NAMES = ("user", "ground_truth")

# prefixes of the first words of models' names
_FAMILIES = (
    "gpt", "chatgpt", "openai", "anthropic", "llama", "codellama", "qwen", "qwq", "mistral", "mixtral", "gemini", "deepseek",
    "grok", "chatglm", "internlm", "baichuan", "nemotron", "hunyuan", "prometheus", "judgelm", "llm",
)  # fmt: skip
# whole words that mean a model or its role
_MODEL_WORDS = ("claude", "ai", "bot", "chatbot", "copilot", "model", "judge", "glm")
# words that mean a model only before a number, because people and things also have these names
_NUMBERED = tuple("gemma phi yi falcon alpaca ernie kimi command nova palm olmo vicuna".split())
# OpenAI's models named with one letter: o1-mini
_OF_ONE_LETTER = re.compile(r"\bo\d-(?:mini|preview|pro)\b")
_PERSON_WORDS = tuple("human person people annotator expert worker crowd student user assessor".split())


def is_language_model(kind: str) -> bool:
    """Whether raters of this kind are models: they take tokens, cost money and can be told how to answer."""
    return kind == "judge"


def rules_note(*names: str) -> str:
    """The note that must accompany every figure of the built-in rules, by the names of their raters."""
    verb = "are not language models" if len(names) > 1 else "is not a language model"
    return f"{', '.join(names) or 'rules'} {verb}: the published guidelines written as code"


def kind_by_name(name: str) -> RaterKind:
    """The kind of an imported rater if the data does not give it: a judge, the users themselves, or a person, by its
    name."""
    if name in GROUND_TRUTH_NAMES:
        return "ground_truth"
    # `gpt-4o`, `Qwen2.5-7B`, `LLM judge 1`
    words = re.findall(r"[^\W\d_]+|\d+", name.lower())
    followed = zip(words, [*words, ""][1:], strict=True)
    named = any(
        word.startswith(_FAMILIES) or (word in _NUMBERED and after.isdigit()) for word, after in followed
    )
    called = not {*words}.isdisjoint(_MODEL_WORDS) and {*words}.isdisjoint(_PERSON_WORDS)
    return "judge" if named or called or _OF_ONE_LETTER.search(name.lower()) else "annotator"
