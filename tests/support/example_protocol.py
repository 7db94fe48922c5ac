"""A protocol as somebody adds one: its facts, its three functions and its prompt, and nothing else.

`match` asks whether a list suits a user: Yes, Maybe or No. `duel` asks what pairwise asks, in other words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from recjudge_tui.domain.protocols import PROTOCOLS, ProtocolFacts
from recjudge_tui.protocols.registry import PROTOCOLS as PROTOCOL_BY_NAME
from recjudge_tui.protocols.registry import Protocol, only_answer, parse_ratings, ratings_form

MATCH = ProtocolFacts(
    name="match",
    unit="list",
    summary="whether each list suits the user",
    labels={2.0: "Yes", 1.0: "Maybe", 0.0: "No"},
    spellings={"suits": 2.0},
    disagreement=2.0,
    prompts={"any": "match-lists"},
    top_k=3,
    directions=("warmer", "colder"),
)
DUEL = replace(
    PROTOCOLS["pairwise"],
    name="duel",
    summary="the better of two lists",
    question="pairwise",
    prompts_of="pairwise",
    list_names=("Left", "Right"),
)
PROTOCOL = Protocol(facts=MATCH, orders=("",), form=ratings_form, parse=parse_ratings, verdict=only_answer)

MATCH_PROMPT = """
name = "match-lists"
protocol = "match"
description = "Whether a list suits a user"
system = '''
Say whether the list suits the user. Answer with one JSON object: "reasoning", a sentence; "{{ aspects[0].field }}", one of
{% for label in labels %}"{{ label.reply }}" {% endfor %}.
'''
user = '''
History:
{{ user.history | event_lines }}

List:
{{ slates[0].items | item_lines }}
'''

[[labels]]
name = "Yes"
reply = "Yes"
value = 2

[[labels]]
name = "Maybe"
reply = "Maybe"
value = 1

[[labels]]
name = "No"
reply = "No"
value = 0

[[aspects]]
name = "overall"
field = "match"
question = "Does the list suit the user?"
"""


@contextmanager
def registered() -> Iterator[None]:
    """Both protocols are there, as entries of the two mappings that a new protocol enters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PROTOCOLS, "match", MATCH)
        patch.setitem(PROTOCOL_BY_NAME, "match", PROTOCOL)
        patch.setitem(PROTOCOLS, "duel", DUEL)
        patch.setitem(PROTOCOL_BY_NAME, "duel", replace(PROTOCOL_BY_NAME["pairwise"], facts=DUEL))
        yield
