"""What every option is, of a run and of a report: declared once; the command line, the app's form, the notebook and the
docs derive from the declaration. Loads nothing heavy, because the help of a command reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recjudge_tui.domain.occasions import OVER as PERIODS


@dataclass(frozen=True)
class Option:
    """One option; `name` is the setting or argument that it sets. type: int, float, str, bool, tuple (names) or dict
    (NAME=WORD). bounds: ge, gt, le, lt, as in pydantic. default: None if it depends. flag, metavar: on the command line;
    --no- negates; no flag: not offered there; `argument`: given by its place; `details` follow the help there. label,
    placeholder (an empty field), form_choices ((value, text), the default first): in the form. repeated: each name by an
    option of its own, because it may hold a comma. as_json: KEY=JSON. rare: only in --help-all."""

    name: str
    type: type
    help: str
    default: Any = None
    bounds: Mapping[str, float] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    flag: str = ""
    metavar: str = ""
    details: str = ""
    label: str = ""
    placeholder: str = ""
    form_choices: tuple[tuple[str, str], ...] = ()
    repeated: bool = False
    as_json: bool = False
    required: bool = False
    argument: bool = False
    rare: bool = False

    def but(self, **changes: Any) -> Option:
        """The same option with other words, default or choices in one report."""
        return replace(self, **changes)


PROTOCOL = Option(
    "protocol", str, "pointwise, pairwise, arena, absolute or explanation.", flag="--protocol", metavar="P"
)
ASPECT = Option("aspect", str, "Only this aspect.", flag="--aspect", metavar="A")
RATER = Option("rater", str, "Only this rater.", flag="--rater", metavar="R")
RATERS = Option(
    "raters", tuple, "Only these raters. Default: see --readers.", (), flag="--raters", metavar="A,B,..."
)
READERS = Option(
    "readers", bool, "Include readers, who overrode single verdicts in the app, and people with only a few labels.", False,
    flag="--readers",
)  # fmt: skip
FINE = Option(
    "fine", bool, "Keep finer labels apart; else each counts as the label that it rolls up to.", False, flag="--fine",
)  # fmt: skip
TRUTH = Option(
    "truth", str, "Compare everyone with this rater. Default: all pairs of raters.", flag="--truth", metavar="RATER",
)  # fmt: skip
SYSTEMS = Option(
    "systems", tuple, "Only these systems; for pairs, both must be among them. Default: all.", (), flag="--systems",
    metavar="A,B,...",
)  # fmt: skip
CONTEXTS = Option(
    "context", tuple, "Only lists and texts of this context.", (), flag="--context", metavar="NAME", repeated=True,
    details="Repeat it for several; --context '' selects those without one.", label="contexts", placeholder="all",
)  # fmt: skip
SERVED_FROM = Option(
    "from_", str, "Only lists and texts served on this day (UTC) or later, or from this time on.", "", flag="--from",
    metavar="TIME", details="Those without a served_at are left out and counted.", label="served from",
    placeholder="any time",
)  # fmt: skip
SERVED_TO = Option(
    "to", str, "Only lists and texts served by the end of this day (UTC), or up to this time.", "", flag="--to",
    metavar="TIME", details="Those without a served_at are left out and counted.", label="served to",
    placeholder="any time",
)  # fmt: skip
BY = Option(
    "by", str,
    "Any attribute of users, such as plan: the report for each of its values; “activity”: for thirds of the users by"
    " number of events; “context”: for the contexts with the most cases, and for the rest.",
    flag="--by", metavar="NAME",
)  # fmt: skip
OVER = Option(
    "over", str,
    "The report for each day, ISO week or month (UTC) in which lists were served, or for the lists that each import was the"
    " first to bring.",
    choices=PERIODS, flag="--over",
)  # fmt: skip
WHERE = Option(
    "where", str, "Only users who meet this, such as \"plan = 'pro' and events > 20\".", "", flag="--where", metavar="EXPR",
    details="Attributes, and of every user “events” (those that a judge may be shown), “user” (the id) and “part” (teach or"
    " test, half of the users each).", label="users where", placeholder="all",
)  # fmt: skip
SEED = Option("seed", int, "The seed of what is drawn.", 0, flag="--seed")
# the cases and lists that a report is about
OCCASIONS = (CONTEXTS, SERVED_FROM, SERVED_TO)
CASES = (SYSTEMS, WHERE, BY, OVER, *OCCASIONS)
