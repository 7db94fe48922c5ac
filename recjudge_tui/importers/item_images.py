"""Stores the images of a file's items. Errors name the file and line of an image that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from recjudge_tui.domain.records import Item
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.notes import Notes
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.images import (
    ImageFault,
    MissingPillow,
    is_address,
    prepared,
    read_local,
)
from recjudge_tui.store.data import add_image
from recjudge_tui.store.database import Database

# an attribute of this name keeps the address of an image
ADDRESS = "image"
_LONGEST_KEY = 2_000


@dataclass
class ItemImages:
    """The images of one file's items. `folder` is the file's own (None: it is the standard input). `stored`: reference ->
    digest, of the images met so far. `addresses` counts the images that are only named by an address."""

    db: Database
    notes: Notes
    folder: Path | None
    stored: dict[str, str] = field(default_factory=dict)
    addresses: int = 0

    def store(self, line: int, item: Item) -> Item:
        """The item with the digest of its image, after storing the image.

        Nothing is fetched: an item whose image is an http(s) address keeps it as an attribute. Call inside a
        transaction. Raises InputError for an image that cannot be used.
        """
        reference = item.image
        if not reference:
            return item
        if is_address(reference):
            self.addresses += 1
            return item.model_copy(
                update={"image": "", "attributes": {**item.attributes, ADDRESS: reference}}
            )
        digest = self.stored.get(reference) or self._stored(line, item)
        # images inside the table would fill the memory
        if len(reference) <= _LONGEST_KEY:
            self.stored[reference] = digest
        return item.model_copy(update={"image": digest})

    def _stored(self, line: int, item: Item) -> str:
        reference = item.image
        try:
            image = prepared(read_local(reference, self.folder))
        except ImageFault as fault:
            raise InputError(
                f"{self.notes.file}:{self.notes.unit}{line}: image {shown(reference)} cannot be used",
                f"{str(fault)[:1].upper()}{str(fault)[1:]}.",
                "Correct it or leave the cell empty; nothing was stored.",
            ) from None
        except MissingPillow:
            raise InputError(
                f"{self.notes.file}:{self.notes.unit}{line}: the images of items cannot be read",
                "The extra “images” is not installed.",
                "Install it with: pip install 'recjudge[images]' — or leave out the column “image”.",
            ) from None
        add_image(self.db, image)
        return image.view.digest

    def remark(self) -> None:
        """Add a remark on images that are only named by an address."""
        if self.addresses:
            self.notes.remark(
                f"{quantity(self.addresses, 'image')} named by an http(s) address: nothing is fetched, and the address is"
                f" kept as attribute “{ADDRESS}”; to show these images, save them as files and give their paths"
            )
