"""What can be done next (`domain.steps`), said as a command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from recjudge_tui.domain.text import one_line

if TYPE_CHECKING:
    from recjudge_tui.domain.steps import Action, Step

_COMMANDS: Mapping[Action, str] = {
    "import": "recjudge import FILE... -p {project}",
    "import lists": "recjudge import FILE -p {project} --as lists",
    "import items": "recjudge import FILE -p {project} --as items",
    "import events": "recjudge import FILE -p {project} --as events",
    "import labels": "recjudge import FILE -p {project} --as labels",
    "judge": "recjudge run {protocol} -p {project} --judge {judge}",
    "label": "recjudge annotate plan -p {project} --protocol {protocol} --annotators {annotators}",
    "more labels": "recjudge annotate plan -p {project} --protocol {protocol} --annotators {annotators}",
    "retry": "recjudge runs retry {run}",
    "resume": "recjudge runs resume {run}",
    "robustness": "recjudge robustness adversarial -p {project} --judge {judge}",
    "position": "recjudge run {protocol} -p {project} --judge {judge} --swap",
    "planted": "recjudge robustness injected -p {project} --judge {judge}",
    "include readers": "--readers counts them",
    "choose": "{option} chooses another",
    "raise cap": "recjudge runs retry {run} --max-tokens N",
    "price": "add the price to prices.toml in the config folder",
    "whole": "--all shows the rest",
}  # fmt: skip
_PLACES = {
    "project": "NAME",
    "protocol": "pairwise",
    "judge": "JUDGE",
    "annotators": "YOU",
    "run": "ID",
    "option": "--systems",
}


def command(step: Step, project: str = "") -> str:
    """The command that takes a step, with the names it is about; `more` are further words, quoted already."""
    known = {"project": project} if project else {}
    given = {name: one_line(text, 400) for name, text in {**known, **step.about}.items() if text}
    more = given.pop("more", "")
    about = {name: shlex.quote(text) for name, text in given.items()}
    return _COMMANDS[step.action].format_map({**_PLACES, **about}) + (more and f" {more}")
