"""The images that items name: checked, scaled down and encoded again, so that only the pixels of the file are used; errors
name the file and line of an image that cannot be used."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import warnings
import zlib
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote_to_bytes

from recjudge_tui.domain.material import ImageView
from recjudge_tui.domain.records import Item
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.importers.values import Notes, RowFault, refusal, refuse
from recjudge_tui.store.data import StoredImage, add_image
from recjudge_tui.store.database import Database

LONGEST_SIDE = 512
MOST_PIXELS = 40_000_000
MOST_BYTES = 20 * 1024 * 1024
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_QUALITY = 85
_KIND = "image"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
# what Pillow raises for damaged or malicious files
_FAULTS = (
    OSError, ValueError, TypeError, SyntaxError, LookupError, EOFError, MemoryError, OverflowError, struct.error,
    zlib.error,
)  # fmt: skip


_LARGE = f"it is larger than {MOST_BYTES // 2**20} MB"


def read_local(reference: str, folder: Path | None) -> bytes:
    """The bytes that a `data:` URI holds, or those of a file in `folder`, which links cannot leave.

    Raises RowFault.
    """
    if reference.lower().startswith("data:"):
        head, comma, body = reference.partition(",")
        refuse(not comma, _KIND, "the data: URI has no comma before its data")
        refuse(len(body) * 3 // 4 - 3 > MOST_BYTES, _KIND, _LARGE)
        try:
            if not head.lower().endswith(";base64"):
                return unquote_to_bytes(body)
            return base64.b64decode("".join(body.split()), validate=True)
        except ValueError:
            raise RowFault(_KIND, "the data: URI is not base64") from None
    if scheme := _SCHEME.match(reference):
        raise RowFault(_KIND, f"“{scheme[0]}” addresses are not supported; give a path or a data: URI")
    if folder is None:
        raise RowFault(_KIND, "an image cannot be found by its path when the table comes from standard input")
    try:
        inside = folder.resolve()
        path = (inside / reference).resolve()
        refuse(not path.is_relative_to(inside), _KIND, f"it is outside the folder {folder}")
        refuse(not path.exists(), _KIND, "there is no such file")
        refuse(not path.is_file(), _KIND, "it is not a regular file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise RowFault(_KIND, f"it cannot be read: {one_line(why, 100)}") from None
    refuse(len(content) > MOST_BYTES, _KIND, _LARGE)
    return content


def prepared(content: bytes) -> StoredImage:
    """The image as it is stored and sent: upright, at most 512 pixels wide and high, without transparency, as JPEG.
    Only the first frame of an animation. Raises RowFault.
    """
    refuse(len(content) > MOST_BYTES, _KIND, _LARGE)
    refuse(not content, _KIND, "it is empty")
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError:
        missing = "images are read by the extra “images”: pip install 'recjudge[images]'"
        raise RowFault(_KIND, missing) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(BytesIO(content), formats=FORMATS) as picture:
                width, height = picture.size
                refuse(width < 1 or height < 1, _KIND, "it has no pixels")
                most = f"at most {MOST_PIXELS // 10**6} million are read"
                refuse(width * height > MOST_PIXELS, _KIND, f"it has {width:,} x {height:,} pixels; {most}")
                palette = picture.mode in ("P", "PA", "1")
                scaled: Image.Image = picture.convert("RGBA") if palette else picture
                scaled.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                upright = ImageOps.exif_transpose(scaled)
                # the new image has none of the metadata of the old one
                clean = Image.new("RGB", upright.size, "white")
                clean.paste(upright, mask=upright.getchannel("A") if upright.mode in ("RGBA", "LA") else None)
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise RowFault(_KIND, "it would unpack to far too many pixels") from None
        except UnidentifiedImageError:
            raise RowFault(_KIND, f"it is not an image ({', '.join(FORMATS)})") from None
        except _FAULTS as error:
            raise RowFault(_KIND, f"it is damaged: {one_line(error, 100) or type(error).__name__}") from None
    written = BytesIO()
    clean.save(written, "JPEG", quality=_QUALITY)
    data = written.getvalue()
    view = ImageView(digest=hashlib.sha256(data).hexdigest(), width=clean.width, height=clean.height)
    return StoredImage(view, data)


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
        if reference.lower().startswith(("http://", "https://")):
            self.addresses += 1
            return item._replace(image="", attributes={**item.attributes, ADDRESS: reference})
        if (digest := self.stored.get(reference)) is None:
            try:
                image = prepared(read_local(reference, self.folder))
            except RowFault as fault:
                place, why = f"{self.notes.file}:{self.notes.unit}{line}", fault.text
                raise refusal("image", place=place, name=reference, why=why[0].upper() + why[1:]) from None
            add_image(self.db, image)
            digest = image.view.digest
        # images inside the table would fill the memory
        if len(reference) <= _LONGEST_KEY:
            self.stored[reference] = digest
        return item._replace(image=digest)

    def remark(self) -> None:
        """Add a remark on images that are only named by an address."""
        if self.addresses:
            self.notes.remark("addresses", images=quantity(self.addresses, "image"))
