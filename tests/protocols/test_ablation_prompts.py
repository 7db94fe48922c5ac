"""The two prompts of the ablation: one that says too little, one that says too much."""

from __future__ import annotations

import re

import pytest

from recjudge_tui.protocols.rendering import system_text, user_text
from tests.support.cases import SHOPPER, paired, shipped

DOMAINS = ("shopping", "media")


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_generic_prompt_shows_the_history_and_asks_which_is_better_and_nothing_else(domain: str) -> None:
    prompt = shipped(f"generic-{domain}")
    text = user_text(prompt, paired(SHOPPER), "")
    assert "Sonic Toothbrush" in text
    assert "Which is better?" in text
    for more in ("brush heads", "Dental Floss", "Browsed", "prefers", "Profile", "age"):
        assert more not in text
    system = system_text(prompt, 10)
    assert not prompt.examples
    assert not prompt.issues
    assert len(system) < 500
    assert not re.search(r"criteri|guideline|relevan|coverage|redundan", system, re.I)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_over_specified_prompt_has_five_weighted_criteria_with_five_steps_each(domain: str) -> None:
    system = system_text(shipped(f"overspecified-{domain}"), 10)
    weights = [int(w) for w in re.findall(r"^\d\. .*\(weight (\d+) %\)$", system, re.M)]
    assert len(weights) == 5
    assert sum(weights) == 100
    assert len(re.findall(r"^   [1-5]: ", system, re.M)) == 25
