"""Lists made from a folder of plain tables to see what misleads a judge: nearest in category, popular, random, ..."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

TOP = 10
CONTENT, GENRE, POPULAR, RANDOM = "content_only", "one_category", "popularity", "random_lists"
REVERSED, REPEATED = "reversed", "repeated"
TAKEN_UP = ("rating", "purchase")
Floats = npt.NDArray[np.float64]
Lists = dict[str, dict[str, list[str]]]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def lists_in(paths: Iterable[Path]) -> Lists:
    """system -> user -> the first ten items."""
    lists: Lists = {}
    for path in paths:
        for row in sorted(rows_of(path), key=lambda row: int(row["rank"])):
            top = lists.setdefault(row["system"], {}).setdefault(row["user_id"], [])
            if len(top) < TOP:
                top.append(row["item_id"])
    return lists


def made_lists(folder: Path, trained: Lists) -> Lists:
    """For each user, lists of items they had not used: the nearest in category by cosine to liked items, items of
    their most frequent category, the most popular ones (unless `trained` has them), and random ones. Categories have
    the weight log(items / items of the category). Liked items were rated at or above the user's mean, or bought.
    """
    items = rows_of(folder / "items.csv")
    place = {row["item_id"]: at for at, row in enumerate(items)}
    events = [
        row for row in rows_of(folder / "events.csv") if row["type"] in TAKEN_UP and row["item_id"] in place
    ]
    users = list(dict.fromkeys(row["user_id"] for row in events))
    values = np.full((len(users), len(items)), np.nan)
    at = {user: number for number, user in enumerate(users)}
    for row in events:
        values[at[row["user_id"]], place[row["item_id"]]] = float(row["value"] or 1)
    taken = ~np.isnan(values)
    liked = (values >= np.nanmean(values, axis=1, keepdims=True) - 1e-9).astype(np.float64)
    names = sorted({name for row in items for name in row["category"].split("|")})
    has = np.array([[name in row["category"].split("|") for name in names] for row in items], dtype=float)
    weighted = has * np.log(len(items) / np.maximum(has.sum(axis=0), 1))
    vectors = weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-9)
    rng = np.random.default_rng(7)
    chance = rng.random(values.shape)
    own = has[:, np.argmax(liked @ has, axis=1)].T / np.maximum(has.sum(axis=1), 1)
    scores: dict[str, Floats] = {
        CONTENT: liked @ vectors @ vectors.T,
        GENRE: own + chance * 1e-3,
        POPULAR: np.tile(taken.sum(axis=0).astype(np.float64), (len(users), 1)),
        RANDOM: chance,
    }
    ids = [row["item_id"] for row in items]
    return {
        system: {
            user: _best(np.where(taken[at[user]], -np.inf, score[at[user]].round(9)), ids) for user in users
        }
        for system, score in scores.items()
        if system not in trained
    }


def _best(scores: Floats, ids: Sequence[str]) -> list[str]:
    return [ids[at] for at in np.argsort(-scores, kind="stable")[:TOP]]


def turned_lists(lists: dict[str, list[str]]) -> Lists:
    """The same lists in reverse, and their first five items each followed at the end by another edition of it."""
    return {
        REVERSED: {user: top[::-1] for user, top in lists.items()},
        REPEATED: {user: [*top[:5], *map(edition, top[:5])] for user, top in lists.items()},
    }


def edition(item: str) -> str:
    return f"{item}-special"


def write_editions(folder: Path, items: Iterable[str], out: Path) -> Path:
    """The table of items, with another edition of each of `items`."""
    rows = rows_of(folder / "items.csv")
    wanted = set(items)
    more = [
        row | {"item_id": edition(row["item_id"]), "title": f"{row['title']} (Special Edition)"}
        for row in rows
        if row["item_id"] in wanted
    ]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows([*rows, *more])
    return out


def write_lists(lists: Lists, out: Path) -> Path:
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("user_id", "system", "item_id", "rank"))
        for system, by_user in lists.items():
            for user, top in by_user.items():
                writer.writerows((user, system, item, rank) for rank, item in enumerate(top, start=1))
    return out
