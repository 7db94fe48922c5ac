"""The facts of the domain as SQL, one function for each fact that queries need, and the names that users give. Facts are
rendered each time a query is built, so that a protocol registered later is included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from recjudge_tui.domain.event_types import HELD_OUT
from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts, with_unit
from recjudge_tui.errors import UsageError

if TYPE_CHECKING:
    from recjudge_tui.domain.material import CaseKind


# event types that are hidden from judges, as a condition on the column `type`
_HELD_OUT_PATTERN = "'" + HELD_OUT.replace("_", r"\_") + r"%' ESCAPE '\'"

# rows of events that are equal in these columns are one event
SAME_EVENT = "user_id, type, timestamp, text, value, item_id"


def sql_list(texts: Iterable[str]) -> str:
    """`('a', 'b')`, for IN. The texts come from the code, never from data."""
    return "(" + ", ".join(f"'{text}'" for text in texts) + ")"


def question_in(column: str) -> str:
    """SQL for the protocol whose question the protocol in `column` answers. Verdicts on the same question can be
    compared."""
    others = [facts for facts in PROTOCOLS.values() if facts.question not in ("", facts.name)]
    if not others:
        return column
    cases = " ".join(f"WHEN '{facts.name}' THEN '{facts.question}'" for facts in others)
    return f"CASE {column} {cases} ELSE {column} END"


def same_question() -> str:
    """SQL for: the verdicts `o` and `v` answer the same question."""
    return f"{question_in('o.protocol')} = {question_in('v.protocol')}"


def disagreement_in(column: str = "v.protocol") -> str:
    """The smallest difference of two values that counts as a disagreement."""
    usual = ProtocolFacts.disagreement
    return _by_protocol(column, {f.name: f.disagreement for f in PROTOCOLS.values()}, usual)


def width() -> str:
    """The highest value minus the lowest one, of the protocol in `v.protocol`."""
    return _by_protocol("v.protocol", {f.name: f.high - f.low for f in PROTOCOLS.values()}, 2.0)


def apart() -> str:
    """SQL for: the values of the verdicts `o` and `v`, on one question, disagree."""
    return f"abs(o.value - v.value) >= {disagreement_in()}"


def with_unit_in(column: str, unit: CaseKind) -> str:
    """SQL for: the protocol in `column` judges this unit. False for protocols that test judges."""
    return f"{column} IN {sql_list(with_unit(unit))}"


def about_systems(column: str) -> str:
    """SQL for: verdicts of the protocol in `column` are about systems and do not test a judge."""
    tests = [facts.name for facts in PROTOCOLS.values() if facts.tests_judges]
    return f"{column} <> '{tests[0]}'" if len(tests) == 1 else f"{column} NOT IN {sql_list(tests)}"


def held_out_type(column: str = "type") -> str:
    """SQL for: events of the type in `column` are held out from judges."""
    return f"{column} LIKE {_HELD_OUT_PATTERN}"


def shown_event(table: str = "") -> str:
    """SQL for: a judge may be shown the event. It is then neither held out nor a copy of an event that is held out for
    every list of its user (`histories.occasion_copies` are those for a single occasion)."""
    row = f"{table}." if table else ""
    return f"({row}type NOT LIKE {_HELD_OUT_PATTERN} AND {row}is_copy = 0)"


def shown_events(project: str) -> str:
    """A query for the events that a judge may be shown. An event that several imports contain appears once. `project` is
    the parameter."""
    return f"SELECT DISTINCT {SAME_EVENT} FROM events WHERE project_id = {project} AND {shown_event()}"


def _by_protocol(column: str, by_name: dict[str, float], usual: float) -> str:
    cases = " ".join(f"WHEN '{name}' THEN {value!r}" for name, value in by_name.items() if value != usual)
    return f"CASE {column} {cases} ELSE {usual!r} END" if cases else repr(usual)


# ---- names -------------------------------------------------------------------------------------------------------


LONGEST_NAME = 300
_NAMED = 8


def first_names(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def sane_name(name: str, what: str) -> str:
    """The name without surrounding spaces. Raises UsageError if it has more than LONGEST_NAME characters; `what` names
    its bearer, such as “the project”."""
    name = name.strip()
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"the name of {what} has {len(name):,} characters",
            f"It may have {LONGEST_NAME}.",
            "Choose a shorter one.",
        )
    return name
