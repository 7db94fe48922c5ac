"""Facts about data by the layout of the imported file: its domain, and the scale of its ratings."""

from __future__ import annotations

from typing import NamedTuple

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
    "yelp": Dataset("places", (1.0, 5.0)),
    "zhang2024": Dataset("films"),
}


def dataset_of(layout: str) -> Dataset | None:
    """The facts of a layout as an import stores it (`amazon-reviews`, `plain, type click`); None if it has none."""
    return DATASETS.get(layout.partition(",")[0])
