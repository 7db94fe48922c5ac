"""Judgements of pairs in a known order: one row for each order, or one row with the answers in both orders."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.records import Game, Label
from recjudge_tui.errors import InputError
from recjudge_tui.importers.files.layout import LocatedRecord
from recjudge_tui.importers.files.notes import Notes, RowFault
from recjudge_tui.importers.files.values import shown
from recjudge_tui.importers.plain.labels import FAILED, label_of
from recjudge_tui.protocols.base import BOTH_ORDERS, ONE_ORDER

_FIRST, _1, _2 = "shown_first", "verdict_1", "verdict_2"
Side = Literal["a", "b"]
_SIGN: Mapping[Side, float] = {"a": 1.0, "b": -1.0}

# words for a side of the row, whatever the order shown
_SYSTEMS: dict[str, float] = {
    **dict.fromkeys(("model 1", "model a", "system 1", "system a", "1", "1.0"), 1.0),
    **dict.fromkeys(("model 2", "model b", "system 2", "system b", "-1", "-1.0"), -1.0),
    **dict.fromkeys(
        ("tie", "ties", "draw", "equal", "neither", "both", "c", "0", "0.0", "tie (bothbad)"), 0.0
    ),
}
# words for a position in the order shown
_PLACES: dict[str, float] = {
    **dict.fromkeys(("first", "1st", "shown first", "set 1", "list 1", "left"), 1.0),
    **dict.fromkeys(("second", "2nd", "shown second", "set 2", "list 2", "right"), -1.0),
}
# words that may mean a side or a position
_LETTERS: dict[str, float] = {
    **dict.fromkeys(("a", "a wins", "assistant a", "answer a", "response a", "option a"), 1.0),
    **dict.fromkeys(("b", "b wins", "assistant b", "answer b", "response b", "option b"), -1.0),
}
_ORDERS: dict[str, Side] = {
    **dict.fromkeys(("a", "ab", "a-b", "a first", "original", "system a", "model a", "model 1", "first", "1"), "a"),
    **dict.fromkeys(("b", "ba", "b-a", "b first", "swapped", "system b", "model b", "model 2", "second", "2"), "b"),
}  # fmt: skip


def holds_games(row: Mapping[str, str]) -> bool:
    """Whether a row of plain columns tells the order in which a pair was shown.

    A row with a value but without an answer in either order is a single answer, as in our export of labels.
    """
    return _both(row) or bool(row.get(_FIRST, "").strip())


def two_game_columns(columns: Collection[str]) -> bool:
    """Whether these are the columns of rows with the answers in both orders."""
    return {_1, _2} <= set(columns)


def _both(row: Mapping[str, str]) -> bool:
    return two_game_columns(row) and ("value" not in row or bool(row[_1].strip() or row[_2].strip()))


def game_label(row: dict[str, str], line: int, notes: Notes, sides: str = "") -> Label:
    """The label of a row, with its judgements by order, and its systems in the order of their names. Raises RowFault.

    `sides`: what the letters A and B mean: "systems" (those of the row) or "shown" (the place in the order shown). Raises
    InputError if it is empty and a letter may mean either.
    """
    if not row.get("system_a", "").strip() and row.get("second", "").strip():
        row = {**row, "system_a": row[_FIRST].strip(), "system_b": row["second"].strip()}
    a, b = row.get("system_a", "").strip(), row.get("system_b", "").strip()
    if not (a and b):
        raise RowFault("half a pair", "an order is given, but not two systems; left out")
    first = _first(row.get(_FIRST, "").strip(), a, b)
    asked: list[tuple[Side, str]] = [(first, row.get("value", "").strip())]
    if _both(row):
        asked = [(first, row[_1].strip()), ("b" if first == "a" else "a", row[_2].strip())]
    answered = any(text for _, text in asked)
    if not answered and not _states_failure(row):
        raise RowFault("no value", "no answer in any order; left out")
    # in a row with both orders, the state refers to the missing answer
    failed = _states_failure(row) and not (_both(row) and answered)
    games = tuple(
        Game(side, None if failed else _value(text, side, (a, b), sides, f"{notes.file}:{line}"))
        for side, text in asked
        if text or failed
    )
    plain = {name: cell for name, cell in row.items() if name not in (_FIRST, _1, _2, "second")}
    # use the value, because a system may be called Tie
    label = label_of({**plain, "value": "", "state": FAILED[0]}, line, notes)
    if a > b:
        games = tuple(
            Game("b" if g.first == "a" else "a", None if g.value is None else 0.0 - g.value) for g in games
        )
        label = label.model_copy(update={"system_a": b, "system_b": a})
    return _decided(label, games)


def paired(reads: Iterator[LocatedRecord]) -> Iterator[LocatedRecord]:
    """The records; two labels of one rater on one case in both orders are merged into one, at the position of the
    second.
    """
    waiting: dict[tuple[object, ...], LocatedRecord] = {}
    for read in reads:
        label = read.record
        if not isinstance(label, Label) or len(label.games) != 1:
            yield read
            continue
        key = (
            *(label.rater, label.user_id, label.item_id, label.system_a, label.system_b, label.case_id),
            *(label.aspect, label.protocol, label.context, label.served_at),
        )
        other = waiting.get(key)
        if other is None:
            waiting[key] = read
        elif isinstance(other.record, Label) and other.record.games[0].first != label.games[0].first:
            del waiting[key]
            notes = "; ".join(dict.fromkeys(filter(None, (other.record.note, label.note))))
            both = label.model_copy(update={"note": notes, "flags": other.record.flags + label.flags})
            yield LocatedRecord(read.line, _decided(both, other.record.games + label.games))
        else:
            yield read
    yield from waiting.values()


def _decided(label: Label, games: tuple[Game, ...]) -> Label:
    """The label that follows from the judgements: if the orders disagree, it is a tie; if one failed, there is no
    label.
    """
    values = {game.value for game in games}
    value = None if None in values else values.pop() if len(values) == 1 else 0.0
    names = protocol_facts(label.protocol).labels
    return label.model_copy(
        update={
            "games": games,
            "value": value,
            "label": "" if value is None else names[value],
            "rule": BOTH_ORDERS if len(games) > 1 else ONE_ORDER,
        }
    )


def _states_failure(row: Mapping[str, str]) -> bool:
    return row.get("state", "").strip().lower().replace("_", " ") in FAILED


def _first(text: str, a: str, b: str) -> Side:
    """The system that was shown first. If the row does not say, the first verdict is for the order a, b."""
    if text in (a, b):
        return "a" if text == a else "b"
    word = _word(text)
    if word and word not in _ORDERS:
        raise RowFault("unknown order", f"{shown(text)} is neither {shown(a)} nor {shown(b)}; left out")
    return _ORDERS[word] if word else "a"


def _value(text: str, first: Side, systems: tuple[str, str], sides: str, where: str) -> float | None:
    word = _word(text)
    named = None if text not in systems else 1.0 if text == systems[0] else -1.0
    if named is not None and (word not in _LETTERS or sides == "systems"):
        return named
    if word in FAILED:
        return None
    if word in _SYSTEMS:
        return _SYSTEMS[word]
    if word in _PLACES:
        return _PLACES[word] * _SIGN[first]
    if word not in _LETTERS:
        raise RowFault(
            "unknown value",
            f"{shown(text)} is neither A, B, a tie, first, second nor one of the systems; left out",
        )
    if sides or (first == "a" and named in (None, _LETTERS[word])):
        return _LETTERS[word] * (_SIGN[first] if sides == "shown" else 1.0)
    raise InputError(
        f"{where}: {shown(text)} may be the system {systems[_LETTERS[word] < 0]} or the list shown"
        f" {'first' if _LETTERS[word] > 0 else 'second'}",
        f"{systems[first == 'b']} was shown first, and the file does not say what its letters A and B mean.",
        "Nothing was stored. Say in a mapping what they mean: sides = “systems” (A is system_a in every "
        "order) or sides = “shown” (A is the list shown first). See docs/importing-labels.md.",
    )


def _word(text: str) -> str:
    return " ".join(text.lower().replace("_", " ").strip("[] ").split())
