"""Images of items: what is read, what is refused, and what of a file goes on."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest
from PIL import ExifTags, Image, PngImagePlugin

from recjudge_tui.importers.images import MOST_BYTES, prepared, read_local
from recjudge_tui.importers.values import RowFault
from tests.support.images import picture


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of_size(width: int, height: int) -> bytes:
    """A PNG that announces this many pixels and holds a few bytes."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_no_metadata_goes_on_and_a_turned_photo_stands_upright() -> None:
    photo = Image.new("RGB", (80, 40), "green")
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    exif[ExifTags.Base.ImageDescription] = "SECRET place"
    content = BytesIO()
    photo.save(content, "JPEG", exif=exif, comment=b"SECRET comment", icc_profile=b"SECRET profile")
    stored = prepared(content.getvalue())
    assert b"SECRET" not in stored.content
    assert (stored.view.width, stored.view.height) == (40, 80)
    text = PngImagePlugin.PngInfo()
    text.add_text("Author", "SECRET author")
    content = BytesIO()
    photo.save(content, "PNG", pnginfo=text)
    assert b"SECRET" in content.getvalue()
    assert b"SECRET" not in prepared(content.getvalue()).content


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"not a picture", "not an image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image"),
        (picture()[:60], "damaged"),
        (picture(form="JPEG")[:200], "not an image|damaged"),
        (png_of_size(100_000, 100_000), "far too many pixels"),
        (png_of_size(10_000, 10_000), "far too many pixels"),
        (png_of_size(9_000, 9_000), "at most 40 million"),
        (png_of_size(0, 0), "not an image|no pixels|damaged"),
        (png_of_size(64, 64), "damaged"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"\0" * 5), "not an image|damaged"),
        (b"GIF89a" + b"\xff" * 100, "not an image|damaged|far too many"),
        (b"x" * (MOST_BYTES + 1), "larger than 20 MB"),
    ],
)
def test_a_file_that_is_no_image_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(RowFault, match=why):
        prepared(content)


class TestWhereAnImageIs:
    def test_a_file_in_the_folder_or_below(self, tmp_path: Path) -> None:
        (tmp_path / "a b").mkdir()
        (tmp_path / "a b" / "é.png").write_bytes(b"1")
        assert read_local("a b/é.png", tmp_path) == b"1"
        assert read_local("./a b/../a b/é.png", tmp_path) == b"1"

    @pytest.mark.parametrize(
        "name", ["../secret.png", "/etc/hostname", "pics/../../secret.png", "link.png", "dir/secret.png"]
    )
    def test_nothing_outside_is_read(self, tmp_path: Path, name: str) -> None:
        folder = tmp_path / "data"
        (folder / "pics").mkdir(parents=True)
        (tmp_path / "secret.png").write_bytes(picture())
        (folder / "link.png").symlink_to(tmp_path / "secret.png")
        (folder / "dir").symlink_to(tmp_path)
        with pytest.raises(RowFault, match="outside the folder"):
            read_local(name, folder)

    def test_a_link_that_stays_inside_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(b"1")
        (tmp_path / "b.png").symlink_to("a.png")
        assert read_local("b.png", tmp_path) == b"1"

    def test_what_is_no_regular_file_is_refused_without_waiting(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.png")
        (tmp_path / "loop.png").symlink_to("loop.png")
        for name, why in (
            ("pipe.png", "not a regular file"),
            (".", "not a regular file"),
            ("none.png", "no such file"),
            ("loop.png", "cannot be read|no such file"),
            ("x" * 5000, "cannot be read|no such file"),
            ("nul\0.png", "cannot be read"),
        ):
            with pytest.raises(RowFault, match=why):
                read_local(name, tmp_path)

    def test_a_file_that_is_too_large_is_not_read_whole(self, tmp_path: Path) -> None:
        with (tmp_path / "big.png").open("wb") as file:
            file.truncate(MOST_BYTES * 50)
        with pytest.raises(RowFault, match="larger than 20 MB"):
            read_local("big.png", tmp_path)

    @pytest.mark.parametrize("name", ["file:///etc/passwd", "ftp://h/a.png", "s3://b/a.png"])
    def test_other_addresses_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(RowFault, match="addresses are not supported"):
            read_local(name, tmp_path)

    def test_the_standard_input_has_no_folder(self) -> None:
        with pytest.raises(RowFault, match="standard input"):
            read_local("a.png", None)

    def test_data_in_the_table_itself(self) -> None:
        encoded = base64.b64encode(b"abc").decode()
        assert read_local(f"data:image/png;base64,{encoded}", None) == b"abc"
        assert read_local(f"DATA:;BASE64,{encoded[:2]}\n{encoded[2:]}", None) == b"abc"
        assert read_local("data:text/plain,a%62c", None) == b"abc"
        for text, why in (
            ("data:image/png;base64,€", "not base64"),
            ("data:image/png;base64,abc", "not base64"),
            ("data:image/png", "no comma"),
            ("data:;base64," + "A" * (MOST_BYTES * 2), "larger than 20 MB"),
        ):
            with pytest.raises(RowFault, match=why):
                read_local(text, None)
