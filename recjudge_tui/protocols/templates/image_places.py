"""The positions of item images in the text of a case. The line of an item ends with a mark that text from the data
cannot contain, because control characters never enter a prompt. In the finished text, a number replaces each mark,
and the image follows it.
"""

from __future__ import annotations

import re

from recjudge_tui.domain.calls import Message, PlacedImage
from recjudge_tui.domain.material import Material

_MARK = re.compile("\x00([0-9a-f]{64})\x00")


def image_mark(digest: str) -> str:
    """The mark at the end of the line of an item with this image."""
    return f"\x00{digest}\x00"


def has_mark(text: str) -> bool:
    return _MARK.search(text) is not None


def case_message(text: str, material: Material) -> Message:
    """The message with the text of a case, and the images of its items beside their lines."""
    images = {item.image.digest: item.image for item in material.items_with_images() if item.image}
    if not images:
        return Message(role="user", content=text)
    content = ""
    placed: list[PlacedImage] = []
    # the parts are texts and, between them, digests
    for place, part in enumerate(_MARK.split(text)):
        if place % 2 == 0:
            content += part
        elif part in images:
            content += f" [image {len(placed) + 1}]"
            placed.append(PlacedImage(at=len(content), image=images[part]))
    return Message(role="user", content=content, images=tuple(placed))
