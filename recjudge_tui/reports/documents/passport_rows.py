"""The rows of a judge's passport: one figure each, with its kind and the command that would measure it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import OVERALL, with_unit
from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.table import Column, Kind, Row, Table
from recjudge_tui.reports.common.writers.cells import UNDEFINED, shown
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.registry import STATISTICS

COLUMNS = (
    Column("part", "Part"),
    Column("figure", "Figure"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("against", "Against"),
    Column("value", "Value", "float"),
    Column("unit", "Unit"),
    *interval_columns(),
    Column("people", "People", "float"),
    Column("n", "n", "int"),
    Column("text", "Text"),
    Column("note", "Note"),
)
_KINDS: dict[str, Kind] = {"share": "share", "usd": "usd", "count": "int"}
BEYOND = ", beyond people"
_OWN, _FURTHER = "Judge", "Beyond people"
NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Commands:
    """The commands that would measure what is missing, with the names of this project, rater and judge."""

    project: str
    rater: str
    judge: JudgeSpec

    def run(self, protocol: str, more: str = "", name: str | None = None) -> str:
        return f"recjudge run {protocol} {self._who(name or self.rater)}{more and ' ' + more}"

    def repeated(self, protocol: str) -> str:
        """The command for a second rater, because one rater gives only one verdict on a case."""
        more = "--sample 50 --repeats 3"
        return self.run(protocol, more, f"{self.rater} repeated")

    def adversarial(self) -> str:
        return f"recjudge robustness adversarial {self._who(self.rater)}"

    def labels(self) -> str:
        return f"recjudge import LABELS.csv -p {_quoted(self.project)} --as labels"

    def _who(self, name: str) -> str:
        words = [f"-p {_quoted(self.project)} --judge {_quoted(self.judge.spec)}"]
        for option, given in self.judge.words.items():
            words += [f"{ADDRESS_OPTIONS[option].flag} {_quoted(word)}" for word in given]
        return " ".join([*words, f"--name {_quoted(name)}"])


def _quoted(text: str) -> str:
    return shlex.quote(one_line(text, 120))


def figure(
    part: str, name: str, estimate: Estimate, unit: str = "", *, note: str = "", **where: object
) -> Row:
    """A figure with its n and interval; if it is undefined, the estimate's note says why."""
    return {
        "part": part,
        "figure": name,
        "value": estimate.value,
        "unit": unit,
        **interval_cells(estimate),
        "n": estimate.n,
        "note": join_notes(estimate.note, note),
        **where,
    }


def text_entry(part: str, name: str, text: str, **where: object) -> Row:
    """An entry that is not a number: a name, a version."""
    return {"part": part, "figure": name, "value": None, "unit": "text", "text": text, "note": "", **where}


def missing(part: str, name: str, why: str, command: str = "", **where: object) -> Row:
    """A figure that is missing, and the command that would measure it."""
    note = f"{NOT_MEASURED}: {why}" + (f"; {command}" if command else "")
    return {"part": part, "figure": name, "value": None, "unit": "", "note": note, **where}


def sections(table: Table) -> tuple[Table, ...]:
    """The parts of a passport as tables for people: figures with their units and intervals, those of one question side
    by side, empty columns left out."""
    tables = []
    for part in dict.fromkeys(str(row["part"]) for row in table.rows):
        rows = [row for row in table.rows if row["part"] == part]
        keys = dict.fromkeys(_placed(row)[0] for row in rows)
        headings = dict.fromkeys(_placed(row)[1] for row in rows)
        lines = [_line(key, [row for row in rows if _placed(row)[0] == key]) for key in keys]
        columns = [Column("what", "Figure"), Column("of", "Of"), Column("against", "Against")]
        columns += [Column(heading, heading) for heading in headings]
        columns += [Column("people", "People", "float"), Column("n", "n", "int"), Column("note", "Note")]
        shown_ones = tuple(c for c in columns if any(line.get(c.name) not in (None, "") for line in lines))
        names = {column.name for column in shown_ones}
        kept = tuple({name: cell for name, cell in line.items() if name in names} for line in lines)
        tables.append(Table(part, shown_ones, kept))
    return tuple(tables)


_Key = tuple[str, str, str]


def _placed(row: Row) -> tuple[_Key, str]:
    """The line of a figure in its part (name, question, reference) and its column."""
    name, against = str(row["figure"]), str(row.get("against") or "")
    of = _question(str(row.get("protocol") or ""), str(row.get("aspect") or ""))
    if name in STATISTICS:
        return ("", of, against), STATISTICS[name].label
    if str(row["part"]) == "Preferences":
        return (name.removesuffix(BEYOND), of, ""), _FURTHER if name.endswith(BEYOND) else _OWN
    return (name, of, against), "Value"


def _question(protocol: str, aspect: str) -> str:
    if aspect in ("", OVERALL):
        return protocol
    return aspect if protocol in with_unit("explanation") else f"{protocol} · {aspect}"


def _line(key: _Key, rows: list[Row]) -> Row:
    line: Row = dict(zip(("what", "of", "against"), key, strict=True))
    for row in rows:
        line[_placed(row)[1]] = _amount(row)
    line["people"] = next((row["people"] for row in rows if row.get("people") is not None), None)
    line["n"] = next((row["n"] for row in rows if row.get("n") is not None), None)
    return line | {"note": join_notes(*(str(row["note"]).removeprefix(f"{NOT_MEASURED}: ") for row in rows))}


def _amount(row: Row) -> str:
    """`0.57 (0.49 to 0.63)` in the figure's unit, a name, or that it was not measured."""
    if row.get("text"):
        return str(row["text"])
    value, low, high = (row.get(name) for name in ("value", "ci_low", "ci_high"))
    if value is None:
        return NOT_MEASURED if str(row["note"]).startswith(NOT_MEASURED) else UNDEFINED
    unit = str(row.get("unit") or "")
    if low is None or high is None:
        return _in_unit(value, unit)
    ends = [_in_unit(end, unit).removesuffix(" %") for end in (low, high)]
    return f"{_in_unit(value, unit)} ({ends[0]} to {ends[1]})"


def _in_unit(value: object, unit: str) -> str:
    if unit == "seconds" and isinstance(value, float):
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:,.1f} s"
    return shown(value, Column("value", "", _KINDS.get(unit, "float"), decimals=2))
