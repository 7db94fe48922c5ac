from __future__ import annotations

import pytest

from recjudge_tui.domain import protocols
from recjudge_tui.domain.event_types import HELD_OUT
from recjudge_tui.domain.protocols import PROTOCOLS
from recjudge_tui.store import facts
from recjudge_tui.store.database import Database
from tests.support.example_protocol import registered


def value(db: Database, expression: str, protocol: str) -> object:
    """The SQL expression over a verdict `v` of this protocol."""
    return db.value(f"SELECT {expression} FROM (SELECT ? AS protocol) v", (protocol,))


def test_sql_says_of_every_protocol_what_its_facts_say(db: Database) -> None:
    with registered():
        for name, known in PROTOCOLS.items():
            assert value(db, facts.question_in("v.protocol"), name) == protocols.question_of(name)
            assert value(db, facts.disagreement_in(), name) == known.disagreement
            assert value(db, facts.width(), name) == known.high - known.low
            assert value(db, facts.about_systems("v.protocol"), name) == (not known.tests_judges)
            of_pairs = known.of_pairs and not known.tests_judges
            assert value(db, facts.with_unit_in("v.protocol", "pair"), name) == of_pairs


def test_verdicts_are_apart_from_the_smallest_disagreement_on(db: Database) -> None:
    verdicts = "(SELECT ? AS value) o, (SELECT ? AS value, ? AS protocol) v"
    for name, known in PROTOCOLS.items():
        for difference, disagrees in ((known.disagreement, 1), (known.disagreement - 0.25, 0)):
            sql = f"SELECT {facts.apart()} FROM {verdicts}"
            assert db.value(sql, (known.low, known.low + difference, name)) == disagrees


@pytest.mark.parametrize(
    ("event_type", "held_out"),
    [(f"{HELD_OUT}click", True), ("heldoutclick", False), ("click", False), ("my_heldout_click", False)],
)
def test_held_out_types_are_found_by_their_beginning(db: Database, event_type: str, held_out: bool) -> None:
    """A copy of what is held out is no more shown than what is held out."""
    shown = facts.shown_event("e")
    row = db.row(
        f"SELECT {facts.held_out_type()}, {shown} FROM (SELECT ? AS type, 0 AS is_copy) e", (event_type,)
    )
    assert row is not None
    assert tuple(row) == (held_out, not held_out)
    assert not db.value(f"SELECT {shown} FROM (SELECT ? AS type, 1 AS is_copy) e", (event_type,))
