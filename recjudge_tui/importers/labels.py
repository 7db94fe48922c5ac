"""Turns rows of labels in any of their forms (one answer, the judgements of a pair by order, counts, answers to
exported tasks) into labels. The file is read twice: first all answers are looked at, and only then is any of them
given a meaning (codes.py). What decides about a label is the same in many rows: it is worked out once."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from recjudge_tui.domain.annotation import AS_GIVEN, ItemFlag
from recjudge_tui.domain.made_lists import ADVERSARIAL, adversarial_pair
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.protocols import OVERALL, PROTOCOLS, ProtocolFacts, protocol_facts, with_unit
from recjudge_tui.domain.records import Game, Label
from recjudge_tui.domain.roles import RATER_KINDS
from recjudge_tui.domain.scales import Scale, numbered, scale_of_text
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.importers import codes
from recjudge_tui.importers.columns import CASE, TASK, holds_counts, two_game_columns
from recjudge_tui.importers.layout import Part
from recjudge_tui.importers.values import (
    MISSING,
    NO_TEXT,
    Ids,
    Notes,
    Row,
    RowFault,
    Times,
    first_few,
    plain_number,
    refusal,
    refuse,
    shown,
    whole,
)
from recjudge_tui.protocols.registry import BOTH_ORDERS, ONE_ORDER
from recjudge_tui.store.people import is_task_token
from recjudge_tui.store.verdicts import COUNTED

_SIGN: Mapping[codes.Side, float] = {"a": 1.0, "b": -1.0}
_FIRST, _1, _2 = "shown_first", "verdict_1", "verdict_2"
# the columns that decide what a row says; of the others it matters at most whether they are filled
_DECISIVE = (
    "rater", "value", "aspect", "protocol", "system", "system_a", "system_b", "scale", "state", "rater_kind", "rule",
    _FIRST, "second", _1, _2,
)  # fmt: skip
_COUNTED = "rater aspect protocol context served_at system_a system_b wins ties losses".split()
# the most rows of different meaning that are kept in memory
_MOST_KEPT = 50_000
_MOST_BATTLES = 1_000_000

LocatedLabel = tuple[int, Label]
# case id -> the columns of a label that describe the case; None for no case of the project
CaseOf = Callable[[str], Mapping[str, str] | None]
# what answers are settled together: the form, the protocol, and of scores the aspect and the scale
_Key = tuple[codes.Form, str, str, Scale | None]
_Readings = Mapping[_Key, codes.Reading]
# the decisive columns of the row, whether it answers an exported task and whether it names no item; and its decisive cells
_Says = tuple[Any, ...]


class _Ask(NamedTuple):
    """What a row asks: its decisive cells, and the answers in it as they are counted, of a pair by order (empty ones too).
    `scale`: that of the aspect where the file gives one."""

    what: Literal["answer", "game", "task"]
    row: Mapping[str, str]
    facts: ProtocolFacts
    key: _Key | None = None
    tokens: tuple[str, ...] = ()
    scale: Scale | None = None


class _Said(NamedTuple):
    """A label without what differs from row to row. `note` is added to that of the row."""

    label: Label
    note: str = ""
    odd_state: str = ""


class LabelRows(NamedTuple):
    """The rows of one file with plain column names, to be read twice, and what is needed to read them.

    `part`: the declaration that reads it, with its scales, and what A and B mean if the file says which system was shown
    first. `stored`: (protocol, aspect) -> its scale in the project; `turned`: those that an earlier import turned round.
    `columns`: plain name -> the name in the file.
    """

    rows: Callable[[Notes], Iterator[Row]]
    ids: Callable[[Notes], Ids]
    notes: Notes
    times: Times
    part: Part
    stored: Mapping[tuple[str, str], Scale]
    turned: Collection[tuple[str, str]]
    given: codes.Codebook
    case_of: CaseOf
    columns: Mapping[str, str]

    def labels(self) -> Iterator[LocatedLabel]:
        """The labels; two judgements of one pair in both orders become one. Raises InputError where the answers can be read
        in more than one way, or fit only in part, before the first label.
        """
        counts: defaultdict[_Key, Counter[str]] = defaultdict(Counter)
        orders: Counter[str] = Counter()
        said = (says for _, _, says in self._tidied(Notes(self.notes.file)) if says is not None)
        while often := Counter(islice(said, _MOST_KEPT)):
            for says, rows in often.items():
                with suppress(RowFault):
                    ask = self._ask(says)
                    if ask.what == "game" and _shown_first(ask) is None:
                        orders[ask.row[_FIRST]] += rows
                    for token in filter(None, ask.tokens if ask.key else ()):
                        counts[cast(_Key, ask.key)][token] += rows
        if orders and not codes.is_few(orders.total(), sum(map(Counter.total, counts.values()))):
            listed, column = codes.shown_counts(orders), self.columns.get(_FIRST)
            raise refusal("orders", file=self.notes.file, orders=listed, column=column)
        readings: dict[_Key, codes.Reading] = {}
        several, lost = sum(key[0] == "scores" for key in counts) > 1, None
        for key, answers in counts.items():
            expected = self._expected(key)
            expected = expected._replace(aspect=key[2]) if several else expected
            try:
                readings[key] = codes.settle(answers, expected, self.given)
            except codes.Unclear as unclear:
                unclear.title = f"{self.notes.file}: {unclear.title}"
                if not (key[2] and several and self.given.keep_fitting):
                    raise
                readings[key], lost = codes.Reading({}, answers), unclear
            self._remark(readings[key], answers, expected)
        if lost is not None and not any(reading.codes for reading in readings.values()):
            raise lost
        there = {self.given.entry(text) for answers in counts.values() for text in answers}
        if idle := [shown(old) for old in self.given.values if old not in there]:
            self.notes.remark("idle", answers=first_few(idle, 8))
        return _paired(self._read(readings))

    def _read(self, readings: _Readings) -> Iterator[LocatedLabel]:
        notes, line = self.notes, 0

        @lru_cache(maxsize=_MOST_KEPT)
        def said(says: _Says) -> _Said | RowFault:
            try:
                return self._said(line, self._ask(says), readings)
            except RowFault as fault:
                return fault

        for line, row, says in self._tidied(notes):
            try:
                if says is None:
                    yield from self._counted(line, row)
                elif isinstance(meant := said(says), RowFault):
                    notes.skip_row(line, meant, "left out")
                else:
                    yield line, self._label(line, row, meant)
            except RowFault as fault:
                notes.skip_row(line, fault, "left out")

    def _remark(self, reading: codes.Reading, seen: Counter[str], expected: codes.Expected) -> None:
        for name, facts in reading.remarks:
            self.notes.remark(name, **facts)
        if reading.strays:
            left, total = sum(reading.strays.values()), quantity(sum(seen.values()), "answer")
            strays = codes.shown_counts(reading.strays)
            self.notes.remark("strays", left=left, total=total, what=expected.what, strays=strays)
        names = {value: name for value, name in expected.names.items() if expected.form != "scores"}
        read = [
            f"“{one_line(text, 30)}” as {'failed' if code.value is None else names.get(code.value, '')}"
            for text, code in reading.codes.items()
            if names and text[:1] != "\0" and codes.fold(text) != names.get(code.value or 0.0, "").lower()
        ]
        if read:
            self.notes.remark(f"answers: {first_few(read, 8)}")

    def _expected(self, key: _Key) -> codes.Expected:
        form, protocol, aspect, scale = key
        facts = protocol_facts(protocol)
        if form == "scores":
            return codes.Expected("scores", f"{aspect} ({protocol})", scale=scale)
        names = (codes.fold(self.columns.get("system_a", "")), codes.fold(self.columns.get("system_b", "")))
        sides = names if form == "pair" and all(names) else ("", "")
        what = f"the tasks ({protocol})" if form == "shown" else protocol
        return codes.Expected(form, what, facts.labels, facts.value_of_word, sides=sides)

    # ---- the rows ----

    def _tidied(self, notes: Notes) -> Iterator[tuple[int, dict[str, str], _Says | None]]:
        """The rows with stripped ids and the columns of the case that they name, and what they say; None for a row of
        counts, which says how many battles were won. Rows without a rater or a user are left out."""
        case_of = lru_cache(maxsize=_MOST_KEPT)(self.case_of)
        twins: dict[tuple[str, ...], tuple[int, list[str]]] = {}
        ids, columns = self.ids(notes), tuple[str, ...]()
        form: tuple[tuple[str, ...], bool, bool] = ((), False, False)
        for line, row in self.rows(notes):
            get = row.get
            try:
                if counted := "wins" in row and holds_counts(row):
                    self._name_battles(row, line, notes)
                    *about, a, b, wins, ties, losses = (row.get(name, "").strip() for name in _COUNTED)
                    there, before = twins.get((*about, b, a), (0, []))
                    twin = before == [losses, ties, wins]
                    refuse(twin, "same battles from the other side", line=there)
                    twins.setdefault((*about, a, b), (line, [wins, ties, losses]))
                if (name := get(CASE)) and (name := name.strip()):
                    row.update(_description(name, row, case_of(name)))
                ids.tidy(line, row)
                task, user = get(TASK, ""), get("user_id")
                # other tools also have a column of this name, beside a user column
                is_task = bool(task) and (is_task_token(task) or not (user or get(CASE)))
                if not is_task and not (get("rater") and user):
                    name = "user_id" if get("rater") else "rater"
                    raise RowFault(f"no {name}", f"{name} is empty")
                no_item = not get("item_id")
                if ids.columns is not columns or form[1:] != (is_task, no_item):
                    columns = ids.columns
                    form = (tuple(name for name in _DECISIVE if name in row), is_task, no_item)
                yield line, row, None if counted else (form, *map(row.__getitem__, form[0]))
            except RowFault as fault:
                notes.skip_row(line, fault, "left out")

    def _name_battles(self, row: dict[str, str], line: int, notes: Notes) -> None:
        """Give a row of counts a rater, a name for its battles in place of the user, and the systems of a pair."""
        name = Path(self.notes.file).name
        notes.remark("counts")
        if "ties" not in row:
            notes.remark("no-ties")
        if row.get("rater", "").strip() in MISSING:
            row["rater"] = name.rpartition(".")[0] or name
            notes.remark("no-rater", rater=row["rater"])
        row["system_a"] = row.get("system_a", "") or row.get("system", "")
        row["system"], row["user_id"] = "", f"{name}:{line}"
        row.pop("value", None)
        alone = {row["system_a"].strip(), row.get("system_b", "").strip()} & MISSING
        refuse(alone, "no pair of systems")

    # ---- what they ask ----

    def _ask(self, says: _Says) -> _Ask:
        """What a row asks. Raises RowFault."""
        (decisive, is_task, no_item), *cells = says
        row = {name: cell.strip() for name, cell in zip(decisive, cells, strict=True)}
        text, aspect = row.get("value", ""), _aspect(row)
        if is_task:
            name = row.get("protocol", "").lower()
            refuse(name not in PROTOCOLS, "unknown protocol", name=name, known=PROTOCOLS)
            facts = PROTOCOLS[name]
            refuse(text in _no_answer(facts), "no value:of a task", aspect=aspect)
            # the numbers of list labels are not accepted: the keys of the app and the stored values differ
            key: _Key = ("shown" if facts.of_pairs else "labels", name, "", None)
            if facts.scores:
                key = ("scores", name, aspect, numbered(facts.low, facts.high))
            return _Ask("task", row, facts, key, (text,))
        if _both(row) or row.get(_FIRST):
            if not row.get("system_a") and row.get("second"):
                row["system_a"], row["system_b"] = row[_FIRST], row["second"]
            a, b = row.get("system_a", ""), row.get("system_b", "")
            refuse(not (a and b), "half a pair:order")
            texts = tuple("" if t in NO_TEXT else t for t in ((row[_1], row[_2]) if _both(row) else (text,)))
            refuse(not any(texts) and not _states_failure(row), "no value:of games")
            facts = protocol_facts(self._protocol(row, aspect, None, no_item=no_item))
            tokens = tuple(self._token(text, a, b, in_order=True) for text in texts)
            return _Ask("game", row, facts, ("pair", "pairwise", "", None), tokens)
        facts, given, own = self._kind(row, no_item=no_item)
        if _states_failure(row):
            return _Ask("answer", row, facts, scale=given)
        refuse(text in _no_answer(facts), "no value", aspect=aspect, rater=row["rater"])
        key = ("labels", facts.name, "", None)
        if facts.scores:
            key = ("scores", facts.name, aspect, own)
        elif facts.of_pairs:
            key, text = ("pair", "pairwise", "", None), self._token(text, row["system_a"], row["system_b"])
        return _Ask("answer", row, facts, key, (text,), given)

    def _kind(
        self, row: Mapping[str, str], *, no_item: bool
    ) -> tuple[ProtocolFacts, Scale | None, Scale | None]:
        """The protocol of a row, the scale that is given for its scores, and the one that they have. Raises RowFault."""
        aspect, ends = _aspect(row), self.given.ends
        try:
            text = row.get("scale", "")
            of_aspect = scale_of_text(text) if text else self.part.scales.get(aspect)
        except ValueError as error:
            raise RowFault("no scale", f"{error}") from error
        scale = of_aspect or (numbered(min(ends), max(ends)) if ends else self.part.scale)
        facts = protocol_facts(self._protocol(row, aspect, scale, no_item=no_item))
        if facts.scores:
            # of scores that stand alone nothing is known
            stands_alone = not row.get("protocol") and (no_item or not row.get("system"))
            own = None if stands_alone and facts.labels else numbered(facts.low, facts.high)
            return facts, scale, scale or self.stored.get((facts.name, aspect)) or own
        labels = facts.labels.values()
        refuse(of_aspect, "a scale that does not fit", facts=facts, labels=labels, aspect=aspect, scale=scale)
        return facts, None, None

    def _protocol(self, row: Mapping[str, str], aspect: str, scale: Scale | None, *, no_item: bool) -> str:
        a, b, named = row.get("system_a", ""), row.get("system_b", ""), row.get("protocol", "").lower()
        refuse(bool(a) != bool(b), "half a pair")
        refuse(a and a == b, "half a pair:same", system=a)
        unit: CaseKind = "pair" if a else "list" if row.get("system") and no_item else "explanation"
        fitting = with_unit(unit)
        if named in ("", fitting[0]) and a and adversarial_pair(a, b):
            return ADVERSARIAL
        if not named:
            scored = next((name for name in fitting if PROTOCOLS[name].scores), "")
            return scored if scored and (scale or (scored, aspect) in self.stored) else fitting[0]
        refuse(named not in PROTOCOLS, "unknown protocol", name=named, known=PROTOCOLS)
        refuse(named == ADVERSARIAL and not adversarial_pair(a, b), "no adversarial pair")
        refuse(PROTOCOLS[named].of_pairs != bool(a), "half a pair:protocol", name=named)
        return named

    def _token(self, text: str, a: str, b: str, *, in_order: bool = False) -> str:
        """The answer of a row about a pair: a mark where it names one of the systems, or may. `in_order`: a letter is then
        that of a system or of what was shown."""
        value, written, name = _system_in(text, a, b), text in (a, b), codes.as_name(text)
        word = codes.side_of(codes.fold(text))
        letter = in_order and word is not None and word.means == "letter"
        if not value or (letter and not (written and self.part.sides == "systems")):
            return text
        word = codes.code_of_name(text)
        # a rare word for a tie, such as C, is no reason to doubt a name as it is written
        rare = word is not None and not word.value and name not in ("tie", "ties", "draw")
        sure = word is None or word.value == value or (written and (rare or in_order))
        if self.given.entry(text) is not None or not (sure or self.given.ours):
            # what the command says of a name counts
            return codes.EITHER + text
        return text if not sure else codes.NAMED_A if value > 0 else codes.NAMED_B

    # ---- the labels ----

    def _label(self, line: int, row: Mapping[str, str], said: _Said) -> Label:
        """The label of a row that says this. Raises RowFault for a time that cannot be read."""
        get, note = row.get, row.get("note", "")
        if said.note:
            note = "; ".join(filter(None, (note, said.note)))
        if said.odd_state:
            self.notes.warn(line, "unknown state", state=said.odd_state)
        served, flags, case = get("served_at"), get("flags"), get(CASE)
        time = self.times.read(served, "served_at") if served else ""
        about = (get("user_id", ""), get("item_id", ""), get("context", ""), time, note)
        found = _flags(flags.strip(), line, self.notes) if flags else ()
        task, case_id = get(TASK, "") if said.label.task else "", int(case) if case else None
        return Label._make((*said.label[:12], *about, found, task, case_id, said.label.turned))

    def _said(self, line: int, ask: _Ask, readings: _Readings) -> _Said:
        """What such rows say. Raises RowFault, and InputError where the order of the systems leaves a doubt."""
        row, facts, state = ask.row, ask.facts, ask.row.get("state", "").lower().replace("_", " ")
        if ask.what == "game":
            return _Said(_decided(self._start(ask), self._games(line, ask, readings)))
        about = row.get("system", "?") or row.get("system_a") or row.get("protocol")
        if ask.what == "answer" and not about:
            self.notes.remark("unnamed-system", protocol=facts.name)
        code = codes.Code(None) if ask.key is None else self._code(ask, ask.tokens[0], readings)
        value, scale, name = code.value, ask.key[3] if ask.key else None, ""
        if ask.what == "task":
            name = "" if value is None else facts.labels.get(value) or plain_number(value)
            label = Label(row.get("rater", ""), value, _aspect(row), name, protocol=facts.name, task="yes")
            return _Said(label)
        if value is not None and facts.scores:
            before = ask.scale is None and (facts.name, _aspect(row)) in self.turned
            if scale is not None and ((scale.high, scale.low) == self.given.ends or before):
                self.notes.remark("turned", scale=scale)
                value = scale.low + scale.high - value
            name = scale.names[value] if scale is not None and scale.words else plain_number(value)
        elif value is not None:
            value = 0.0 - value if row.get("system_a", "") > row.get("system_b", "") else value
            name = facts.labels[value]
        note = f"answer: {row.get('value', '')}" if code.strength else ""
        odd = "" if state in codes.VALID or state in codes.FAILED else state
        return _Said(self._start(ask)._replace(value=value, label=name), note, odd)

    def _start(self, ask: _Ask) -> Label:
        """The label without its answer, its systems in the order of their names. Raises RowFault."""
        row = ask.row
        a, b = row.get("system_a", ""), row.get("system_b", "")
        named = row.get("rater_kind", "").strip().lower()
        kind = next((kind for kind in RATER_KINDS if kind == named), None)
        refuse(kind is None and named not in MISSING, "unknown rater kind", name=named, kinds=RATER_KINDS)
        return Label(
            row["rater"],
            None,
            _aspect(row),
            system=row.get("system", ""),
            system_a=min(a, b) if b else a,
            system_b=max(a, b) if a else b,
            protocol=ask.facts.name,
            rater_kind=kind,
            rule=COUNTED if row.get("rule", "") == COUNTED else AS_GIVEN,
            scale=ask.scale,
            turned=a > b,
        )

    def _code(self, ask: _Ask, token: str, readings: _Readings) -> codes.Code:
        assert ask.key is not None
        code = readings[ask.key].codes.get(token)
        if code is None:
            what = self._expected(ask.key).what
            answer, entry = token.removeprefix(codes.EITHER), self.given.entry(token)
            dropped = entry is not None and not self.given.values[entry]
            kind = "answer left out" if dropped else "answer that does not fit"
            raise RowFault(kind, answer=answer, what=what)
        if code.value is not None and math.isnan(code.value):
            name = token.removeprefix(codes.EITHER)
            return codes.Code(_system_in(name, ask.row["system_a"], ask.row["system_b"]))
        return code

    def _games(self, line: int, ask: _Ask, readings: _Readings) -> tuple[Game, ...]:
        """The judgements of a row in a known order, of its systems in the order of their names."""
        row, tokens, a, b = ask.row, ask.tokens, ask.row["system_a"], ask.row["system_b"]
        # if the row does not say which system was shown first, the first verdict is for the order a, b
        first = _shown_first(ask)
        refuse(first is None, "unknown order", text=row.get(_FIRST), a=a, b=b)
        sides: tuple[codes.Side, ...] = ("a", "b") if first == "a" else ("b", "a")
        # in a row with both orders, the state refers to the missing answer
        failed = _states_failure(row) and not (len(tokens) > 1 and any(tokens))
        games = []
        for side, token in zip(sides, tokens, strict=False):
            if token or failed:
                value = None if failed else self._game_value(line, ask, token, side, readings)
                turned: codes.Side = side if a < b else "b" if side == "a" else "a"
                games.append(Game(turned, value if value is None or a < b else 0.0 - value))
        return tuple(games)

    def _game_value(
        self, line: int, ask: _Ask, token: str, first: codes.Side, readings: _Readings
    ) -> float | None:
        code, systems = self._code(ask, token, readings), (ask.row["system_a"], ask.row["system_b"])
        if not code.value or code.means == "side":
            return code.value
        if code.means == "place":
            return code.value * _SIGN[first]
        named = _system_in(token, *systems) or None
        if self.part.sides or (first == "a" and named in (None, code.value)):
            return code.value * (_SIGN[first] if self.part.sides == "shown" else 1.0)
        said = {"answer": token, "system": systems[code.value < 0], "first": systems[first == "b"]}
        raise refusal("sides", place=f"{self.notes.file}:{line}", shown=1 if code.value > 0 else 2, **said)

    def _counted(self, line: int, row: dict[str, str]) -> Iterator[LocatedLabel]:
        """A label for each battle of a row of counts; each battle has a user of its own. The counts must be whole
        numbers, and add up to the column of all battles if there is one. Raises RowFault before the first one."""
        cells = {name: row.get(name, "").strip() for name in ("wins", "losses", "ties", "failed")}
        counts = {
            name: 0 if text in MISSING and name in ("ties", "failed") else whole(text, name)
            for name, text in cells.items()
        }
        for name, count in counts.items():
            refuse(count < 0, "not a count", name=name, text=cells[name])
        wins, losses, ties, failed = counts.values()
        decided, stated = wins + ties + losses, row.get("battles", "").strip()
        odd = stated not in MISSING and whole(stated, "battles") not in (decided, decided + failed)
        refuse(odd, "counts do not add up", wins=wins, ties=ties, losses=losses, stated=stated)
        refuse(decided + failed == 0, "no battles")
        refuse(decided + failed > _MOST_BATTLES, "too many battles", most=_MOST_BATTLES)
        cells = {name: row.get(name, "").strip() for name in _DECISIVE}
        facts = protocol_facts(self._protocol(cells, _aspect(cells), None, no_item=not row.get("item_id")))
        label = self._label(line, row, _Said(self._start(_Ask("answer", cells, facts))))
        if row["system_a"] > row["system_b"]:
            wins, losses = losses, wins
        number = 0
        for count, value in ((wins, 1.0), (ties, 0.0), (losses, -1.0), (failed, None)):
            name = "" if value is None else facts.labels[value]
            for _ in range(count):
                number += 1
                user = f"{label.user_id} #{number}"
                yield line, label._replace(value=value, label=name, rule=COUNTED, user_id=user)


def _no_answer(facts: ProtocolFacts) -> Collection[str]:
    """What stands for a missing answer; “none” is an answer where answers are words."""
    return MISSING if facts.scores else NO_TEXT


def _shown_first(ask: _Ask) -> codes.Side | None:
    """The system that was shown first, the first of the pair if the row does not say; None if it cannot be read."""
    a, b = codes.fold(ask.row["system_a"]), codes.fold(ask.row["system_b"])
    return {**codes.ORDERS, b: "b", a: "a"}.get(codes.fold(ask.row.get(_FIRST, "")))


def _both(row: Mapping[str, str]) -> bool:
    return two_game_columns(row) and ("value" not in row or bool(row[_1].strip() or row[_2].strip()))


def _aspect(row: Mapping[str, str]) -> str:
    aspect = row.get("aspect", "").strip()
    return OVERALL if aspect in MISSING else aspect


def _system_in(text: str, a: str, b: str) -> float:
    """1 if an answer names the first of two systems, -1 for the second, as it is written or in another spelling; 0 if
    neither or both. The label A is not another spelling of a system a."""
    if text in (a, b):
        return 1.0 if text == a else -1.0
    name = "" if text in ("A", "B", "Tie") else codes.as_name(text)
    return float((codes.as_name(a) == name) - (codes.as_name(b) == name))


def _states_failure(row: Mapping[str, str]) -> bool:
    """Whether the rater was asked but the answer could not be read; its value is then ignored."""
    return row.get("state", "").lower().replace("_", " ") in codes.FAILED


def _description(name: str, row: Mapping[str, str], case: Mapping[str, str] | None) -> Mapping[str, str]:
    """The columns that describe the row's case; its systems may stand in either order. Raises RowFault if there is no such
    case, or if the row's own columns describe another one."""
    if name in MISSING:
        return {}
    if case is None:
        raise RowFault("unknown case", name=name)
    a, b = (row.get(column, "").strip() for column in ("system_a", "system_b"))
    if a and (a, b) == (case["system_b"], case["system_a"]):
        case = {**case, "system_a": a, "system_b": b}
    for column, value in case.items():
        given = row.get(column, "").strip()
        if given and given != value and column != "served_at":
            what = f"{column} {shown(value)}, not {shown(given)}" if value else f"no {column}"
            raise RowFault("another case", name=name, what=what)
    return case


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
            both = label._replace(note=notes, flags=other[1].flags + label.flags)
            yield line, _decided(both, other[1].games + label.games)
        else:
            yield line, label
    yield from waiting.values()


def in_both_orders(label: Label) -> Label:
    """What follows from an answer, and from the opposite one that was given in the other order of the systems."""
    value = (label.value or 0.0) * (-1.0 if label.turned else 1.0)
    return _decided(label, (Game("a", value), Game("b", 0.0 - value)))


def _decided(label: Label, games: tuple[Game, ...]) -> Label:
    """The label that follows from the judgements: if the orders disagree, it is a tie; if one failed, there is none."""
    values = {game.value for game in games}
    value = None if None in values else values.pop() if len(values) == 1 else 0.0
    name = "" if value is None else protocol_facts(label.protocol).labels[value]
    rule = BOTH_ORDERS if len(games) > 1 else ONE_ORDER
    return label._replace(games=games, value=value, label=name, rule=rule)


def _flags(text: str, line: int, notes: Notes) -> tuple[ItemFlag, ...]:
    """Parse a JSON array of objects, or `item:issue;item:issue`. Unreadable flags are noted; the label is kept."""
    found: list[ItemFlag] = []
    text = "" if text in MISSING else text
    try:
        entries = json.loads(text, parse_int=str, parse_float=str) if text.startswith("[") else [text]
        for entry in chain.from_iterable(e.split(";") if isinstance(e, str) else [e] for e in entries):
            if isinstance(entry, str):
                if not entry.strip():
                    continue
                item, _, issue = entry.rpartition(":")
                entry = {"item_id": item, "issue": issue}
            flag = ItemFlag(*(str(entry.get(name) or "").strip() for name in ("item_id", "issue", "reason")))
            "".join(flag).encode()
            if not flag.item_id or not flag.issue:
                raise ValueError("a flag without item or issue")
            found.append(flag)
    except (ValueError, AttributeError, RecursionError):
        notes.warn(line, "bad flags", text=text)
        return ()
    return tuple(found)
