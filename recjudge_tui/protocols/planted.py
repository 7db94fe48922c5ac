"""Planted: a real list with one fault planted into it, judged as pointwise is.

The question, the prompts and the reply are those of pointwise, and the judge does not know that the list was changed.
"""

from __future__ import annotations

from dataclasses import replace

from recjudge_tui.domain.made_lists import PLANTED
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.protocols.pointwise import PROTOCOL as POINTWISE

PROTOCOL = replace(POINTWISE, facts=protocol_facts(PLANTED))
