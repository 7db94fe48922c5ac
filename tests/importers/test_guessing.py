"""Which layout a file is known to have, from its content and whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.records import ImportKind
from recjudge_tui.errors import InputError
from recjudge_tui.importers.load import import_files
from recjudge_tui.importers.reader import sample_of
from recjudge_tui.importers.registry import FilesByKind, choose_layout
from recjudge_tui.store.database import Database
from tests.support import samples

GUESSES: list[tuple[str, str | bytes, ImportKind, str]] = [
    ("u.data", samples.U_DATA, "events", "movielens-100k"),
    ("u.item", samples.U_ITEM, "items", "movielens-100k"),
    ("u.user", samples.U_USER, "users", "movielens-100k"),
    ("ratings.dat", samples.RATINGS_DAT, "events", "movielens-1m"),
    ("half stars", samples.RATINGS_DAT.replace("::3::", "::3.5::"), "events", "movielens-1m"),
    ("tags.dat", samples.TAGS_DAT, "events", "movielens-1m"),
    ("movies.dat", samples.MOVIES_DAT, "items", "movielens-1m"),
    ("users.dat", samples.USERS_DAT, "users", "movielens-1m"),
    ("ratings.csv", samples.RATINGS_CSV, "events", "movielens-latest"),
    ("tags.csv", samples.TAGS_CSV, "events", "movielens-latest"),
    ("movies.csv", samples.MOVIES_CSV, "items", "movielens-latest"),
    ("news.tsv", samples.NEWS, "items", "mind-news"),
    ("behaviors.tsv", samples.BEHAVIORS, "events", "mind"),
    ("unlabelled", samples.BEHAVIORS.replace("-0", "").replace("-1", ""), "events", "mind"),
    ("prediction.txt", samples.PREDICTION, "lists", "mind"),
    ("plain items", samples.ITEMS, "items", "plain"),
    ("plain events", samples.EVENTS, "events", "plain"),
    ("plain lists", samples.LISTS, "lists", "plain"),
    ("plain battles", samples.BATTLES, "labels", "plain"),
    ("plain, tabs", samples.EVENTS.replace(",", "\t"), "events", "plain"),
    ("plain, bars", samples.ITEMS.replace(",", "|"), "items", "plain"),
    ("plain, JSON", '{"item_id": 7, "title": "Glass"}\n', "items", "plain"),
]


@pytest.mark.parametrize(("what", "content", "kind", "layout"), GUESSES, ids=[g[0] for g in GUESSES])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_guess(
    tmp_path: Path, ends: str, what: str, content: str | bytes, kind: ImportKind, layout: str
) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / "file.bin"
    path.write_bytes(raw.replace(b"\n", ends.encode()))
    assert choose_layout(sample_of(path), kind, None).name == layout
    found = FilesByKind()
    found.add([path], None)
    assert found.files == {kind: [path]}
    others: tuple[ImportKind, ...] = ("items", "users", "events", "lists", "explanations")
    if layout == "plain":
        return
    for other in others:
        if other != kind:
            with pytest.raises(
                InputError, match=f"contains {kind}, not {other} .*layout {layout}.*--as {kind}"
            ):
                choose_layout(sample_of(path), other, None)


def test_a_folder_called_train_makes_a_training_log(tmp_path: Path) -> None:
    folder = tmp_path / "MINDsmall_train"
    folder.mkdir()
    path = folder / "behaviors.tsv"
    path.write_text(samples.BEHAVIORS)
    assert choose_layout(sample_of(path), "events", None).name == "mind-train"
    assert choose_layout(sample_of(path), "events", "mind").name == "mind"


def test_a_file_that_no_layout_knows(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text(samples.LINKS_CSV)
    with pytest.raises(InputError, match=r"no column title Found: movieId, imdbId, tmdbId"):
        import_files(db, "p", [path], "items")
    with pytest.raises(InputError, match=r"cannot tell what .*links.csv contains .*--as"):
        FilesByKind().add([path], None)
    with pytest.raises(InputError, match=r"links.csv does not have title"):
        import_files(db, "p", [path], "items", layout="movielens-latest")


def test_a_column_for_the_system_makes_no_attribute_of_users(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("user,model,accuracy\n1,als,4\n2,als,3\n", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"(?s)--as users .*--as labels --mapping FILE.toml +answers about systems"
    ):
        FilesByKind().add([path], None)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "# made today\nuser,item,rank\n1,2,1\n",
            "Its first line is: # made today Delete the comment above the header",
        ),
        ("user item rank\n1 2 1\n", r"If spaces separate the columns, write “delimiter = \" \"”"),
        (
            '{"columns": ["user", "item"], "index": [0], "data": [["u", 3]]}',
            r"Write an object for each row \(pandas: orient='records'\)",
        ),
        (
            '{"model": "a", "rows": [{"user": 1, "items": [2]}]}',
            r"the array “rows”, write “within = .rows.” in a mapping",
        ),
        ("name,colour\na,red\n", "name,colour Name the kind with --as"),
    ],
)
def test_errors_about_unknown_files_say_what_to_do(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=f"cannot tell what .*{says}"):
        FilesByKind().add([path], None)


@pytest.mark.parametrize(
    ("layout", "kind", "says"),
    [
        ("movielens-100k", "events", r"file:1: not events of movielens-100k .*begins: “N1 sports"),
        ("movielens-1m", "items", r"file:1: not items of movielens-1m .*movies.dat"),
        ("mind", "events", r"file:1: 8 fields instead of 5"),
        ("mind", "lists", r"needs its behaviors.tsv Predictions are ranks"),
    ],
)  # fmt: skip
def test_a_named_layout_that_the_file_has_not(
    db: Database, tmp_path: Path, layout: str, kind: ImportKind, says: str
) -> None:
    path = tmp_path / "file"
    path.write_text(samples.NEWS)
    with pytest.raises(InputError, match=says):
        import_files(db, "p", [path], kind, layout=layout)
    assert db.value("SELECT count(*) FROM imports") == 0
