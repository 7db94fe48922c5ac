"""The images of items: each stored once for equal content, and named by its digest."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.errors import NotFoundError
from recjudge_tui.store.database import Database

if TYPE_CHECKING:
    from recjudge_tui.domain.material import ImageView, ItemView


class StoredImage(NamedTuple):
    """An image with its content, which is JPEG."""

    view: ImageView
    content: bytes


def add_image(db: Database, image: StoredImage) -> None:
    """Store an image unless it is stored already. Call inside a transaction."""
    db.execute(
        "INSERT INTO images (digest, width, height, content) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING",
        (image.view.digest, image.view.width, image.view.height, image.content),
    )


def image_contents(db: Database, digests: Collection[str]) -> dict[str, bytes]:
    """digest -> the bytes of each of these images. Raises NotFoundError when one is not stored."""
    rows = db.rows(
        "SELECT digest, content FROM images WHERE digest IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(digests)),),
    )
    contents = {row[0]: row[1] for row in rows}
    if missing := sorted(set(digests) - contents.keys()):
        raise NotFoundError(
            f"image {missing[0][:12]}… is not stored any more", "It was deleted from the database."
        )
    return contents


def item_images(db: Database, project_id: int, items: Collection[str]) -> dict[str, ImageView]:
    """item_id -> its current image, for those of these items that have one."""
    from recjudge_tui.domain.material import ImageView

    rows = db.rows(
        """SELECT i.item_id, m.digest, m.width, m.height FROM v_current_items i JOIN images m ON m.digest = i.image
           WHERE i.project_id = ? AND i.item_id IN (SELECT value FROM json_each(?))""",
        (project_id, json.dumps(sorted(items))),
    )
    return {row[0]: ImageView(digest=row[1], width=row[2], height=row[3]) for row in rows}


def with_images(items: Collection[ItemView], images: Mapping[str, ImageView]) -> tuple[ItemView, ...]:
    """The items, each with its image where it has one."""
    return tuple(
        item.model_copy(update={"image": images[item.item_id]}) if item.item_id in images else item
        for item in items
    )


def any_images(db: Database, project_id: int) -> bool:
    """Whether items of the project have images."""
    row = db.row("SELECT 1 FROM items WHERE project_id = ? AND image IS NOT NULL LIMIT 1", (project_id,))
    return row is not None


def brought_images(db: Database, import_id: int) -> bool:
    """Whether items of this import have images."""
    return db.row("SELECT 1 FROM items WHERE import_id = ? AND image IS NOT NULL", (import_id,)) is not None


def delete_unused_images(db: Database) -> None:
    """Delete the images that belong to no item and were shown in no run. Call inside a transaction."""
    db.execute(
        """DELETE FROM images WHERE NOT EXISTS (SELECT 1 FROM items WHERE items.image = images.digest)
           AND digest NOT IN (
             SELECT shown.value FROM snapshots s, json_tree(s.content) shown
             WHERE s.content LIKE '%"digest":%' AND shown.key = 'digest' AND shown.type = 'text')"""
    )
