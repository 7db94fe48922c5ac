"""The flags of a project as masks over lists and over their items, for every rater that was asked for flags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.roles import COMBINED
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.scales import is_metric, protocol_questions, protocols_meeting, rater_rank
from recjudge_tui.stats.arrays import BoolArray
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.flags import FlaggedLists, Flagger, folded, load_flags
from recjudge_tui.store.verdicts.ratings import (
    Question,
    Ratings,
    Verdicts,
    load_questions,
    project_questions,
)

ANY = "any"
NOTHING = "no rater has flagged an item or was asked to: start a pointwise run, or import labels with flags"
NOTHING_HERE = "no rater has flagged an item of these or was asked to"
# flags belong to a whole answer, not to a single aspect
_ASPECT = "flags"
Of = Literal["lists", "items"]


@dataclass(frozen=True)
class FlagOptions:
    """None or empty: every protocol that judges single lists, every rater and every kind. `of`: what a share counts.

    `by_rank`: the share of items at each place of the lists, of `issue` (None: of any kind).
    """

    protocol: str | None = None
    raters: tuple[str, ...] = ()
    of: Of = "lists"
    by_rank: bool = False
    issue: str | None = None
    truth: str | None = None
    selection: CaseSelection = EVERY_CASE


@dataclass(frozen=True)
class ProjectFlags:
    """The flags of all raters: `ratings` has one question for each of `flaggers` with all its verdicts, 1 if one is
    valid and NaN if all failed. `silent` names raters that gave no flag and were asked for none.
    """

    ratings: Ratings
    lists: FlaggedLists
    flaggers: tuple[Flagger, ...]
    silent: tuple[str, ...]

    def lists_with(self, flagger: Flagger, issue: int | None) -> BoolArray:
        """By case, whether the rater flagged anything in its list, of one kind or of any (None)."""
        flags = self.lists.by_rater[flagger]
        mask = np.zeros(self.ratings.cases.ids.size, dtype=np.bool_)
        mask[flags.row if issue is None else flags.row[flags.issue == issue]] = True
        return mask

    def items_with(self, flagger: Flagger, issue: int | None) -> BoolArray:
        """By row of `lists.items`, whether the rater flagged it."""
        flags = self.lists.by_rater[flagger]
        here = (flags.item >= 0) & ((flags.issue == issue) if issue is not None else True)
        mask = np.zeros(self.lists.items.row.size, dtype=np.bool_)
        mask[flags.item[here]] = True
        return mask

    def shown_to(self, flagger: Flagger) -> BoolArray:
        """By row of `lists.items`, whether the rater was shown it."""
        items = self.lists.items
        shown: BoolArray = items.rank <= self.lists.by_rater[flagger].depth[items.row]
        return shown


def load_flagged(db: Database, project_id: int, options: FlagOptions) -> ProjectFlags:
    """The flags of the raters that the options name, judges before people.

    Raises UsageError for an unknown protocol, or one that judges no single lists; NotFoundError for an unknown rater.
    """
    protocols_meeting(options.protocol)
    if options.protocol is not None and protocol_facts(options.protocol).unit != "list":
        raise UsageError(f"{options.protocol} does not judge single lists, and flags are about single lists")
    wanted = {*options.raters, *([options.truth] if options.truth else [])}
    for name in sorted(wanted):
        rater_row(db, project_id, name)
    questions = [
        question
        for question in project_questions(db, project_id)
        if protocol_facts(question.protocol).unit == "list"
        and (not options.raters or question.rater in wanted)
    ]
    loaded = load_questions(db, project_id, questions, options.selection)
    fitting = protocol_questions(questions, loaded.raters, options.protocol)
    # raters made from others have no flags
    raters = {name: rater for name, rater in loaded.raters.items() if rater.kind not in COMBINED}
    flaggers = sorted(
        {
            Flagger(raters[question.rater], question.protocol)
            for question in fitting
            if question.rater in raters and not is_metric(raters[question.rater])
        },
        key=lambda flagger: (flagger.protocol, rater_rank(flagger.rater)),
    )
    lists = load_flags(db, project_id, loaded.cases, flaggers)
    asked = tuple(flagger for flagger in flaggers if lists.by_rater[flagger].asked)
    silent = tuple(flagger.rater.name for flagger in flaggers if flagger not in asked)
    verdicts = {question_of(flagger): _judged(loaded, flagger) for flagger in asked}
    return ProjectFlags(replace(loaded, verdicts=verdicts), lists, asked, tuple(dict.fromkeys(silent)))


def question_of(flagger: Flagger) -> Question:
    """The question of a rater in `ProjectFlags.ratings`."""
    return Question(flagger.rater.name, flagger.protocol, _ASPECT)


def folded_issues(flagged: ProjectFlags) -> dict[str, int]:
    """The index of each kind in the list of issues, by its folded name."""
    return {folded(issue): place for place, issue in enumerate(flagged.lists.issues)}


def issue_place(flagged: ProjectFlags, name: str) -> int | None:
    """The index of a kind in the list of issues; None for ANY. Raises UsageError for an unknown one."""
    if folded(name) == ANY:
        return None
    places = folded_issues(flagged)
    if folded(name) not in places:
        known = ", ".join([ANY, *flagged.lists.issues])
        raise UsageError(f"no rater flags an issue “{name}”", f"Available: {known}.")
    return places[folded(name)]


def silent_notes(flagged: ProjectFlags) -> list[str]:
    """A note on the raters left out because they have no flags."""
    if not flagged.silent:
        return []
    return [
        f"left out, because neither their labels nor their prompts have flags: {', '.join(flagged.silent)}"
    ]


def _judged(loaded: Ratings, flagger: Flagger) -> Verdicts:
    """The cases that the rater judged on any aspect."""
    alike = [
        verdicts
        for question, verdicts in loaded.verdicts.items()
        if question[:2] == (flagger.rater.name, flagger.protocol)
    ]
    rows = np.concatenate([verdicts.row for verdicts in alike])
    valid = rows[~np.isnan(np.concatenate([verdicts.value for verdicts in alike]))]
    judged = np.unique(rows)
    value = np.where(np.isin(judged, valid), 1.0, np.nan)
    return Verdicts(judged, value, np.zeros(judged.size, dtype=np.bool_))
