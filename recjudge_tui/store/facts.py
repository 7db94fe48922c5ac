"""The facts of the domain as SQL: one function for each fact that queries need.

They are rendered when a query is made, so that a protocol registered later counts too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recjudge_tui.domain.event_types import HELD_OUT
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, with_unit

if TYPE_CHECKING:
    from recjudge_tui.domain.material import CaseKind

# event types that are hidden from judges, as a condition on the column `type`
_HELD_OUT_PATTERN = "'" + HELD_OUT.replace("_", r"\_") + r"%' ESCAPE '\'"

# rows of events that are equal in these columns are one event
SAME_EVENT = "user_id, type, timestamp, text, value, item_id"


def sql_list(texts: Iterable[str]) -> str:
    """`('a', 'b')`, for IN. The texts come from the code, never from data."""
    return "(" + ", ".join(f"'{text}'" for text in texts) + ")"


def question_of(column: str) -> str:
    """The protocol whose question the protocol in `column` answers: verdicts on one question are compared."""
    others = [facts for facts in PROTOCOLS.values() if facts.question not in ("", facts.name)]
    if not others:
        return column
    cases = " ".join(f"WHEN '{facts.name}' THEN '{facts.question}'" for facts in others)
    return f"CASE {column} {cases} ELSE {column} END"


def same_question(left: str = "o.protocol", right: str = "v.protocol") -> str:
    """Whether two verdicts answer one question, by the columns of their protocols."""
    return f"{question_of(left)} = {question_of(right)}"


def smallest_disagreement(column: str = "v.protocol") -> str:
    """The smallest difference of two values that counts as a disagreement."""
    usual = ProtocolFacts.disagreement
    return _by_protocol(column, {f.name: f.disagreement for f in PROTOCOLS.values()}, usual)


def width(column: str = "v.protocol") -> str:
    """The highest value minus the lowest one."""
    return _by_protocol(column, {f.name: f.high - f.low for f in PROTOCOLS.values()}, 2.0)


def apart(left: str = "o", right: str = "v") -> str:
    """Whether the values of two verdicts on one question are a disagreement."""
    return f"abs({left}.value - {right}.value) >= {smallest_disagreement(f'{right}.protocol')}"


def with_unit_in(column: str, unit: CaseKind) -> str:
    """Whether the protocol in `column` judges this unit; not for those that test judges."""
    return f"{column} IN {sql_list(with_unit(unit))}"


def about_systems(column: str) -> str:
    """Whether verdicts of the protocol in `column` say something about systems, and do not test a judge."""
    tests = [facts.name for facts in PROTOCOLS.values() if facts.tests_judges]
    return f"{column} <> '{tests[0]}'" if len(tests) == 1 else f"{column} NOT IN {sql_list(tests)}"


def held_out_type(column: str = "type") -> str:
    """Whether events of the type in `column` are held out from judges."""
    return f"{column} LIKE {_HELD_OUT_PATTERN}"


def shown_event(table: str = "") -> str:
    """Whether a judge may be shown an event, and it counts as known of its user and item: it is neither held out nor a copy
    of an event that is held out for every list of its user (held_out_copies.py has the copies for one occasion)."""
    row = f"{table}." if table else ""
    return f"({row}type NOT LIKE {_HELD_OUT_PATTERN} AND {row}is_copy = 0)"


def shown_events(project: str) -> str:
    """The events that a judge may be shown, each once however many imports hold it, as a query; `project`: its parameter."""
    return f"SELECT DISTINCT {SAME_EVENT} FROM events WHERE project_id = {project} AND {shown_event()}"


def _by_protocol(column: str, by_name: dict[str, float], usual: float) -> str:
    cases = " ".join(f"WHEN '{name}' THEN {value!r}" for name, value in by_name.items() if value != usual)
    return f"CASE {column} {cases} ELSE {usual!r} END" if cases else repr(usual)
