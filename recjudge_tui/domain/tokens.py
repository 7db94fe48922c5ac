"""Estimates how many tokens a text, an image or a whole prompt has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recjudge_tui.domain.calls import Message
from recjudge_tui.domain.material import ImageView

PATCH_PIXELS = 32
LEAST_OF_AN_IMAGE = 85
PATCHES_TIMES = 4
# an image of 512 x 512; images are never shown larger
MOST_OF_AN_IMAGE = 1024
TOKENS_AROUND_A_MESSAGE = 16


def estimate_tokens(text: str) -> tuple[int, int]:
    """(low, high) for a text: 4.5 and 3 characters of Latin script a token, 1.8 and 0.8 of any other.

    Tokenizers of current models lie between these for English prose, lists of titles, and Chinese;
    the high figure is meant to be safe for choosing a context length.
    """
    latin = len(text.encode("ascii", "ignore"))
    other = len(text) - latin
    return int(latin / 4.5 + other / 1.8) + 1, int(latin / 3 + other / 0.8) + 1


def least_tokens(text: str) -> int:
    """A number of tokens that every current model exceeds for this text: half of the low estimate, which is 9
    characters of Latin script, or 3.6 of any other, per token.
    """
    return estimate_tokens(text)[0] // 2


def estimate_image_tokens(image: ImageView) -> tuple[int, int]:
    """(low, high) for an image: one and four tokens for each square of 32 pixels, and never less than 85.

    An image of 512 x 512 has 256 to 1,024 tokens. Most models lie between: 255 to 350 with the large vendors, 256 to
    576 with most models that run locally. A few take more: the small model of an older family bills 8,500.
    """
    patches = -(-image.width // PATCH_PIXELS) * -(-image.height // PATCH_PIXELS)
    low = max(patches, LEAST_OF_AN_IMAGE)
    return low, low * PATCHES_TIMES


def estimate_prompt_tokens(messages: Iterable[Message]) -> tuple[int, int]:
    """(low, high) for all texts and images of the messages."""
    low = high = 0
    for message in messages:
        counts = [estimate_tokens(message.content), *(estimate_image_tokens(i.image) for i in message.images)]
        low += sum(count[0] for count in counts)
        high += sum(count[1] for count in counts)
    return low, high


def most_prompt_tokens(messages: Iterable[Message]) -> int:
    """An upper bound on the tokens of the messages: at most one token per byte, and a few for the chat template."""
    return sum(
        len(message.content.encode("utf-8", "replace"))
        + sum(MOST_OF_AN_IMAGE for _ in message.images)
        + TOKENS_AROUND_A_MESSAGE
        for message in messages
    )


def shared_start(first: Sequence[object], second: Sequence[object]) -> int:
    """How many elements (characters, tokens) at the beginning of both are the same."""
    # binary search, because comparing slices of texts is fast
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
