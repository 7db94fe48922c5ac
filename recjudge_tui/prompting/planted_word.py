"""A small image with a word in it, to find out whether a model sees images."""

from __future__ import annotations

from io import BytesIO

from recjudge_tui.domain.calls import PlacedImage
from recjudge_tui.importers.images import prepared

# nobody says one of these words without having read it
WORDS = ("WALNUT", "LANTERN", "PELICAN", "TROMBONE", "GLACIER", "SAFFRON", "VOLCANO", "BADGER")
SIZE = (512, 192)
_LETTERS = 88


def image_of_word(word: str) -> PlacedImage | None:
    """The word in black letters on white, as images of items are sent; None without the extra “images”."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        return None
    picture = Image.new("RGB", SIZE, "white")
    letters = ImageFont.load_default(_LETTERS)
    middle = (SIZE[0] / 2, SIZE[1] / 2)
    ImageDraw.Draw(picture).text(middle, word, fill="black", font=letters, anchor="mm")
    written = BytesIO()
    picture.save(written, "PNG")
    image = prepared(written.getvalue())
    return PlacedImage(at=0, image=image.view, data=image.content)
