"""Finds the scale of an aspect in a file of labels, and the value of an answer on that scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.scales import Scale, scale_of_text
from recjudge_tui.importers.files.notes import RowFault
from recjudge_tui.importers.files.values import number, plain_number, shown

_OUTSIDE = "outside the scale"


class GivenScale(NamedTuple):
    """The scale that the file gives for a row: `scale` is the scale to use, `of_aspect` is set only if it was given
    for the row's own aspect.
    """

    scale: Scale | None
    of_aspect: Scale | None


@dataclass(frozen=True)
class AspectScales:
    """`stored`: (protocol, aspect) -> its scale in the project.

    `every` and `by_aspect` are the scales of the mapping.
    """

    stored: Mapping[tuple[str, str], Scale]
    every: Scale | None = None
    by_aspect: Mapping[str, Scale] = field(default_factory=dict)

    def given(self, row: Mapping[str, str]) -> GivenScale:
        """The scale that the row or the mapping gives. Raises RowFault for a cell that is not a scale."""
        text = row.get("scale", "").strip()
        try:
            own = scale_of_text(text) if text else self.by_aspect.get(aspect_of(row))
        except ValueError as error:
            raise RowFault("no scale", f"{error}; left out") from error
        return GivenScale(own or self.every, own)


def aspect_of(row: Mapping[str, str]) -> str:
    return row.get("aspect", "").strip() or OVERALL


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
