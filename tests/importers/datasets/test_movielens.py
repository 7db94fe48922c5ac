"""MovieLens 100K, 1M and latest, in samples of our own making."""

from __future__ import annotations

import json

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.store.database import Database
from tests.support import samples
from tests.support.importing import Load, rows_of

EVENTS = "SELECT user_id, type, item_id, text, timestamp, value FROM events ORDER BY id"
ITEMS = "SELECT item_id, title, category, attributes FROM items ORDER BY item_id"


def test_100k(load: Load, db: Database) -> None:
    assert load("items", samples.U_ITEM, "u.item").stored == 3
    assert load("users", samples.U_USER, "u.user").stored == 2
    summary = load("events", samples.U_DATA, "u.data")
    assert (summary.stored, summary.warning_count, summary.files[0].layout) == (3, 0, "movielens-100k")
    assert rows_of(db, ITEMS) == [
        ("301", "Café Nord: A Story (1991)", "Comedy|Drama", '{"release_date": "03-Mar-1991"}'),
        ("302", "The | Bar (1990)", "", '{"video_release_date": "01-Jan-1992"}'),
        ("303", "unknown", "", "{}"),
    ]
    users = {row[0]: json.loads(row[1]) for row in rows_of(db, "SELECT user_id, attributes FROM users")}
    assert users["12"] == {"age": "33", "gender": "F", "occupation": "librarian"}
    assert rows_of(db, EVENTS)[0] == ("12", "rating", "301", "", "1997-09-23T07:33:20+00:00", 4.0)


def test_1m(load: Load, db: Database) -> None:
    load("items", samples.MOVIES_DAT, "movies.dat")
    load("users", samples.USERS_DAT, "users.dat")
    assert load("events", samples.RATINGS_DAT, "ratings.dat").stored == 3
    assert load("events", samples.TAGS_DAT, "tags.dat").stored == 2
    assert [row[:3] for row in rows_of(db, ITEMS)] == [
        ("11", "Night: Part One: Dawn (1988)", "Drama|Sci-Fi"),
        ("12", "Élan, L' (1990)", "Children's"),
        ("13", "Odd::Title (1977)", "Comedy"),
    ]
    users = [json.loads(row[0]) for row in rows_of(db, "SELECT attributes FROM users ORDER BY user_id")]
    assert users == [
        {"age": "under 18", "gender": "F", "occupation": "K-12 student"},
        {"age": "56 or more", "gender": "M", "occupation": "self-employed"},
        {"age": "25-34", "gender": "M", "occupation": "writer"},
    ]
    events = rows_of(db, EVENTS)
    assert events[0] == ("1", "rating", "11", "", "2000-12-31T22:12:40+00:00", 5.0)
    assert [event[1:4] for event in events[3:]] == [("tag", "11", "slow: but good"), ("tag", "12", "1980s")]


def test_latest(load: Load, db: Database) -> None:
    load("items", samples.MOVIES_CSV, "movies.csv")
    load("events", samples.RATINGS_CSV, "ratings.csv")
    load("events", samples.TAGS_CSV, "tags.csv")
    assert [row[:3] for row in rows_of(db, ITEMS)] == [
        ("7", "Glass, The (1995)", "Adventure|Comedy"),
        ("8", 'A "Quoted" Film: Again (2001)', ""),
    ]
    events = rows_of(db, EVENTS)
    assert [event[5] for event in events] == [4.5, 0.5, 3.0, None]
    assert events[3][1:4] == ("tag", "7", "funny, dry")


@pytest.mark.parametrize(
    "header",
    [
        "movieId,rating,timestamp", "userId,rating,timestamp", "userId,movieId,timestamp", "userId,movieId,rating",
        "uſerId,movieId,rating,timestamp", "",
    ],
)  # fmt: skip
def test_ratings_of_latest_without_a_column_say_which_columns_are_needed(load: Load, header: str) -> None:
    with pytest.raises(InputError, match="userId, movieId, rating, timestamp"):
        load("events", f"{header}\n1,2,4.0,964982703\n", "ratings.csv", layout="movielens-latest")
