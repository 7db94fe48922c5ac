"""What kinds of things are recommended, and the words for them that prompts use: a domain is data, no copied prompt."""

from __future__ import annotations

from pydantic import model_validator

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.event_types import Data

# those that are shipped; users add their own
SHIPPED = ("films", "books", "music", "news", "places", "shop")
# the words of every domain: the variables of prompts that have these names
WORDS: dict[str, str] = {
    "platform": "where one finds the things: film platform",
    "did": "what users do with them, in the past: watched and rated",
    "item": "one of them: movie",
    "things": "several: films and series",
    "taste": "what a high rating shows a taste in: genre, mood",
    "variants": "what fills several places with one and the same thing",
    "lasting": "what one needs once in years, when one has just got it",
    "pacing": "what comes too early after the last one",
    "field": "what no event leads to: a genre",
    "owned": "what the user has or knows already",
}
# those that are named before a run whose domain is unknown: the others are sentences
SHORT_WORDS = ("platform", "did", "item", "things")


class Domain(Model):
    """`data` chooses among the shipped prompts; `words` are for the variables of a prompt that have these names."""

    data: Data
    words: dict[str, str]

    @model_validator(mode="after")
    def _is_complete(self) -> Domain:
        for name in WORDS:
            if not self.words.get(name, "").strip():
                raise ValueError(f"the word “{name}” is missing ({WORDS[name]})")
        for name in self.words:
            if name not in WORDS:
                raise ValueError(f"there is no word “{name}”; the words are: {', '.join(WORDS)}")
        return self
