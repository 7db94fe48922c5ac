"""The same random project twice: its systems renamed so that they sort otherwise, and its rows in another order."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from recjudge_tui.domain.made_lists import ADVERSARIAL, pair_names
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.importers.load import import_files
from tests.support.verdicts import Project, give, judge_lists, judge_pairs, list_case, new_project, pair_case

T = TypeVar("T")
USERS = 9
ITEMS = 30
_LABELS = ("rater", "user_id", "system", "aspect", "value", "protocol", "rater_kind", "flags")
PEOPLE = ("anna", "ben", "cleo")
JUDGES = ("good", "poor", "fair")


class Judged(NamedTuple):
    """One pair of lists: the value of each person for `first`, and of each judge by the system shown first."""

    user: str
    first: str
    second: str
    people: Mapping[str, float | None]
    judges: Mapping[str, Mapping[str, float | None]]


class Drawn(NamedTuple):
    """What a project holds, with the names `systems`. `lists`: (user, system) -> items; `labels`: -> by rater."""

    systems: tuple[str, ...]
    pairs: tuple[Judged, ...]
    lists: Mapping[tuple[str, str], Sequence[str]]
    labels: Mapping[tuple[str, str], Mapping[str, float | None]]
    heldout: Sequence[tuple[str, str]]


def drawn(seed: int, systems: tuple[str, ...], met: Sequence[tuple[str, str]]) -> Drawn:
    """Random verdicts on the pairs `met`; the systems differ in quality, and raters in skill."""
    rng = random.Random(seed)
    quality = {system: rng.random() * 2 for system in systems}
    users = [f"u{at:02}" for at in range(USERS)]
    pairs = []
    for user in users:
        for first, second in met:
            truth = _sign(quality[first] - quality[second] + rng.gauss(0, 1))
            pairs.append(
                Judged(
                    user,
                    first,
                    second,
                    {name: _said(rng, truth, 0.1 + 0.1 * at) for at, name in enumerate(PEOPLE)},
                    {
                        name: {shown: _said(rng, truth, 0.1 + 0.15 * at) for shown in (first, second)}
                        for at, name in enumerate(JUDGES)
                    },
                )
            )
    lists, labels = {}, {}
    for user in users:
        for system in systems:
            lists[user, system] = [f"i{at:02}" for at in rng.sample(range(ITEMS), 6)]
            good = min(2.0, max(0.0, float(round(quality[system] + rng.gauss(0, 0.7)))))
            labels[user, system] = {
                name: good if rng.random() > 0.2 else float(rng.randrange(3)) for name in (*PEOPLE, *JUDGES)
            }
    heldout = [(user, f"i{at:02}") for user in users for at in rng.sample(range(ITEMS), 5)]
    return Drawn(systems, tuple(pairs), lists, labels, heldout)


def stored(
    path: Path, project: Drawn, names: Mapping[str, str], seed: int, *, older: bool = False
) -> Project:
    """The project with its systems called `names`, all rows in an order drawn by `seed`; `older`: the same people had
    labelled other lists of the same systems before these were imported."""
    rng = random.Random(seed)
    made = new_project(path)
    _load(made, "items", [("item_id", "title", "category"),
                          *((f"i{at:02}", f"Film {at}", f"genre {at % 4}") for at in range(ITEMS))])  # fmt: skip
    _load(made, "events", [("user_id", "item_id", "type", "value"),
                           *(_shuffled(rng, [(*row, "heldout_rating", 5) for row in project.heldout]))])  # fmt: skip
    if older:
        _older_generation(made, rng, project, names)
    rows = [
        (user, names[system], item, rank)
        for (user, system), items in project.lists.items()
        for rank, item in enumerate(items, 1)
    ]
    _load(made, "lists", [("user_id", "system", "item_id", "rank"), *_shuffled(rng, rows)])
    people: dict[str, dict[int, float | None]] = {name: {} for name in PEOPLE}
    judges: dict[str, dict[int, tuple[float | None, float | None]]] = {name: {} for name in JUDGES}
    for pair in _shuffled(rng, project.pairs):
        turned = names[pair.first] > names[pair.second]
        a, b = (pair.second, pair.first) if turned else (pair.first, pair.second)
        case = pair_case(made, pair.user, names[a], names[b])
        for name, value in pair.people.items():
            people[name][case] = _turned(value, turned)
        for name, by_first in pair.judges.items():
            judges[name][case] = _turned(by_first[a], turned), _turned(by_first[b], turned)
    for name, verdicts in people.items():
        give(
            made,
            name,
            {case: value for case, value in verdicts.items() if value is not None},
            protocol_name="pairwise",
        )
    for name, answers in judges.items():
        judge_pairs(made, name, answers)
    _adversarial(made, rng, project, names)
    by_list = {
        case: list_case(made, case[0], names[case[1]]) for case in _shuffled(rng, list(project.labels))
    }
    labels = [
        (
            name,
            user,
            names[system],
            "overall",
            values[name],
            "pointwise",
            "annotator",
            _flags(project, user, system, values),
        )
        for (user, system), values in project.labels.items()
        for name in PEOPLE
    ]
    _load(made, "labels", [_LABELS, *_shuffled(rng, labels)])
    for name in JUDGES:
        judge_lists(made, name, {by_list[case]: labels[name] for case, labels in project.labels.items()})
    made.db.execute(
        """UPDATE verdicts SET confidence = (SELECT 0.5 + (unicode(substr(c.user_id, 3)) % 5) / 10.0 FROM cases c
           WHERE c.id = case_id) WHERE run_id IS NOT NULL"""
    )
    made.db.execute(
        "UPDATE cases SET served_at = '2026-05-0' || (1 + unicode(substr(user_id, 3)) % 3) || 'T08:00:00+00:00'"
    )
    made.db.connection.commit()
    return made


def _older_generation(made: Project, rng: random.Random, project: Drawn, names: Mapping[str, str]) -> None:
    rows = [
        (user, names[system], f"i{at:02}", rank)
        for user, system in project.lists
        for rank, at in enumerate(rng.sample(range(ITEMS), 6), 1)
    ]
    _load(made, "lists", [("user_id", "system", "item_id", "rank"), *rows])
    labels = [
        (name, user, names[system], "overall", rng.randrange(3), "pointwise", "annotator", "")
        for user, system in project.lists
        for name in PEOPLE
    ]
    _load(made, "labels", [_LABELS, *labels])


def _adversarial(made: Project, rng: random.Random, project: Drawn, names: Mapping[str, str]) -> None:
    """What two people say of a user's own list and one made for somebody else: as they rate the list."""
    for name in PEOPLE[:2]:
        values = {}
        for (user, system), labels in _shuffled(rng, list(project.labels.items())):
            case = pair_case(made, user, *pair_names("published", names[system]))
            values[case] = _sign(1 - (labels[name] or 0.0))
        give(made, name, values, protocol_name=ADVERSARIAL)


def _flags(project: Drawn, user: str, system: str, values: Mapping[str, float | None]) -> str:
    """The items of poor lists are flagged; whether a person does depends on the label alone."""
    return f"{project.lists[user, system][0]}:off-category" if values["ben"] == 0 else ""


def _load(made: Project, kind: ImportKind, rows: Sequence[Sequence[object]]) -> None:
    path = made.db.path.with_suffix(f".{kind}.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    import_files(made.db, "films", [path], kind)


def _shuffled(rng: random.Random, rows: Sequence[T]) -> list[T]:
    return rng.sample(list(rows), len(rows))


def _turned(value: float | None, turned: bool) -> float | None:
    return -value if turned and value else value


def _said(rng: random.Random, truth: float, wrong: float) -> float | None:
    if rng.random() < 0.03:
        return None
    return float(rng.choice((1, 0, -1))) if rng.random() < wrong else truth


def _sign(value: float) -> float:
    return 0.0 if abs(value) < 0.3 else 1.0 if value > 0 else -1.0
