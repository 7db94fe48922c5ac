"""Domains: the kinds of recommended things, the words for them in prompts, and which known data sets are of which. A
domain is data, not a copied prompt."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import model_validator

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.event_types import Data

# the shipped domains; users add their own
SHIPPED = ("films", "books", "music", "news", "places", "shop")
# the words of every domain: the variables of prompts that have these names
WORDS: dict[str, str] = {
    "platform": "where people find the items: film platform",
    "did": "what users did with them, in the past tense: watched and rated",
    "item": "a single item: movie",
    "things": "several items: films and series",
    "taste": "what a high rating says about taste: genre, mood",
    "variants": "near-identical items that take up several positions",
    "lasting": "an item that people need once in years, soon after the last one",
    "pacing": "items that come too soon after the last one",
    "field": "the kind of thing that no event points to: a genre",
    "owned": "items that the user already has or knows",
}


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


# ---- datasets ----------------------------------------------------------------------------------------------------


Scale = tuple[float, float]


class Dataset(NamedTuple):
    """`domain` names a row of the table of words; `scale` are the lowest and the highest rating."""

    domain: str
    scale: Scale | None = None


# by the name of the layout
DATASETS: dict[str, Dataset] = {
    "movielens-100k": Dataset("films", (1.0, 5.0)),
    "movielens-1m": Dataset("films", (1.0, 5.0)),
    "movielens-latest": Dataset("films", (0.5, 5.0)),
    "amazon-reviews": Dataset("shop", (1.0, 5.0)),
    "esci": Dataset("shop"),
    "mind": Dataset("news"),
    "mind-train": Dataset("news"),
    "mind-news": Dataset("news"),
    "yelp": Dataset("places", (1.0, 5.0)),
    "zhang2024": Dataset("films"),
}


def dataset_of(layout: str) -> Dataset | None:
    """The facts of a layout as an import stores it (`amazon-reviews`, `plain, type click`); None if it has none."""
    return DATASETS.get(layout.partition(",")[0])
