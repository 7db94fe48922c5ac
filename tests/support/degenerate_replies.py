"""Replies of one piece, over and over, as a model sends that has lost itself, or somebody who wants to be slow to read."""

from __future__ import annotations

PIECES = {
    "spaces": " ",
    "dots": ".",
    "tabs": "\t",
    "line breaks": "\n",
    "stars": "*",
    "digits": "1",
    "opening square brackets": "[",
    "closing square brackets": "]",
    "opening braces": "{",
    "closing braces": "}",
    "empty objects": "{}",
    "small objects": '{"a": 1} ',
    "objects with a trailing comma": '{"a": 1,} ',
    "forms": '{"a": b} ',
    "arrays": "[[]],",
    "begun objects": '{"',
    "nested objects": '{"a":',
    "nested answers": '{"category":',
    "quotes": '"',
    "escaped quotes": '\\"',
    "backslashes": "\\",
    "surrogates": "\\ud83d",
    "commas": ",",
    "colons": ":",
    "fields": "category: ",
    "lines of fields": "category: good\n",
    "lines of labels": "Category: Good Match\n",
    "summaries": "Summary: 1 ",
    "lines of summaries": "Summary: 1 1 1 1\n",
    "claims": "the answer is ",
    "words": "word ",
    "labels": "Good Match ",
    "thinking": "<think>",
    "numbers": "1,",
    "keys": '"a":1,',
    "zeros": "e0",
    "other letters": "é",
    "characters of four bytes": "😀",
}
# where the pieces stand: alone, before or after an answer, in a string, in a list, in a line of the text form
FRAMES = (
    "{}",
    'Well {}\n{{"category": "Good Match", "accuracy": 1}}',
    '{{"category": "Good Match", "accuracy": 1}} x{}',
    'x {{"reasoning": "{}", "category": "Good Match",}}',
    '{{"reasoning": "\\ud83d", "a": [{} 1], "category": "Good Match"}}',
    "Category: {} Good Match",
    "{}Category: Good Match\nSummary: 1 {} x",
    "Category: Good Match\nI say {}",
)
SHAPES = {
    (name if frame == "{}" else f"{name} in {frame.replace('{}', '…', 1)[:40]!r}"): (piece, frame)
    for name, piece in PIECES.items()
    for frame in FRAMES
}


def degenerate(shape: str, size: int) -> str:
    """At most `size` characters of a shape; never white space alone, which is an empty reply."""
    piece, frame = SHAPES[shape]
    places = frame.count("{}")
    repeated = piece * ((size - len(frame)) // len(piece) // places)
    return f"x{frame.format(*[repeated] * places)}x"
