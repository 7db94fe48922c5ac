"""The figures that the papers print, as shipped, and the rules by which a recomputed figure follows from them."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from recjudge_tui.reports.common.table import Row

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLLOWS = "follows"
DOES_NOT_FOLLOW = "does not follow"
NOT_DETERMINED = "not determined"
AS_PRINTED = "as printed"
NOT_COMPARED = "not compared"
CUT = "truncated after the last printed decimal, not rounded"
_NUMBER = re.compile(r"[-+]?\d+(?:\.(\d+))?")
# differences of decimals are rarely exact in binary
_EXACT = 1e-9


@dataclass(frozen=True)
class PrintedFigure:
    """One figure. `text` is as printed, `where` says which row of the table it is in, `name` is its column."""

    table: str
    where: Mapping[str, str]
    name: str
    text: str

    @property
    def value(self) -> float:
        """The first number of the text, in the unit that is printed."""
        return float(self._number[0])

    @property
    def decimals(self) -> int:
        return len(self._number[1] or "")

    @property
    def _number(self) -> re.Match[str]:
        number = _NUMBER.search(self.text)
        if number is None:
            raise ValueError(f"“{self.text}” has no number")
        return number


class Statement(NamedTuple):
    """A figure of the running text, as printed."""

    section: str
    what: str
    value: str


@dataclass(frozen=True)
class Publication:
    """What a paper prints. `remarks` say what it leaves open and which of its figures contradict each other."""

    source: str
    figures: tuple[PrintedFigure, ...]
    statements: tuple[Statement, ...]
    remarks: tuple[str, ...]


class Range(NamedTuple):
    """A recomputed figure, and its least and greatest value within the rounding of what it is computed from."""

    value: float
    low: float
    high: float


class Verdict(NamedTuple):
    """`difference` is recomputed minus printed; `why` is the rule by which it follows, unless it is the usual one."""

    difference: float
    result: str
    why: str


def publication(paper: str) -> Publication:
    """The figures of a paper (`saer`, `arena`, `zhang2024`) as shipped with the program."""
    path = Path(__file__).with_name("published") / f"{paper}.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return Publication(
        content["source"],
        tuple(figure for table in content["tables"] for figure in _figures(table)),
        tuple(Statement(**statement) for statement in content["statements"]),
        tuple(
            f"{_named(remark['table'])}: {remark['text']}" if remark["table"] != "text" else remark["text"]
            for remark in content["remarks"]
        ),
    )


def _figures(table: Mapping[str, Any]) -> Iterable[PrintedFigure]:
    about, names = table["about"], table["figures"]
    for row in table["rows"]:
        where = dict(zip(about, row[: len(about)], strict=True))
        for name, text in zip(names, row[len(about) :], strict=True):
            yield PrintedFigure(table["table"], where, name, text)


def follows(printed: PrintedFigure, recomputed: Range, inputs: str = "", *, may_cut: bool = False) -> Verdict:
    """Whether the printed figure follows from a recomputed one, in the unit that is printed.

    It does if it is the recomputed one rounded to the printed decimals; if a value between `low` and `high`, which
    allow for the rounding of `inputs`, rounds to it; or, in a paper that cuts figures (`may_cut`), if it is the
    recomputed one without the further digits.
    """
    value, decimals = printed.value, printed.decimals
    difference = round(recomputed.value - value, decimals + 2)
    halves = rounded(recomputed.value, decimals), _even(recomputed.value, decimals)
    if any(_equal(half, value) for half in halves):
        return Verdict(difference, FOLLOWS, "")
    if may_cut and _equal(cut(recomputed.value, decimals), value):
        return Verdict(difference, FOLLOWS, CUT)
    low, high = recomputed.low, recomputed.high
    if rounded(low, decimals) - _EXACT <= value <= rounded(high, decimals) + _EXACT:
        allowed = f"{low:.{decimals + 1}f} to {high:.{decimals + 1}f}"
        return Verdict(difference, FOLLOWS, f"within the rounding of {inputs}, which allows {allowed}")
    return Verdict(difference, DOES_NOT_FOLLOW, "")


def exactly(value: float) -> Range:
    """The range of a figure whose inputs are exact."""
    return Range(value, value, value)


def rounded(value: float, decimals: int) -> float:
    """Rounded half away from zero, as people do."""
    scale: int = 10**decimals
    return math.copysign(math.floor(abs(value) * scale + 0.5 + _EXACT) / scale, value)


def _even(value: float, decimals: int) -> float:
    """Rounded, a half to the even digit, as programs do."""
    return float(round(Decimal(f"{value:.{decimals + 6}f}"), decimals))


def _equal(a: float, b: float) -> bool:
    return abs(a - b) < _EXACT


def cut(value: float, decimals: int) -> float:
    """Without the digits after the last decimal."""
    scale: int = 10**decimals
    return math.copysign(math.floor(abs(value) * scale + _EXACT) / scale, value)


def compared(printed: PrintedFigure, recomputed: Range, inputs: str = "", *, may_cut: bool = False) -> Row:
    """The cells of a printed figure beside a recomputed one; the arguments are those of `follows`."""
    verdict = follows(printed, recomputed, inputs, may_cut=may_cut)
    return as_printed(printed) | {
        "recomputed": round(recomputed.value, printed.decimals + 2),
        "difference": verdict.difference,
        "result": verdict.result,
        "note": verdict.why,
    }


def as_printed(printed: PrintedFigure, why: str = "", result: str = AS_PRINTED) -> Row:
    """The cells of a printed figure without a recomputed one; `why` is the reason."""
    return {
        "table": _named(printed.table), "printed": printed.text, "published": printed.value, "result": result, "note": why,
    }  # fmt: skip


def _named(table: str) -> str:
    return f"Table {table}" if table.isdigit() else table


def tally_notes(rows: Iterable[Row], kind: str) -> list[str]:
    """One sentence for each value of the column `kind`: how many figures follow, how many do not, and the rest."""
    results: dict[str, Counter[str]] = {}
    for row in rows:
        results.setdefault(str(row[kind]), Counter())[str(row["result"])] += 1
    notes = []
    for name, counts in results.items():
        parts = []
        if counts[FOLLOWS]:
            parts.append(f"{counts[FOLLOWS]} follow{'s' if counts.pop(FOLLOWS) == 1 else ''}")
        if counts[DOES_NOT_FOLLOW]:
            parts.append(
                f"{counts[DOES_NOT_FOLLOW]} {'does' if counts.pop(DOES_NOT_FOLLOW) == 1 else 'do'} not"
            )
        parts += [f"{count} {result}" for result, count in counts.items() if count]
        notes.append(f"{name}: {', '.join(parts)}")
    return notes
