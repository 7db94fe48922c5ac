"""Shared by the vendors' ways of sending images; recognises errors of models that cannot see images."""

from __future__ import annotations

import re
from base64 import b64encode

from recjudge_tui.domain.calls import PlacedImage, Request
from recjudge_tui.errors import SightError
from recjudge_tui.judges.http.failures import ServerError
from recjudge_tui.judges.providers.refusals import is_refusal

FORMAT = "jpeg"
MEDIA_TYPE = f"image/{FORMAT}"
_IMAGES = re.compile(
    r"\bimages?\b|image[_ ](?:url|input)|\bvision\b|multi-?modal|mmproj|media type|content part|content type",
    re.IGNORECASE,
)
# an error about a single image, even if it also matches the pattern above
_THIS_IMAGE = re.compile(
    r"could not (?:be )?process|corrupt|dimension|too (?:large|many|big)|exceed|maximum|invalid (?:image|base64)|download"
    r"|only supports? one",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"not a (?:multi-?modal|vision)|no endpoints|at most 0|only (?:supported|text)", re.IGNORECASE
)
# the content of a message with images is a list
_ONLY_TEXT = re.compile(r"content\b.{0,60}\b(?:must|should) be a (?:valid )?string", re.IGNORECASE)
# the first bytes of a JPEG file as base64
_DATA = re.compile(rb"/9j/[A-Za-z0-9+/=]{40,}")
_STATUSES = (400, 404, 415, 422, 500, 501)


def as_base64(placed: PlacedImage) -> str:
    """The image as base64. Its content was put into the request before it was sent."""
    assert placed.data, "the content of images is added to a request before it is sent"
    return b64encode(placed.data).decode("ascii")


def without_images(body: bytes) -> tuple[bytes, int]:
    """The body of a request without the data of its images, and how many it has."""
    return _DATA.subn(b"", body)


def has_images(request: Request | None) -> bool:
    return request is not None and any(message.images for message in request.messages)


def sees_no_images(model: str, why: str) -> SightError:
    """The error for a model that cannot see images: no call with images can work."""
    return SightError(
        f"The model “{model}” does not see images",
        why,
        "Choose a model that does (“recjudge judge test” says which), or leave out --images.",
    )


def is_blind(status: int, error: ServerError) -> bool:
    """Whether a server refuses a request with images because its model cannot see them."""
    if status not in _STATUSES or _THIS_IMAGE.search(error.message):
        return False
    about_images = _IMAGES.search(error.message) is not None
    refused = is_refusal(error) or _NONE.search(error.message) is not None
    return (about_images and refused) or _ONLY_TEXT.search(error.message) is not None
