"""No figure depends on what the systems are called or on the order of the rows: reports of the same project, twice."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.builder import Built, project

T = TypeVar("T")
Row = dict[str, Any]
SYSTEMS = ("sys-als", "sys-bpr", "sys-pop", "sys-txt")
OTHERWISE = ("sys-zzz", "sys-mmm", "sys-aaa", "sys-kkk")
PEOPLE = {"anna": 0.1, "ben": 0.2, "cleo": 0.4}
MET = {
    "every pair": list(combinations(range(4), 2)),
    "a baseline": [(at, 2) for at in (0, 1, 3)],
}
REPORTS = (
    "agreement --stat all --level dataset,user --raters rules,anna,ben,gold",
    "agreement --confusion --raters rules,anna,gold",
    "agreement --by-label --raters rules,anna",
    "agreement --together --stat all",
    "agreement --truth anna --raters rules,ben,cleo --ensembles --stat pearson,kendall --level dataset,user",
    "biases --truth anna",
    "compare rules anna",
    "compare rules anna --table transitions",
    "cost --truth anna --rule dawid-skene",
    "estimate --rater rules --truth anna --protocol pointwise",
    "flags",
    "flags --by rank",
    "gate --rater rules --truth anna --at-least qwk=0.1 --at-least alpha_ordinal=0.1",
    "gate --rater ben --against cleo --truth anna",
    "leaderboard --protocol pairwise --method bt",
    "leaderboard --protocol pairwise --method q",
    "leaderboard --protocol pairwise --method winrate",
    "leaderboard --protocol pairwise --table matrix",
    "leaderboard --protocol pairwise --table metrics",
    "leaderboard --protocol pairwise --table side-by-side",
    "leaderboard --protocol pointwise",
    "metrics",
    "metrics --table pairs --metrics ndcg,mrr",
    "trend --over import --protocol pointwise",
)


def made(path: Path, names: Sequence[str], met: Sequence[tuple[int, int]], seed: int) -> Built:
    """Nine users with four lists, judged by three people of unlike skill and by the rules; rows in an order of `seed`."""
    rng, order = random.Random(5), random.Random(seed)

    def shuffled(rows: Sequence[T]) -> list[T]:
        return order.sample(rows, len(rows))

    quality = [rng.random() * 2 for _ in names]
    items = [f"i{at:02}" for at in range(30)]
    users = [f"u{at:02}" for at in range(9)]
    lists, events, labels = {}, [], []
    for user in users:
        events += [(user, item, "heldout_rating", 5) for item in rng.sample(items, 5)]
        events += [(user, item, "rating", rng.randint(1, 5)) for item in rng.sample(items, 5)]
        for at, name in enumerate(names):
            lists[user, name] = rng.sample(items, 6)
            good = min(2, max(0, round(quality[at] + rng.gauss(0, 0.7))))
            for rater, wrong in PEOPLE.items():
                said = rng.randrange(3) if rng.random() < wrong else good
                labels.append((rater, user, name, "", "", ("Poor", "Partial", "Good")[said], "pointwise"))
        for a, b in met:
            lead = quality[a] - quality[b] + rng.gauss(0, 1)
            for rater, wrong in PEOPLE.items():
                said = (
                    rng.choice("ABT") if rng.random() < wrong else "T" if abs(lead) < 0.3 else "BA"[lead > 0]
                )
                value = {"T": "Tie"}.get(said, said)
                labels.append((rater, user, "", names[a], names[b], value, "pairwise"))
    pairs = ",".join(names) if len(met) > 3 else names[2]
    return project(
        path,
        items=[
            ("item_id", "title", "category"),
            *((i, f"Film {i}", f"genre {int(i[1:]) % 4}") for i in items),
        ],
        events=[("user_id", "item_id", "type", "value"), *shuffled(events)],
        lists=dict(shuffled(list(lists.items()))),
        labels=[
            ("rater", "user_id", "system", "system_a", "system_b", "value", "protocol"),
            *shuffled(labels),
        ],
        runs=[
            "pointwise --judge rules",
            f"pairwise --judge rules {'--systems' if len(met) > 3 else '--baseline'} {pairs}",
        ],
        then=["rater combine gold anna ben --rule strict"],
    )


@pytest.mark.parametrize("met", MET)
def test_renamed_systems_and_shuffled_rows_get_the_same_figures(tmp_path: Path, met: str) -> None:
    built = [
        made(tmp_path / f"{at}.db", names, MET[met], at) for at, names in enumerate((SYSTEMS, OTHERWISE))
    ]
    # who met whom changes what is said of pairs alone
    for words in REPORTS if met == "every pair" else [line for line in REPORTS if "pairwise" in line]:
        as_named, renamed = (
            rows_of(each, words, names) for each, names in zip(built, (SYSTEMS, OTHERWISE), strict=True)
        )
        assert as_named, words
        assert len(as_named) == len(renamed), words
        for ours, theirs in zip(as_named, renamed, strict=True):
            for column in (ours.keys() & theirs.keys()) - {"note", "seconds", "run", "created_at", "started"}:
                mine, other = ours[column], theirs[column]
                same = pytest.approx(other, abs=1e-6) if isinstance(mine, float) else other
                assert mine == same, f"{words}: {column}\n{ours}\n{theirs}"


def rows_of(built: Built, words: str, names: Sequence[str]) -> list[Row]:
    """The rows of all tables, in the project's own names, sorted by their texts and label values."""
    printed = json.dumps(built.table(f"{words} -p films"))
    for name, called in zip(SYSTEMS, names, strict=True):
        printed = printed.replace(called, f"<{name}>")
    found = json.loads(printed.replace("<", "").replace(">", ""))
    rows = [
        {"table": table["title"], **row} for table in found.get("tables", [found]) for row in table["rows"]
    ]
    return sorted(rows, key=_about)


def _about(row: Row) -> str:
    said = {k: v for k, v in row.items() if k != "note" and (isinstance(v, str) or k.startswith("value_"))}
    return json.dumps(said, sort_keys=True)
