"""Adversarial: a user's own list against another user's, one call per pair (SAER; Liu et al., SIGIR 2026).

The question, the prompts and the reply are those of pairwise. The list that comes first is drawn for each case, and
nothing tells the judge that one list was made for somebody else.
"""

from __future__ import annotations

from dataclasses import replace

from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.protocols.pairwise import PROTOCOL as PAIRWISE

# one call; the plan draws its order
PROTOCOL = replace(PAIRWISE, facts=protocol_facts(ADVERSARIAL), orders=PAIRWISE.orders[:1])
