"""Small pictures as files have them, and a project of films with images."""

from __future__ import annotations

import csv
from io import BytesIO
from pathlib import Path

from PIL import Image

from recjudge_tui.domain.calls import Message, PlacedImage, Request
from recjudge_tui.importers.images import prepared
from recjudge_tui.importers.load import import_files
from recjudge_tui.store.database import Database
from tests.support.judge_calls import SCHEMA

COLOURS = ("red", "green", "blue", "orange", "purple", "teal")


def picture(
    colour: str = "red", size: tuple[int, int] = (60, 90), form: str = "PNG", mode: str = "RGB"
) -> bytes:
    """A picture of one colour in a format of Pillow."""
    content = BytesIO()
    Image.new(mode, size, colour).save(content, form)
    return content.getvalue()


def illustrated(db: Database, folder: Path, count: int = 100) -> None:
    """Give the first `count` films of the project `films` an image each, of six different ones."""
    (folder / "images").mkdir(parents=True)
    for n, colour in enumerate(COLOURS):
        (folder / "images" / f"{n}.png").write_bytes(picture(colour))
    path = folder / "items.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("item_id", "title", "category", "image"))
        writer.writerows(
            (f"i{n}", f"Film number {n}", f"genre {n % 5}", f"images/{n % 6}.png") for n in range(count)
        )
    import_files(db, "films", [path], "items")


def asking_with_images(count: int = 2) -> Request:
    """A request whose second message has the lines of `count` items, each with its image behind it."""
    text, placed = "", []
    for n in range(count):
        image = prepared(picture(COLOURS[n]))
        text += f"{n + 1}. Film {n} [image {n + 1}]"
        placed.append(PlacedImage(at=len(text), image=image.view, data=image.content))
        text += "\n"
    messages = (
        Message(role="system", content="You judge lists."),
        Message(role="user", content=text + "Judge it.", images=tuple(placed)),
    )
    return Request(messages=messages, reply_schema=SCHEMA)
