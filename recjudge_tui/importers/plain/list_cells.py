"""A whole list in one cell: JSON, Python's or NumPy's notation, or ids between separators."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from recjudge_tui.importers.files.column_names import squashed
from recjudge_tui.importers.files.json_records import json_decoder
from recjudge_tui.importers.plain.columns import ITEM, SCORE

_SEPARATORS = ("|", ";", ",")
# NumPy 2 writes its numbers in a list as np.int64(7)
_NUMPY_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")
_ELEMENT = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,\[\]()'"]+)""")


class Place(NamedTuple):
    """One element of a list: an item and its score, both as text. The score is empty if there is none."""

    item_id: str
    score: str = ""


def is_list(text: str) -> bool:
    """Whether a cell that should contain one id contains several: it has brackets around it, or bars inside."""
    bare = text.strip()
    return bare[:1] + bare[-1:] in ("[]", "()") or "|" in bare


def places_of(text: str) -> list[Place]:
    """The elements of the list in order.

    `[1, 2]`, `['a' 'b']`, `1|2`, `1;2`, `1,2`, `1 2`; with scores `[["a", 0.5], ["b", 0.4]]` or objects with an item and
    a score. Empty elements are dropped.
    """
    bare = text.strip()
    if bare[:1] not in ("[", "("):
        mark = next((mark for mark in _SEPARATORS if mark in bare), None)
        return [Place(part.strip()) for part in bare.split(mark) if part.strip()]
    bare = _NUMPY_SCALAR.sub(r"\1", bare)
    for form in (bare, bare.replace("(", "[").replace(")", "]").replace("'", '"')):
        try:
            elements = json_decoder().decode(form)
        except (json.JSONDecodeError, RecursionError):
            continue
        if isinstance(elements, list):
            return [place for place in map(place_of, elements) if place.item_id]
    return [Place(a or b or c) for a, b, c in _ELEMENT.findall(bare) if a or b or c]


def place_of(element: Any) -> Place:
    """The Place for an element of a JSON array: an id, `[id, score]`, or an object with an item and a score."""
    if isinstance(element, list):
        texts = ["" if part is None else str(part).strip() for part in element]
        return Place(*texts) if len(texts) in (1, 2) else Place("")
    if isinstance(element, Mapping):
        return Place(_first(element, ITEM), _first(element, SCORE))
    return Place("" if element is None else str(element).strip())


def _first(element: Mapping[str, Any], aliases: tuple[str, ...]) -> str:
    by_name = {squashed(key): value for key, value in element.items()}
    values: Iterator[Any] = (by_name[name] for name in (*aliases, "id") if name in by_name)
    return str(next(values, "") or "").strip()
