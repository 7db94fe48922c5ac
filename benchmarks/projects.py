"""Projects made for measuring: synthetic people, items and lists, imported with the normal importer."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database

GENRES = ("Drama", "Comedy", "Action", "Romance", "Thriller", "Sci-Fi", "Documentary", "Horror")


def write_tables(
    folder: Path, users: int, systems: int, items: int = 2000, history: int = 12, top: int = 10
) -> dict[str, Path]:
    """CSV files for `users` people with `history` ratings each, and a list of `top` items per system."""
    rng = random.Random(11)
    folder.mkdir(parents=True, exist_ok=True)
    ids = [f"i{n}" for n in range(items)]
    tables: dict[str, tuple[Sequence[str], Iterable[Sequence[object]]]] = {
        "items": (("item_id", "title", "category"), _items(rng, ids)),
        "events": (("user_id", "item_id", "type", "timestamp", "value"), _events(rng, ids, users, history)),
        "lists": (("user_id", "system", "item_id", "rank", "score"), _lists(rng, ids, users, systems, top)),
    }
    return write_csv_files(folder, tables)


def write_csv_files(
    folder: Path, tables: Mapping[str, tuple[Sequence[str], Iterable[Sequence[object]]]]
) -> dict[str, Path]:
    """Write (header, rows) by name as CSV files; returns their paths by name."""
    paths = {}
    for name, (header, rows) in tables.items():
        paths[name] = folder / f"{name}.csv"
        with paths[name].open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
    return paths


def load(db: Database, project: str, paths: dict[str, Path]) -> None:
    kinds: tuple[ImportKind, ...] = ("items", "events", "lists")
    for kind in kinds:
        import_files(db, project, [paths[kind]], kind, layout=None, mapping=None, system=None)


def _items(rng: random.Random, ids: list[str]) -> list[tuple[str, str, str]]:
    return [(i, f"The Film of {i} ({rng.randint(1950, 2020)})", "|".join(rng.sample(GENRES, 2))) for i in ids]


def _events(rng: random.Random, ids: list[str], users: int, history: int) -> list[tuple[object, ...]]:
    return [
        (f"u{user}", item, "rating", f"2024-{1 + n % 6:02d}-{1 + n % 28:02d}T12:00:00Z", rng.randint(1, 5))
        for user in range(users)
        for n, item in enumerate(rng.sample(ids, history))
    ]


def _lists(
    rng: random.Random, ids: list[str], users: int, systems: int, top: int
) -> list[tuple[object, ...]]:
    return [
        (f"u{user}", f"system{s}", item, rank, round(1 / rank, 4))
        for user in range(users)
        for s in range(systems)
        for rank, item in enumerate(rng.sample(ids, top), start=1)
    ]
