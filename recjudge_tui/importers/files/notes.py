"""The problems of a file, counted by kind, the first ones with their line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from recjudge_tui.domain.text import one_line

SHOWN = 20

# the line a row began on, and its cells by column
Row = tuple[int, dict[str, str]]


class RowFault(Exception):  # noqa: N818 - a finding about one row, which is left out and counted
    """A row that cannot be used. `kind` is a short fixed phrase for counting, `text` the full message."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text


def left_out(fault: RowFault) -> str:
    """The warning for a row that is left out because of this fault."""
    return fault.text if "left out" in fault.text else f"{fault.text}; row left out"


class Notes:
    """Collects the warnings of one file. All are counted by kind; the first 20 are kept as `file:line: text`.

    `unit` precedes the number if it is not a line number (`file:record 3: text`). `columns` says how each column was
    read, `remarks` how the file was read where there was a choice.
    """

    def __init__(self, path: Path | str) -> None:
        self.file = one_line(path)
        self.kinds: Counter[str] = Counter()
        self.first: list[str] = []
        self.skipped = 0
        self.unit = ""
        self.columns = ""
        self.remarks: list[str] = []

    def warn(self, line: int, kind: str, text: str) -> None:
        """Note a problem in a row that is kept."""
        self.kinds[kind] += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{self.file}:{self.unit}{line}: {one_line(text, 300)}")

    def skip(self, line: int, kind: str, text: str, rows: int = 1) -> None:
        """Count a row, or a group of rows, as left out."""
        self.skipped += rows
        self.warn(line, kind, text)

    def remark(self, text: str) -> None:
        """Say once how the file was read."""
        if text not in self.remarks:
            self.remarks.append(text)

    def stored_form(self) -> list[str]:
        """The warnings as stored: the first 20 and, if there are more, the number of each kind."""
        total = sum(self.kinds.values())
        if total <= len(self.first):
            return list(self.first)
        return [*self.first, *(f"{count} in all: {kind}" for kind, count in self.kinds.most_common())]
