"""The prompts of an ablation, which all judge the same adversarial pairs, and the names of their raters."""

from __future__ import annotations

from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.errors import UsageError
from recjudge_tui.protocols.registry import protocol
from recjudge_tui.runs.plan.plan import default_prompt
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import get_prompt, load_shipped

PROMPTS = ("generic", "overspecified", "saer")


class Arm(NamedTuple):
    """One prompt of the comparison: its name as given, its full name, and the rater that will answer."""

    name: str
    prompt: str
    rater: str


def arms_of(db: Database, project_id: int, judge: JudgeSpec, names: tuple[str, ...]) -> list[Arm]:
    """The arms in the order of `names`; `generic`, `overspecified` and `saer` are the shipped ones for the
    project's kind of data, anything else is a prompt's own NAME[@VERSION].

    Raises UsageError for fewer than two, one named twice, and a prompt that does not compare two lists;
    NotFoundError for an unknown prompt.
    """
    if len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(
            "an ablation compares two or more different prompts", f"Requested: {', '.join(names) or 'none'}."
        )
    load_shipped(db)
    chosen = protocol(ADVERSARIAL)
    usual = default_prompt(db, project_id, chosen)
    full = {"saer": usual} | {
        name: usual.replace(f"{chosen.facts.prompt_protocol}-", f"{name}-") for name in PROMPTS[:2]
    }
    arms = []
    for name in names:
        prompt = full.get(name, name)
        of = get_prompt(db, prompt)[2].protocol
        if of != chosen.facts.prompt_protocol:
            raise UsageError(f"prompt “{prompt}” is for {of}, not for {chosen.facts.prompt_protocol}")
        arms.append(Arm(name, prompt, f"{judge.rater} {name}"))
    return arms
