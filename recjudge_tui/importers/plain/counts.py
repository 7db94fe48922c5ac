"""Tables of counts: how often each of two systems won, without the single battles."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import Label
from recjudge_tui.importers.files.notes import Notes, Row, RowFault
from recjudge_tui.importers.files.reading import bare_name, stem
from recjudge_tui.importers.files.values import shown, whole
from recjudge_tui.importers.plain.labels import FAILED, label_of
from recjudge_tui.store.verdicts import COUNTED

_WINS, _TIES, _LOSSES, _FAILED, _ALL = "wins", "ties", "losses", "failed", "battles"
_MOST_BATTLES = 1_000_000
_ABOUT = (
    "a table of counts: users are unknown, so each battle counts as a case and a user of its own; if the "
    "same users judged several battles, intervals are too narrow"
)
_Place = tuple[str, ...]


def holds_counts(columns: Collection[str]) -> bool:
    """Whether these plain columns are those of counts, not of one label per row."""
    return {_WINS, _LOSSES} <= set(columns) and not {"user_id", "value"} <= set(columns)


def with_battle_names(rows: Iterator[Row], path: Path, notes: Notes) -> Iterator[Row]:
    """Rows of counts, each with a rater, a name for its battles in place of the user, and the systems of a pair;
    other rows are not changed. A row is left out if it names no pair of systems, or repeats the battles of an earlier
    row from the other side.
    """
    seen: dict[_Place, tuple[int, tuple[str, ...]]] = {}
    for line, row in rows:
        if not holds_counts(row):
            yield line, row
            continue
        notes.remark(_ABOUT)
        if _TIES not in row:
            notes.remark("no column for the ties: every battle was won or lost")
        if not row.get("rater", "").strip():
            row["rater"] = stem(path)
            notes.remark(f"no rater: it gets the file's name, {shown(row['rater'])}")
        row["system_a"] = row.get("system_a", "") or row.get("system", "")
        row["system"] = ""
        row["user_id"] = f"{bare_name(path)}:{line}"
        row.pop("value", None)
        if not (row["system_a"].strip() and row.get("system_b", "").strip()):
            notes.skip(line, "no pair of systems", "the row names no two systems; left out")
            continue
        twin = _earlier_side(seen, line, row)
        if twin:
            text = (
                f"these seem to be the battles of line {twin} from the other side; left out (if they are "
                f"others, name the question or session of each row in a column context)"
            )
            notes.skip(line, "same battles from the other side", text)
            continue
        yield line, row


def _earlier_side(seen: dict[_Place, tuple[int, tuple[str, ...]]], line: int, row: Mapping[str, str]) -> int:
    """The line of an earlier row with the same systems and counts, both swapped; 0 if there is none."""

    def cells(*names: str) -> tuple[str, ...]:
        return tuple(row.get(name, "").strip() for name in names)

    about = cells("rater", "aspect", "protocol", "context", "served_at")
    there, counts = seen.get((*about, *cells("system_b", "system_a")), (0, ()))
    if there and counts == cells(_LOSSES, _TIES, _WINS):
        return there
    seen.setdefault((*about, *cells("system_a", "system_b")), (line, cells(_WINS, _TIES, _LOSSES)))
    return 0


def counted_labels(row: dict[str, str], line: int, notes: Notes) -> Iterator[Label]:
    """A label for each battle of a row of counts; each battle has a user of its own. Raises RowFault before the first
    one.

    The counts must be whole numbers, and add up to the column of all battles if there is one.
    """
    counts = {name: _count(row, name) for name in (_WINS, _TIES, _LOSSES, _FAILED)}
    decided = counts[_WINS] + counts[_TIES] + counts[_LOSSES]
    total = decided + counts[_FAILED]
    stated = row.get(_ALL, "").strip()
    if stated and whole(stated, _ALL) not in (decided, total):
        raise RowFault(
            "counts do not add up",
            f"{counts[_WINS]} wins, {counts[_TIES]} ties and {counts[_LOSSES]} losses are not {shown(stated)} battles;"
            " left out",
        )
    if total == 0:
        raise RowFault("no battles", "all counts are 0; left out")
    if total > _MOST_BATTLES:
        raise RowFault("too many battles", f"more than {_MOST_BATTLES:,} battles in a row; left out")
    # use the value, because a system may be called A or Tie
    label = label_of({**row, "value": "", "state": FAILED[0]}, line, notes)
    names = protocol_facts(label.protocol).labels
    number = 0
    for name, value in ((_WINS, 1.0), (_TIES, 0.0), (_LOSSES, -1.0), (_FAILED, None)):
        outcome = {"value": value, "label": "" if value is None else names[value], "rule": COUNTED}
        for _ in range(counts[name]):
            number += 1
            yield label.model_copy(update={**outcome, "user_id": f"{label.user_id} #{number}"})


def _count(row: Mapping[str, str], name: str) -> int:
    text = row.get(name, "").strip()
    if not text and name in (_TIES, _FAILED):
        return 0
    count = whole(text, name)
    if count < 0:
        raise RowFault("not a count", f"{name} {shown(text)} is below 0; left out")
    return count
