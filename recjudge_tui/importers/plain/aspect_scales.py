"""Which scale an aspect of a file of labels has, and the value of an answer on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.domain.scales import Scale, scale_of_text
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.values import number, plain_number, shown

_OUTSIDE = "outside the scale"


class GivenScale(NamedTuple):
    """The scale that the file gives for a row: `scale`, also where it is that of all scores; `of_aspect`, where it is given
    for the row's own aspect."""

    scale: Scale | None
    of_aspect: Scale | None


@dataclass(frozen=True)
class AspectScales:
    """`stored`: (protocol, aspect) -> its scale in the project. `every` and `by_aspect`: those of the mapping."""

    stored: Mapping[tuple[str, str], Scale]
    every: Scale | None = None
    by_aspect: Mapping[str, Scale] = field(default_factory=dict)

    def given(self, row: Mapping[str, str]) -> GivenScale:
        """The scale that the row or the mapping gives. Raises RowFault for a cell that is none."""
        text = row.get("scale", "").strip()
        try:
            own = scale_of_text(text) if text else self.by_aspect.get(aspect_of(row))
        except ValueError as error:
            raise RowFault("no scale", f"{error}; left out") from error
        return GivenScale(own or self.every, own)


def aspect_of(row: Mapping[str, str]) -> str:
    return row.get("aspect", "").strip() or "overall"


def on_scale(text: str, scale: Scale, aspect: str) -> tuple[float, str]:
    """The value and the label of an answer. Raises RowFault for one that is not on the scale."""
    if scale.words:
        word = " ".join(text.lower().split())
        for value, name in scale.names.items():
            if " ".join(name.lower().split()) == word:
                return value, name
        raise RowFault(
            _OUTSIDE,
            f"{shown(text)} is not one of {', '.join(scale.words)}, the answers on {aspect}; left out",
        )
    value = number(text, "value")
    if not scale.low <= value <= scale.high:
        ends = f"{plain_number(scale.low)} to {plain_number(scale.high)}"
        raise RowFault(_OUTSIDE, f"value {shown(text)} is outside {ends}, the scale of {aspect}; left out")
    return value, plain_number(value)
