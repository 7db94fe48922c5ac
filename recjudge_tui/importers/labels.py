"""Turns rows of labels in any of their forms (one answer, the judgements of a pair by order, counts, answers to
exported tasks) into labels. The file is read twice: first all answers are looked at, and only then is any of them
given a meaning (codes.py)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from recjudge_tui.domain.annotation import AS_GIVEN
from recjudge_tui.domain.made_lists import ADVERSARIAL, adversarial_pair
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.protocols import OVERALL, PROTOCOLS, ProtocolFacts, protocol_facts, with_unit
from recjudge_tui.domain.records import Game, Label, LabelFlag
from recjudge_tui.domain.roles import RATER_KINDS, RaterKind
from recjudge_tui.domain.scales import Scale, numbered, scale_of_text
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import InputError
from recjudge_tui.importers.codes import (
    EITHER,
    FAILED,
    NAMED_A,
    NAMED_B,
    Code,
    Codebook,
    Expected,
    Reading,
    Unclear,
    fold,
    settle,
    shown_counts,
    side_of,
)
from recjudge_tui.importers.columns import CASE, COLUMNS, TASK
from recjudge_tui.importers.values import (
    MISSING,
    NO_CONTEXT,
    Notes,
    Row,
    RowFault,
    Times,
    plain_number,
    shown,
    whole,
)
from recjudge_tui.protocols.base import BOTH_ORDERS, ONE_ORDER
from recjudge_tui.store.people import is_task_token
from recjudge_tui.store.verdicts import COUNTED

_OK = frozenset(("", "ok", "done", "success", "succeeded", "finished", "complete", "completed", "valid"))
Side = Literal["a", "b"]
_SIGN: Mapping[Side, float] = {"a": 1.0, "b": -1.0}
_ORDERS: dict[str, Side] = {
    **dict.fromkeys(("a", "ab", "a-b", "a first", "original", "system a", "model a", "model 1", "first", "1"), "a"),
    **dict.fromkeys(("b", "ba", "b-a", "b first", "swapped", "system b", "model b", "model 2", "second", "2"), "b"),
}  # fmt: skip
_FIRST, _1, _2 = "shown_first", "verdict_1", "verdict_2"
_IDS = COLUMNS["labels"].ids

LocatedLabel = tuple[int, Label]
# case id -> the columns of a label that describe the case; None for no case of the project
CaseOf = Callable[[str], Mapping[str, str] | None]


class Scales(NamedTuple):
    """`stored`: (protocol, aspect) -> its scale in the project. `every` and `by_aspect` are those of the mapping,
    `ends` those of the command, from its first end to its last.
    """

    stored: Mapping[tuple[str, str], Scale] = {}
    every: Scale | None = None
    by_aspect: Mapping[str, Scale] = {}
    ends: tuple[float, float] | None = None

    def of(self, row: Mapping[str, str], aspect: str) -> tuple[Scale | None, bool]:
        """The scale that the row, the command or the mapping gives, and whether it was given for this aspect alone. Raises
        RowFault for a cell that is not a scale."""
        text = row.get("scale", "").strip()
        own = _scale_of_cell(text) if text else self.by_aspect.get(aspect)
        if own is None and self.ends is not None:
            return numbered(min(self.ends), max(self.ends)), False
        return own or self.every, own is not None


@lru_cache(maxsize=256)
def _scale_of_cell(text: str) -> Scale:
    try:
        return scale_of_text(text)
    except ValueError as error:
        raise RowFault("no scale", f"{error}; left out") from error


class LabelRows(NamedTuple):
    """The rows of one file with plain column names, to be read twice, and what is needed to read them.

    `sides` says what A and B mean if the file says which system was shown first: "systems" or "shown". `columns`: plain name
    -> the name in the file.
    """

    rows: Callable[[Notes], Iterator[Row]]
    notes: Notes
    times: Times
    scales: Scales
    given: Codebook
    case_of: CaseOf
    name: str
    sides: str = ""
    columns: Mapping[str, str] = {}
    kinds: dict[tuple[object, ...], tuple[ProtocolFacts, Scale | None, Scale | None]] = {}

    def labels(self) -> Iterator[LocatedLabel]:
        """The labels; two judgements of one pair in both orders become one. Raises InputError where the answers can be read
        in more than one way, or fit only in part, before the first label.
        """
        counts: dict[_Key, Counter[str]] = {}
        expected: dict[_Key, Expected] = {}
        for ask in self._asks(Notes(self.notes.file)):
            if ask.key is not None:
                if ask.key not in counts:
                    counts[ask.key], expected[ask.key] = Counter(), self._expected(ask.key)
                counts[ask.key].update(ask.tokens)
        readings: dict[_Key, Reading] = {}
        for key, seen in counts.items():
            given = self.given if key[0] == "pair" else self.given._replace(ends=None)
            try:
                readings[key] = settle(seen, expected[key], given)
            except Unclear as unclear:
                raise InputError(
                    f"{self.notes.file}: {unclear.title}", unclear.cause, unclear.next_step
                ) from None
            self._remark(readings[key], seen, expected[key])
        return _paired(self._read(readings))

    def _remark(self, reading: Reading, seen: Counter[str], expected: Expected) -> None:
        for text in reading.remarks:
            self.notes.remark(text)
        if reading.strays:
            left = sum(reading.strays.values())
            total = quantity(sum(seen.values()), "answer")
            self.notes.remark(
                f"{left:,} of {total} of {expected.what} left out: {shown_counts(reading.strays)}"
            )
        names = expected.names
        read = [
            f"“{one_line(text, 30)}” as {names.get(code.value or 0.0, '')}"
            if code.value is not None
            else f"“{text}” as failed"
            for text, code in reading.codes.items()
            if expected.form != "scores"
            and text[:1] != "\0"
            and (code.value is None or fold(text) != names.get(code.value, "").lower())
        ]
        if read:
            more = f" and {len(read) - 8} more" if len(read) > 8 else ""
            self.notes.remark(f"answers: {', '.join(read[:8])}{more}")

    def _expected(self, key: _Key) -> Expected:
        form, protocol, aspect, scale = key
        facts = protocol_facts(protocol)
        if form == "scores":
            return Expected("scores", f"{aspect} ({protocol})", scale=scale)
        what = f"{protocol}" if form != "shown" else f"the tasks ({protocol})"
        names = (fold(self.columns.get("system_a", "")), fold(self.columns.get("system_b", "")))
        sides = names if form == "pair" and all(names) else ("", "")
        return Expected(form, what, facts.labels, facts.value_of_word, sides=sides)

    # ---- the rows, each with what it asks ----

    def _asks(self, notes: Notes) -> Iterator[_Ask]:
        case_of = lru_cache(maxsize=None)(self.case_of)
        twins: dict[tuple[str, ...], tuple[int, tuple[str, ...]]] = {}
        for line, row in self.rows(notes):
            try:
                counted = holds_counts(row)
                if counted:
                    self._name_battles(row, line, notes)
                    _refuse_twin(twins, row, line)
                if name := row.get(CASE, "").strip():
                    row.update(_description(name, row, case_of(name)))
                task = self._tidy(row, line, notes)
                if counted:
                    yield _Ask(line, row, "counts")
                elif task:
                    yield self._task_ask(line, row)
                elif _both(row) or row.get(_FIRST, "").strip():
                    yield self._game_ask(line, row)
                else:
                    yield self._plain_ask(line, row)
            except RowFault as fault:
                notes.skip_row(line, fault)

    def _tidy(self, row: dict[str, str], line: int, notes: Notes) -> bool:
        """Strip the ids; a missing one is empty. Whether the row answers an exported task. Raises RowFault for a row without
        a rater or a user."""
        for name in _IDS:
            if value := row.get(name, ""):
                bare = value.strip()
                if bare in (MISSING if name != "context" else NO_CONTEXT):
                    row[name] = ""
                elif bare != value:
                    row[name] = bare
                    notes.warn(
                        line, "spaces around an id", f"spaces around {name} {shown(bare)} were removed"
                    )
        # other tools also have a column of this name, beside a user column
        task = row.get(TASK, "")
        if task and (is_task_token(task) or not (row.get("user_id") or row.get(CASE))):
            return True
        for name in ("rater", "user_id"):
            if not row.get(name, ""):
                raise RowFault(f"no {name}", f"{name} is empty")
        return False

    def _task_ask(self, line: int, row: dict[str, str]) -> _Ask:
        name = row.get("protocol", "").strip().lower()
        if name not in PROTOCOLS:
            raise RowFault("unknown protocol", f"protocol {shown(name)} of the task is unknown; left out")
        text, facts = row.get("value", "").strip(), PROTOCOLS[name]
        if text in MISSING:
            raise RowFault("no value", f"no answer on {_aspect(row)} of task {shown(row[TASK])}; left out")
        if facts.scores:
            scale = numbered(facts.low, facts.high)
            return _Ask(line, row, "task", ("scores", name, _aspect(row), scale), (text,))
        # the numbers of list labels are not accepted: the keys of the app and the stored values differ
        return _Ask(line, row, "task", ("shown" if facts.of_pairs else "labels", name, "", None), (text,))

    def _plain_ask(self, line: int, row: dict[str, str]) -> _Ask:
        aspect = _aspect(row)
        get = row.get
        about = (
            get("system_a", ""),
            get("system_b", ""),
            bool(get("system")),
            bool(get("item_id")),
            get("protocol", ""),
        )
        key = (aspect, get("scale", ""), *about)
        if (kind := self.kinds.get(key)) is None:
            kind = self.kinds[key] = self._kind(row, aspect)
        facts, given, own = kind
        text = row.get("value", "").strip()
        if _states_failure(row):
            return _Ask(line, row, "answer", None, (), facts, given)
        if text in MISSING:
            raise RowFault("no value", f"no value for {aspect} by {row['rater']}; left out")
        if facts.scores:
            return _Ask(line, row, "answer", ("scores", facts.name, aspect, own), (text,), facts, given)
        if not facts.of_pairs:
            return _Ask(line, row, "answer", ("labels", facts.name, "", None), (text,), facts)
        token = _token(text, row["system_a"], row["system_b"])
        return _Ask(line, row, "answer", ("pair", "pairwise", "", None), (token,), facts)

    def _kind(self, row: dict[str, str], aspect: str) -> tuple[ProtocolFacts, Scale | None, Scale | None]:
        """The protocol of a row, the scale that is given for its scores, and the one that they have. Raises RowFault."""
        scale, of_aspect = self.scales.of(row, aspect)
        facts = protocol_facts(self._protocol(row, aspect, scale))
        if of_aspect and not facts.scores:
            assert scale is not None
            raise RowFault(
                "a scale that does not fit",
                f"{facts.name} has its own answers ({', '.join(facts.labels.values())}), so {aspect} cannot have the"
                f" scale {scale.described()}; left out",
            )
        if not facts.scores:
            return facts, None, None
        return facts, scale, scale or self.scales.stored.get((facts.name, aspect)) or _own_scale(row, facts)

    def _game_ask(self, line: int, row: dict[str, str]) -> _Ask:
        if not row.get("system_a", "").strip() and row.get("second", "").strip():
            row["system_a"], row["system_b"] = row[_FIRST].strip(), row["second"].strip()
        a, b = row.get("system_a", "").strip(), row.get("system_b", "").strip()
        if not (a and b):
            raise RowFault("half a pair", "an order is given, but not two systems; left out")
        texts: tuple[str, ...] = (
            (row[_1].strip(), row[_2].strip()) if _both(row) else (row.get("value", "").strip(),)
        )
        texts = tuple("" if text in MISSING else text for text in texts)
        if not any(texts) and not _states_failure(row):
            raise RowFault("no value", "no answer in any order; left out")

        def token(text: str) -> str:
            letter = side_of(fold(text))
            if text in (a, b) and (letter is None or letter.means != "letter" or self.sides == "systems"):
                return NAMED_A if text == a else NAMED_B
            return text

        tokens = tuple(map(token, texts))
        return _Ask(
            line, row, "game", ("pair", "pairwise", "", None), tuple(filter(None, tokens)), None, None, tokens
        )

    def _name_battles(self, row: dict[str, str], line: int, notes: Notes) -> None:
        """Give a row of counts a rater, a name for its battles in place of the user, and the systems of a pair."""
        notes.remark(
            "a table of counts: users are unknown, so each battle counts as a case and a user of its own; if the same users"
            " judged several battles, intervals are too narrow"
        )
        if "ties" not in row:
            notes.remark("no column for the ties: every battle was won or lost")
        if row.get("rater", "").strip() in MISSING:
            row["rater"] = self.name.rpartition(".")[0] or self.name
            notes.remark(f"no rater: it gets the file's name, {shown(row['rater'])}")
        row["system_a"] = row.get("system_a", "") or row.get("system", "")
        row["system"] = ""
        row["user_id"] = f"{self.name}:{line}"
        row.pop("value", None)
        if row["system_a"].strip() in MISSING or row.get("system_b", "").strip() in MISSING:
            raise RowFault("no pair of systems", "the row names no two systems; left out")

    def _protocol(self, row: dict[str, str], aspect: str, scale: Scale | None) -> str:
        a, b = row.get("system_a", ""), row.get("system_b", "")
        if bool(a) != bool(b):
            raise RowFault("half a pair", "only one of system_a and system_b is filled; left out")
        if a and a == b:
            raise RowFault("half a pair", f"system_a and system_b are both {shown(a)}; left out")
        named = row.get("protocol", "").strip().lower()
        unit: CaseKind = (
            "pair" if a else "list" if row.get("system") and not row.get("item_id") else "explanation"
        )
        fitting = with_unit(unit)
        if named in ("", fitting[0]) and a and adversarial_pair(a, b):
            return ADVERSARIAL
        if not named:
            scored = next((name for name in fitting if PROTOCOLS[name].scores), "")
            return scored if scored and (scale or (scored, aspect) in self.scales.stored) else fitting[0]
        if named not in PROTOCOLS:
            raise RowFault(
                "unknown protocol", f"protocol {shown(named)} is not one of {', '.join(PROTOCOLS)}; left out"
            )
        if named == ADVERSARIAL and not adversarial_pair(a, b):
            text = "the lists must be named foreign:SYSTEM and own:SYSTEM; left out"
            raise RowFault("no adversarial pair", text)
        if PROTOCOLS[named].of_pairs != bool(a):
            raise RowFault("half a pair", f"protocol {named} does not fit the systems of this row; left out")
        return named

    # ---- the labels ----

    def _read(self, readings: Mapping[_Key, Reading]) -> Iterator[LocatedLabel]:
        notes = self.notes
        for ask in self._asks(notes):
            try:
                if ask.what == "counts":
                    yield from self._counted(ask)
                elif ask.what == "game":
                    yield ask.line, self._game(ask, readings)
                elif ask.what == "task":
                    yield ask.line, self._task(ask, readings)
                else:
                    yield ask.line, self._answer(ask, readings)
            except RowFault as fault:
                notes.skip_row(ask.line, fault)

    def _code(self, ask: _Ask, token: str, readings: Mapping[_Key, Reading]) -> Code:
        assert ask.key is not None
        code = readings[ask.key].codes.get(token)
        if code is None:
            expected = self._expected(ask.key)
            raise RowFault(
                "answer that does not fit", f"{shown(token)} is not an answer of {expected.what}; left out"
            )
        if code.value is not None and math.isnan(code.value):
            code = Code(1.0 if token.removeprefix(EITHER) == ask.row["system_a"] else -1.0)
        return code

    def _answer(self, ask: _Ask, readings: Mapping[_Key, Reading]) -> Label:
        facts, value, strength = ask.facts, None, ""
        assert facts is not None
        state = ask.row.get("state", "").strip().lower().replace("_", " ")
        if state not in _OK and state not in FAILED:
            self.notes.warn(
                ask.line, "unknown state", f"state {shown(state)} is not one of ok, failed; read as ok"
            )
        if ask.key is not None:
            value, _, strength = self._code(ask, ask.tokens[0], readings)
            if value is not None and facts.scores and (ends := self.scales.ends) and ends[0] > ends[1]:
                value = ends[0] + ends[1] - value
        return self._label(ask, facts, value, self._name(ask, facts, value), strength)

    def _name(self, ask: _Ask, facts: ProtocolFacts, value: float | None) -> str:
        if value is None or ask.key is None:
            return ""
        scale = ask.key[3]
        if facts.scores:
            return scale.names[value] if scale is not None and scale.words else plain_number(value)
        return facts.labels[value]

    def _label(
        self, ask: _Ask, facts: ProtocolFacts, value: float | None, label: str, strength: str = ""
    ) -> Label:
        row, line = ask.row, ask.line
        note = row.get("note", "")
        if strength:
            note = "; ".join(filter(None, (note, f"answer: {row.get('value', '').strip()}")))
        return Label(
            rater=row["rater"],
            user_id=row["user_id"],
            aspect=_aspect(row),
            value=value,
            label=label,
            item_id=row.get("item_id", ""),
            system=row.get("system", ""),
            system_a=row.get("system_a", ""),
            system_b=row.get("system_b", ""),
            protocol=facts.name,
            rater_kind=_rater_kind(row),
            flags=_flags(row.get("flags", ""), line, self.notes),
            note=note,
            case_id=int(row[CASE]) if row.get(CASE) else None,
            scale=ask.scale,
            rule=COUNTED if row.get("rule", "").strip() == COUNTED else AS_GIVEN,
            context=row.get("context", ""),
            served_at=self.times.read(served, "served_at") if (served := row.get("served_at", "")) else "",
        )

    def _task(self, ask: _Ask, readings: Mapping[_Key, Reading]) -> Label:
        row = ask.row
        facts = PROTOCOLS[row["protocol"].strip().lower()]
        value = self._code(ask, ask.tokens[0], readings).value
        return Label(
            rater=row.get("rater", ""),
            user_id="",
            task=row[TASK],
            aspect=_aspect(row),
            value=value,
            label="" if value is None else facts.labels.get(value) or plain_number(value),
            protocol=facts.name,
            note=row.get("note", ""),
        )

    def _game(self, ask: _Ask, readings: Mapping[_Key, Reading]) -> Label:
        """The label of a row in a known order, with its judgements, and its systems in the order of their names."""
        row = ask.row
        a, b = row["system_a"].strip(), row["system_b"].strip()
        first = _first(row.get(_FIRST, "").strip(), a, b)
        asked: list[tuple[Side, str]] = [(first, ask.games[0])]
        if len(ask.games) > 1:
            asked.append(("b" if first == "a" else "a", ask.games[1]))
        # in a row with both orders, the state refers to the missing answer
        failed = _states_failure(row) and not (len(ask.games) > 1 and any(ask.games))
        games = tuple(
            Game(side, None if failed else self._game_value(ask, token, side, (a, b), readings))
            for side, token in asked
            if token or failed
        )
        facts = protocol_facts(self._protocol(row, _aspect(row), None))
        label = self._label(ask._replace(tokens=()), facts, None, "")
        if a > b:
            games = tuple(
                Game("b" if game.first == "a" else "a", None if game.value is None else 0.0 - game.value)
                for game in games
            )
            label = label.model_copy(update={"system_a": b, "system_b": a})
        return _decided(label, games)

    def _game_value(
        self, ask: _Ask, token: str, first: Side, systems: tuple[str, str], readings: Mapping[_Key, Reading]
    ) -> float | None:
        code = self._code(ask, token, readings)
        if code.value is None or not code.value or code.means == "side":
            return code.value
        if code.means == "place":
            return code.value * _SIGN[first]
        named = None if token not in systems else 1.0 if token == systems[0] else -1.0
        if self.sides or (first == "a" and named in (None, code.value)):
            return code.value * (_SIGN[first] if self.sides == "shown" else 1.0)
        raise InputError(
            f"{self.notes.file}:{ask.line}: {shown(token)} may be the system {systems[code.value < 0]} or the list shown"
            f" {'first' if code.value > 0 else 'second'}",
            f"{systems[first == 'b']} was shown first, and the file does not say what its letters A and B mean.",
            "Nothing was stored. Say in a mapping what they mean: sides = “systems” (A is system_a in every "
            "order) or sides = “shown” (A is the list shown first). See docs/importing-labels.md.",
        )

    def _counted(self, ask: _Ask) -> Iterator[LocatedLabel]:
        """A label for each battle of a row of counts; each battle has a user of its own. The counts must be whole
        numbers, and add up to the column of all battles if there is one. Raises RowFault before the first one."""
        row = ask.row
        wins, ties, losses, failed = (_count(row, name) for name in ("wins", "ties", "losses", "failed"))
        decided = wins + ties + losses
        stated = row.get("battles", "").strip()
        if stated not in MISSING and whole(stated, "battles") not in (decided, decided + failed):
            text = f"{wins} wins, {ties} ties and {losses} losses are not {shown(stated)} battles; left out"
            raise RowFault("counts do not add up", text)
        if decided + failed == 0:
            raise RowFault("no battles", "all counts are 0; left out")
        if decided + failed > 1_000_000:
            raise RowFault("too many battles", "more than 1,000,000 battles in a row; left out")
        facts = protocol_facts(self._protocol(row, _aspect(row), None))
        label = self._label(ask, facts, None, "")
        number = 0
        for count, value in ((wins, 1.0), (ties, 0.0), (losses, -1.0), (failed, None)):
            outcome = {"value": value, "label": "" if value is None else facts.labels[value], "rule": COUNTED}
            for _ in range(count):
                number += 1
                yield ask.line, label.model_copy(update={**outcome, "user_id": f"{label.user_id} #{number}"})


# what answers are settled together: the form, the protocol, and of scores the aspect and the scale
_Key = tuple[Literal["pair", "labels", "scores", "shown"], str, str, Scale | None]


class _Ask(NamedTuple):
    """A row, and the answers in it as they are counted. `scale`: that of the aspect where the file gives one. `games`: the
    answers of a pair by order, empty ones too."""

    line: int
    row: dict[str, str]
    what: Literal["answer", "game", "task", "counts"]
    key: _Key | None = None
    tokens: tuple[str, ...] = ()
    facts: ProtocolFacts | None = None
    scale: Scale | None = None
    games: tuple[str, ...] = ()


def holds_counts(columns: Collection[str]) -> bool:
    """Whether these plain columns are those of counts, not of one label per row."""
    return "wins" in columns and "losses" in columns and not ("user_id" in columns and "value" in columns)


def two_game_columns(columns: Collection[str]) -> bool:
    """Whether these are the columns of rows with the answers in both orders."""
    return _1 in columns and _2 in columns


def _both(row: Mapping[str, str]) -> bool:
    return two_game_columns(row) and ("value" not in row or bool(row[_1].strip() or row[_2].strip()))


def _aspect(row: Mapping[str, str]) -> str:
    return row.get("aspect", "").strip() or OVERALL


@lru_cache(maxsize=4096)
def _token(text: str, a: str, b: str) -> str:
    """The answer of a row about a pair: a mark where it names one of the systems."""
    word = side_of(fold(text))
    if text in (a, b):
        value = 1.0 if text == a else -1.0
        # a rare word for a tie, such as C, is no reason to doubt a name
        if (
            word is None
            or word.value == value
            or (not word.value and fold(text) not in ("tie", "ties", "draw"))
        ):
            return NAMED_A if value > 0 else NAMED_B
        return EITHER + text
    first, second = a.lower() == text.lower(), b.lower() == text.lower()
    if first == second or word is not None:
        return text
    return NAMED_A if first else NAMED_B


def _states_failure(row: Mapping[str, str]) -> bool:
    """Whether the rater was asked but the answer could not be read; its value is then ignored."""
    state = row.get("state", "")
    return bool(state) and state.strip().lower().replace("_", " ") in FAILED


def _own_scale(row: Mapping[str, str], facts: ProtocolFacts) -> Scale | None:
    """The protocol's scale; None for scores that stand alone, of which nothing is known."""
    stands_alone = not row.get("protocol", "").strip() and not (row.get("system") and row.get("item_id"))
    return None if stands_alone and facts.labels else numbered(facts.low, facts.high)


def _description(name: str, row: Mapping[str, str], case: Mapping[str, str] | None) -> Mapping[str, str]:
    """The columns that describe the row's case; its systems may stand in either order. Raises RowFault if there is no such
    case, or if the row's own columns describe another one."""
    if name in MISSING:
        return {}
    if case is None:
        raise RowFault("unknown case", f"the project has no case {shown(name)}; left out")
    pair = [row.get(column, "").strip() for column in ("system_a", "system_b")]
    if all(pair) and pair == [case["system_b"], case["system_a"]]:
        case = {**case, "system_a": pair[0], "system_b": pair[1]}
    for column, value in case.items():
        given = row.get(column, "").strip()
        if given and given != value and column != "served_at":
            what = f"{column} {shown(value)}, not {shown(given)}" if value else f"no {column}"
            raise RowFault("another case", f"case {name} has {what}; left out")
    return case


def _refuse_twin(
    seen: dict[tuple[str, ...], tuple[int, tuple[str, ...]]], row: Mapping[str, str], line: int
) -> None:
    """Raise RowFault for a row with the systems and counts of an earlier one, both swapped."""

    def cells(*names: str) -> tuple[str, ...]:
        return tuple(row.get(name, "").strip() for name in names)

    about = cells("rater", "aspect", "protocol", "context", "served_at")
    there, counts = seen.get((*about, *cells("system_b", "system_a")), (0, ()))
    if there and counts == cells("losses", "ties", "wins"):
        raise RowFault(
            "same battles from the other side",
            f"these seem to be the battles of line {there} from the other side; left out (if they are"
            f" others, name the question"
            " or session of each row in a column context)",
        )
    seen.setdefault((*about, *cells("system_a", "system_b")), (line, cells("wins", "ties", "losses")))


def _count(row: Mapping[str, str], name: str) -> int:
    text = row.get(name, "").strip()
    if text in MISSING and name in ("ties", "failed"):
        return 0
    count = whole(text, name)
    if count < 0:
        raise RowFault("not a count", f"{name} {shown(text)} is below 0; left out")
    return count


def _first(text: str, a: str, b: str) -> Side:
    """The system that was shown first. If the row does not say, the first verdict is for the order a, b."""
    if text in (a, b):
        return "a" if text == a else "b"
    word = fold(text)
    if word and word not in _ORDERS:
        raise RowFault("unknown order", f"{shown(text)} is neither {shown(a)} nor {shown(b)}; left out")
    return _ORDERS[word] if word else "a"


def _paired(labels: Iterator[LocatedLabel]) -> Iterator[LocatedLabel]:
    """The labels; two of one rater on one case in both orders are merged into one, at the position of the second."""
    waiting: dict[tuple[object, ...], LocatedLabel] = {}
    for line, label in labels:
        if len(label.games) != 1:
            yield line, label
            continue
        key = (
            *(label.rater, label.user_id, label.item_id, label.system_a, label.system_b, label.case_id),
            *(label.aspect, label.protocol, label.context, label.served_at),
        )
        other = waiting.get(key)
        if other is None:
            waiting[key] = line, label
        elif other[1].games[0].first != label.games[0].first:
            del waiting[key]
            notes = "; ".join(dict.fromkeys(filter(None, (other[1].note, label.note))))
            both = label.model_copy(update={"note": notes, "flags": other[1].flags + label.flags})
            yield line, _decided(both, other[1].games + label.games)
        else:
            yield line, label
    yield from waiting.values()


def _decided(label: Label, games: tuple[Game, ...]) -> Label:
    """The label that follows from the judgements: if the orders disagree, it is a tie; if one failed, there is none."""
    values = {game.value for game in games}
    value = None if None in values else values.pop() if len(values) == 1 else 0.0
    return label.model_copy(
        update={
            "games": games,
            "value": value,
            "label": "" if value is None else protocol_facts(label.protocol).labels[value],
            "rule": BOTH_ORDERS if len(games) > 1 else ONE_ORDER,
        }
    )


def _rater_kind(row: Mapping[str, str]) -> RaterKind | None:
    named = row.get("rater_kind", "").strip().lower()
    if named in MISSING:
        return None
    kind = next((kind for kind in RATER_KINDS if kind == named), None)
    if kind is None:
        text = f"rater_kind {shown(named)} is not one of {', '.join(RATER_KINDS)}; left out"
        raise RowFault("unknown rater kind", text)
    return kind


def _flags(text: str, line: int, notes: Notes) -> tuple[LabelFlag, ...]:
    """Parse a JSON array of objects, or `item:issue;item:issue`. Unreadable flags are noted; the label is kept."""
    text = text.strip()
    if text in MISSING or text == "[]":
        return ()
    try:
        return tuple(_json_flags(text) if text.startswith("[") else _short_flags(text))
    except (ValueError, RecursionError):
        notes.warn(line, "bad flags", f"flags {shown(text)} cannot be read; the label is kept without them")
        return ()


def _json_flags(text: str) -> Iterator[LabelFlag]:
    for entry in json.loads(text, parse_int=str, parse_float=str):
        if isinstance(entry, str):
            yield from _short_flags(entry)
        elif not isinstance(entry, dict):
            raise ValueError("not an object")
        else:
            yield _flag(
                str(entry.get("item_id", "")), str(entry.get("issue", "")), str(entry.get("reason") or "")
            )


def _short_flags(text: str) -> Iterator[LabelFlag]:
    for part in text.split(";"):
        if part.strip():
            item, _, issue = part.rpartition(":")
            yield _flag(item, issue, "")


def _flag(item_id: str, issue: str, reason: str) -> LabelFlag:
    flag = LabelFlag(item_id=item_id.strip(), issue=issue.strip(), reason=reason)
    if not flag.item_id or not flag.issue:
        raise ValueError("a flag without item or issue")
    (flag.item_id + flag.issue + flag.reason).encode()
    return flag
