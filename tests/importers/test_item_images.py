"""The images of a file's items: stored with it or, where one cannot be used, nothing is."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.data import image_contents
from recjudge_tui.store.database import Database
from recjudge_tui.store.imports import undo_import
from recjudge_tui.store.projects import project_id
from tests.support.images import picture


def table(folder: Path, *rows: str, header: str = "item_id,title,image") -> Path:
    path = folder / "items.csv"
    path.write_text("\n".join((header, *rows)) + "\n", encoding="utf-8")
    return path


def stored(db: Database) -> dict[str, str | None]:
    return {row[0]: row[1] for row in db.rows("SELECT item_id, image FROM v_current_items ORDER BY item_id")}


def count(db: Database, name: str) -> int:
    number: int = db.value(f"SELECT count(*) FROM {name}")
    return number


def test_items_have_images_by_path_and_by_data(db: Database, tmp_path: Path) -> None:
    (tmp_path / "pics").mkdir()
    (tmp_path / "pics" / "one two.png").write_bytes(picture("red"))
    data = base64.b64encode(picture("blue")).decode()
    path = tmp_path / "items.csv"
    path.write_text(
        f'item_id,title,image\na,A,pics/one two.png\nb,B,"data:image/png;base64,{data}"\nc,C,\nd,D,pics/one two.png\n'
    )
    (summary,) = import_paths(db, "shop", [tmp_path], None)
    images = stored(db)
    assert images["a"] == images["d"] != images["b"]
    assert images["c"] is None
    assert count(db, "images") == 2
    assert image_contents(db, [images["a"] or ""])[images["a"] or ""].startswith(b"\xff\xd8")
    assert [json.loads(row[0]) for row in db.rows("SELECT attributes FROM items")] == [{}] * 4
    assert summary.files[0].stored == 4


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("none.png", "no such file"), ("../outside.png", "outside the folder"),
        ("/outside.png", "outside the folder"), ("link.png", "outside the folder"), ("text.png", "not an image"),
        ("data:image/png;base64", "no comma"), ("file:///etc/passwd", "addresses are not supported"),
    ],
)  # fmt: skip
def test_an_image_that_cannot_be_used_stops_the_import(
    db: Database, tmp_path: Path, image: str, why: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "outside.png").write_bytes(picture())
    (folder / "link.png").symlink_to("../outside.png")
    (folder / "text.png").write_text("no picture")
    (folder / "good.png").write_bytes(picture())
    path = table(folder, "a,A,good.png", f"b,B,{image}")
    with pytest.raises(InputError, match=why) as error:
        import_files(db, "shop", [path], "items")
    assert re.match(rf"{re.escape(str(path))}:3: image ", error.value.title)
    assert (count(db, "items"), count(db, "images"), count(db, "imports")) == (0, 0, 0)


def test_an_address_is_kept_and_not_fetched(db: Database, tmp_path: Path) -> None:
    path = table(tmp_path, "a,A,http://127.0.0.1:9/a.png", "b,B,HTTPS://127.0.0.1:9/b.png")
    summary = import_files(db, "shop", [path], "items")
    assert stored(db) == {"a": None, "b": None}
    assert any("2 images named by an http(s) address" in r for r in summary.files[0].remarks)
    kept = [json.loads(row[0]) for row in db.rows("SELECT attributes FROM items ORDER BY item_id")]
    assert kept == [{"image": "http://127.0.0.1:9/a.png"}, {"image": "HTTPS://127.0.0.1:9/b.png"}]


def test_undoing_an_import_takes_its_images_away(db: Database, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture("red"))
    (tmp_path / "b.png").write_bytes(picture("blue"))
    first = import_files(db, "shop", [table(tmp_path, "a,A,a.png")], "items").files[0].import_id
    import_files(db, "shop", [table(tmp_path, "b,B,b.png")], "items")
    import_files(db, "other", [table(tmp_path, "a,A,a.png")], "items")
    assert first is not None
    undo_import(db, first)
    assert count(db, "images") == 2, "another project has the same image"
    undo_import(db, db.value("SELECT max(id) FROM imports WHERE project_id = ?", (project_id(db, "other"),)))
    assert count(db, "images") == 1
