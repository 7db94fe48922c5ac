"""Images from the net: only when asked for, so many and so large at most, each once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge
from recjudge_tui.errors import InputError
from recjudge_tui.importers.folders import import_paths
from recjudge_tui.importers.images import MOST_BYTES
from recjudge_tui.store.database import Database
from tests.support.images import picture
from tests.support.stub_server import Stub, answer, serving


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECJUDGE_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def script(line: str, _: int) -> bytes | None:
    path = line.split()[1]
    if path == "/moved.png":
        return answer(302, b"", "Location: /red.png")
    if path == "/loop.png":
        return answer(302, b"", "Location: /loop.png")
    if path == "/away.png":
        return answer(302, b"", "Location: file:///etc/passwd")
    if path == "/page.png":
        return answer(200, b"<html>Sign in</html>")
    if path == "/large.png":
        return answer(200, b"x" * (MOST_BYTES + 1))
    if path == "/cut.png":
        return None
    return (
        answer(404, b"") if path == "/none.png" else answer(200, picture(path.strip("/").partition(".")[0]))
    )


@pytest.fixture
def net() -> Iterator[Stub]:
    with serving(script) as stub:
        yield stub


def table(folder: Path, *addresses: str) -> Path:
    path = folder / "items.csv"
    rows = [f"i{n},Item {n},{address}" for n, address in enumerate(addresses)]
    path.write_text("\n".join(("item_id,title,image", *rows)) + "\n")
    return path


def stored(db: Database) -> list[bool]:
    return [row[0] is not None for row in db.rows("SELECT image FROM v_current_items ORDER BY item_id")]


def test_each_address_is_fetched_once_and_kept(db: Database, tmp_path: Path, net: Stub) -> None:
    path = table(
        tmp_path, f"{net.url}/red.png", f"{net.url}/blue.png", f"{net.url}/red.png", f"{net.url}/moved.png"
    )
    (summary,) = import_paths(db, "shop", [path], "items", fetch_limit=10)
    assert stored(db) == [True] * 4
    assert db.value("SELECT count(*) FROM images") == 2
    assert summary.warnings == ()
    asked = len(net.heads)
    assert asked == 4
    import_paths(db, "other", [path], "items", fetch_limit=1)
    assert len(net.heads) == asked, "the cache has them, and they do not count"


def test_fetching_later_gives_the_items_their_images(db: Database, tmp_path: Path, net: Stub) -> None:
    path = table(tmp_path, f"{net.url}/red.png")
    import_paths(db, "shop", [path], "items")
    assert (stored(db), net.heads) == ([False], [])
    import_paths(db, "shop", [path], "items", fetch_limit=1)
    assert stored(db) == [True]


def test_nothing_is_fetched_beyond_the_limit(db: Database, tmp_path: Path, net: Stub) -> None:
    path = table(tmp_path, f"{net.url}/red.png", f"{net.url}/blue.png", f"{net.url}/red.png")
    with pytest.raises(InputError, match="2 images would be fetched, more than 1") as error:
        import_paths(db, "shop", [path], "items", fetch_limit=1)
    assert "--fetch-limit 2" in error.value.next_step
    assert (net.heads, db.value("SELECT count(*) FROM projects")) == ([], 0)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none.png", "the server answered 404"),
        ("large.png", "larger than 20 MB"),
        ("cut.png", "could not be fetched"),
        ("loop.png", "could not be fetched"),
        ("away.png", "could not be fetched"),
    ],
)
def test_an_image_that_cannot_be_fetched_is_a_warning(
    db: Database, tmp_path: Path, net: Stub, name: str, why: str
) -> None:
    path = table(tmp_path, f"{net.url}/{name}", f"{net.url}/red.png")
    (summary,) = import_paths(db, "shop", [path], "items", fetch_limit=10)
    assert stored(db) == [False, True]
    assert len(summary.warnings) == 1
    assert summary.warnings[0].startswith(f"{path}:2: image ")
    assert why in summary.warnings[0]


def test_an_address_that_is_none_is_a_warning(db: Database, tmp_path: Path) -> None:
    path = table(tmp_path, "http://", "http://127.0.0.1:1/a.png", "http://[/a.png")
    (summary,) = import_paths(db, "shop", [path], "items", fetch_limit=10)
    assert stored(db) == [False] * 3
    assert len(summary.warnings) == 3


def test_a_page_instead_of_an_image_stops_the_import(db: Database, tmp_path: Path, net: Stub) -> None:
    path = table(tmp_path, f"{net.url}/red.png", f"{net.url}/page.png")
    with pytest.raises(InputError, match="It is not an image"):
        import_paths(db, "shop", [path], "items", fetch_limit=10)
    assert db.value("SELECT count(*) FROM images") == 0


def test_the_command(project_db: Path, tmp_path: Path, net: Stub) -> None:
    path = table(tmp_path, f"{net.url}/red.png")
    words = ["import", str(path), "-p", "shop", "--as", "items", "--db", str(project_db)]
    plain = CliRunner().invoke(recjudge, words)
    assert plain.exit_code == 0
    assert "1 image not fetched from the internet: add --fetch-images" in plain.output
    assert not net.heads
    wrong = CliRunner().invoke(recjudge, [*words, "--fetch-limit", "3"])
    assert wrong.exit_code == 2
    fetched = CliRunner().invoke(recjudge, [*words, "--fetch-images"])
    assert fetched.exit_code == 0, fetched.output
    assert len(net.heads) == 1
