"""Slopes of ratings on the length, popularity and uniformity of what is rated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.reports.biases import BEYOND, RATING
from tests.support.runs import load
from tests.support.verdicts import Project, give, list_case, new_project, only, table

GENRES = tuple("abcdefgh")
USERS = tuple(f"u{n:02}" for n in range(40))


def films(project: Project, *, categories: bool = True) -> None:
    """Four films of each genre; those of the first genres were seen most often, and have the longest titles."""
    rows = [
        (f"{genre}{n}", f"Film {genre} {word}{' again' * (8 - at)}", genre if categories else "")
        for at, genre in enumerate(GENRES)
        for n, word in enumerate(("one", "two", "three", "four"))
    ]
    load(project.db, "items", [("item_id", "title", "category"), *rows])
    events = [
        (f"u{n:02}", f"{genre}{item}", "click")
        for at, genre in enumerate(GENRES)
        for n in range(16 - 2 * at)
        for item in range(4)
    ]
    load(project.db, "events", [("user_id", "item_id", "type"), *events])


def lists_of_kinds(project: Project) -> dict[tuple[str, str], list[str]]:
    """Three lists of four items of each user, of 1 to 4 genres; the genre of each item."""
    rng = np.random.default_rng(1)
    rows: list[tuple[object, ...]] = [("user_id", "system", "item_id", "rank")]
    shown: dict[tuple[str, str], list[str]] = {}
    for user in USERS:
        for system in ("mixed", "other", "same"):
            chosen = rng.choice(GENRES, int(rng.integers(1, 5)), replace=False).tolist()
            shown[user, system] = [chosen[at % len(chosen)] for at in range(4)]
            rows += [
                (user, system, f"{genre}{at // len(chosen)}", at + 1)
                for at, genre in enumerate(shown[user, system])
            ]
    load(project.db, "lists", rows)
    return shown


@pytest.fixture
def project(project_db: Path) -> Project:
    """People rate by a list's quality; `judge` rates uniform lists higher, `fair` does not."""
    project = new_project(project_db)
    films(project)
    rng = np.random.default_rng(2)
    raters: dict[str, dict[int, float | None]] = {"people": {}, "judge": {}, "fair": {}}
    for (user, system), genres in lists_of_kinds(project).items():
        case = list_case(project, user, system)
        quality = rng.integers(0, 3)
        raters["people"][case] = float(quality)
        raters["fair"][case] = float(np.clip(quality + rng.integers(-1, 2), 0, 2))
        raters["judge"][case] = float(np.clip(quality + (2.5 - len({*genres})) * 0.6, 0, 2).round())
    for name, values in raters.items():
        give(project, name, values, kind="annotator" if name == "people" else "judge")
    return project


def uniformity(genres: list[str]) -> float:
    pairs = [(a, b) for at, a in enumerate(genres) for b in genres[at + 1 :]]
    return sum(a == b for a, b in pairs) / len(pairs)


def test_the_slope_is_that_of_least_squares_with_an_intercept_for_every_user(project: Project) -> None:
    shown = lists_of_kinds(project)
    values: dict[int, float] = {
        row[0]: row[1]
        for row in project.db.rows(
            "SELECT v.case_id, v.value FROM verdicts v JOIN raters r ON r.id = v.rater_id WHERE r.name = 'judge'"
        )
    }
    keys = list(shown)
    y = np.array([values[list_case(project, *key)] for key in keys])
    user = np.array([USERS.index(key[0]) for key in keys])
    measures = {
        "homogeneity": [uniformity(shown[key]) for key in keys],
        "popularity": [np.mean([16 - 2 * GENRES.index(genre) for genre in shown[key]]) for key in keys],
    }
    found = table(project, "biases", rater="judge", truth="people", k=4)
    for name, measured in measures.items():
        x = np.array(measured)
        # deviations from the users' means: a line of the one on the other
        own_x, own_y = (
            part - np.array([part[user == u].mean() for u in range(len(USERS))])[user] for part in (x, y)
        )
        row = only(found, covariate=name, figure=RATING)
        assert row["value"] == pytest.approx(np.polyfit(own_x / x.std(), own_y, 1)[0])
        assert row["sd"] == pytest.approx(x.std())
        own, further = row["value"], only(found, covariate=name, figure=BEYOND)["value"]
        theirs = only(table(project, "biases", rater="people", k=4), covariate=name)["value"]
        assert further == pytest.approx(float(str(own)) - float(str(theirs)))
