"""The images that items name: checked, scaled down and encoded again, so that only the pixels of the file are used."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import warnings
import zlib
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote_to_bytes

from recjudge_tui.domain.material import ImageView
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.data import StoredImage

LONGEST_SIDE = 512
MOST_PIXELS = 40_000_000
MOST_BYTES = 20 * 1024 * 1024
FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
_QUALITY = 85
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
# what Pillow raises for damaged or malicious files
_FAULTS = (
    OSError, ValueError, TypeError, SyntaxError, LookupError, EOFError, MemoryError, OverflowError, struct.error,
    zlib.error,
)  # fmt: skip


class ImageFault(Exception):  # noqa: N818 - a finding about one image, which the caller names by file and line
    """An image that cannot be used; the text says why."""


class MissingPillow(Exception):  # noqa: N818 - not the image's fault
    """The package that reads images is not installed."""


def is_address(reference: str) -> bool:
    """Whether the image is in the net, from which nothing is fetched."""
    return reference.lower().startswith(("http://", "https://"))


def read_local(reference: str, folder: Path | None) -> bytes:
    """The bytes that a `data:` URI holds, or those of a file in `folder`, which links cannot leave.

    Raises ImageFault.
    """
    if reference.lower().startswith("data:"):
        return _of_data(reference)
    if scheme := _SCHEME.match(reference):
        raise ImageFault(f"“{scheme[0]}” addresses are not supported; give a path or a data: URI")
    if folder is None:
        raise ImageFault("an image cannot be found by its path when the table comes from standard input")
    return _of_file(reference, folder)


def _of_data(reference: str) -> bytes:
    head, comma, body = reference.partition(",")
    if not comma:
        raise ImageFault("the data: URI has no comma before its data")
    if len(body) > MOST_BYTES * 4 // 3 + 4:
        raise _too_large()
    try:
        if not head.lower().endswith(";base64"):
            return unquote_to_bytes(body)
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        raise ImageFault("the data: URI is not base64") from None


def _of_file(reference: str, folder: Path) -> bytes:
    try:
        inside = folder.resolve()
        path = (inside / reference).resolve()
        if not path.is_relative_to(inside):
            raise ImageFault(f"it is outside the folder {folder}")
        if not path.is_file():
            raise ImageFault("there is no such file" if not path.exists() else "it is not a regular file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ImageFault(f"it cannot be read: {one_line(why, 100)}") from None
    if len(content) > MOST_BYTES:
        raise _too_large()
    return content


def _too_large() -> ImageFault:
    return ImageFault(f"it is larger than {MOST_BYTES // 2**20} MB")


def prepared(content: bytes) -> StoredImage:
    """The image as it is stored and sent: upright, at most 512 pixels wide and high, without transparency, as JPEG.
    Only the first frame of an animation. Raises ImageFault, and MissingPillow.
    """
    if len(content) > MOST_BYTES:
        raise _too_large()
    if not content:
        raise ImageFault("it is empty")
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError:
        raise MissingPillow from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(BytesIO(content), formats=FORMATS) as picture:
                _check_size(*picture.size)
                palette = picture.mode in ("P", "PA", "1")
                scaled: Image.Image = picture.convert("RGBA") if palette else picture
                scaled.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                upright = ImageOps.exif_transpose(scaled)
                # the new image has none of the metadata of the old one
                clean = Image.new("RGB", upright.size, "white")
                clean.paste(upright, mask=upright.getchannel("A") if upright.mode in ("RGBA", "LA") else None)
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise ImageFault("it would unpack to far too many pixels") from None
        except UnidentifiedImageError:
            raise ImageFault(f"it is not an image ({', '.join(FORMATS)})") from None
        except _FAULTS as error:
            raise ImageFault(f"it is damaged: {one_line(error, 100) or type(error).__name__}") from None
    written = BytesIO()
    clean.save(written, "JPEG", quality=_QUALITY)
    data = written.getvalue()
    view = ImageView(digest=hashlib.sha256(data).hexdigest(), width=clean.width, height=clean.height)
    return StoredImage(view, data)


def _check_size(width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise ImageFault("it has no pixels")
    if width * height > MOST_PIXELS:
        raise ImageFault(
            f"it has {width:,} x {height:,} pixels; at most {MOST_PIXELS // 10**6} million are read"
        )
