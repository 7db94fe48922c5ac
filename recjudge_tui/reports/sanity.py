"""Whether a judge's verdicts say anything: looked at before any ranking, because a judge that always says Tie, follows the
place of a list, or gives every list the same reason ranks nobody.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recjudge_tui.domain.protocols import PROTOCOLS, compares_lists
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.selection import Selection
from recjudge_tui.project import Project
from recjudge_tui.reports.words import label_names
from recjudge_tui.shapes import Base, base
from recjudge_tui.stats.arrays import BoolArray, FloatArray
from recjudge_tui.store.answers import first_place_wins, reason_counts
from recjudge_tui.store.database import Database
from recjudge_tui.store.ratings import Question
from recjudge_tui.store.runs import run_row

# fewer verdicts than this can agree by chance
_FEWEST, _FEWEST_IN_ORDERS = 5, 10
# shares from which position, or one reason, decides
_BY_PLACE, _ONE_REASON = 0.8, 0.9
_RUN = ("judge", "rules")


class Sanity(NamedTuple):
    """`reason`: why the verdicts say nothing, empty if they do; `lines`: what to warn of; `kind_words`: what the rater is,
    for built-in ones."""

    reason: str = ""
    lines: tuple[str, ...] = ()
    kind_words: str = ""

    @property
    def worthless(self) -> bool:
        return bool(self.reason)


def sanity(chosen: Base, question: Question, *, reasons: bool = True) -> Sanity:
    """What is wrong with the verdicts of a judge on one question; nothing is said of people, metrics and chance. Without
    `reasons` only the verdicts are looked at: where the right answer is known, they speak for themselves."""
    rater = chosen.rater(question)
    words = {"rules": "not a language model", "random": "by chance"}.get(rater.kind, "")
    if rater.kind not in _RUN or question in chosen.ratings.crowds:
        return Sanity(kind_words=words)
    verdicts = chosen.ratings.verdicts[question]
    known = verdicts.value[~np.isnan(verdicts.value)]
    found = _by_place(chosen, question, verdicts.flipped, known.size)
    found = found or _always_the_same(chosen, question, known)
    if not found and reasons and rater.kind == "judge":
        found = _same_reasons(chosen, question)
    return Sanity(found, (f"{question.rater}, {question.aspect}: {found}",) if found else (), words)


def lines_of_run(db: Database, run_id: int) -> tuple[str, ...]:
    """What makes the verdicts of a run's judge worthless, such as that it always says Tie; only of language models."""
    row = run_row(db, run_id)
    if not is_language_model(row["rater_kind"]) or PROTOCOLS[row["protocol"]].tests_judges:
        return ()
    project = Project.numbered(db, row["project_id"])
    chosen = base(project, Selection(protocol=row["protocol"], raters=(row["rater"],)))
    return tuple(line for question in chosen.questions for line in sanity(chosen, question).lines)


def _always_the_same(chosen: Base, question: Question, known: FloatArray) -> str:
    if known.size < _FEWEST or (known != known[0]).any() or (compares_lists(question.protocol) and known[0]):
        return ""
    names = label_names(chosen.project, *question[1:], known) or {}
    label = names.get(float(known[0]), f"{known[0]:g}")
    return f"{known.size:,} of {known.size:,} verdicts are {label}: no information"


def _by_place(chosen: Base, question: Question, flipped: BoolArray, n: int) -> str:
    if not compares_lists(question.protocol) or n < _FEWEST_IN_ORDERS or flipped.sum() < _BY_PLACE * n:
        return ""
    rater = chosen.rater(question)
    first, decided = first_place_wins(chosen.project.db, rater.id, question.protocol, question.aspect)
    flips = f"{int(flipped.sum()):,} of {n:,} answers flip with the order: position decides"
    return position_decides(first, decided) or flips


def position_decides(first: int, decided: int) -> str:
    """Why answers say nothing if nearly all follow the place: `first` of the `decided` ones prefer the list shown first."""
    if decided < _FEWEST_IN_ORDERS or max(first, decided - first) < _BY_PLACE * decided:
        return ""
    place, wins = ("first", first) if 2 * first >= decided else ("second", decided - first)
    return f"the {place} list wins {wins:,} of {decided:,}: position decides"


def _same_reasons(chosen: Base, question: Question) -> str:
    rater = chosen.rater(question)
    counts = reason_counts(chosen.project.db, rater.id, question.protocol, question.aspect)
    if counts.read < _FEWEST:
        return ""
    if counts.of_prompt >= _ONE_REASON * counts.read:
        return f"{counts.of_prompt:,} of {counts.read:,} reasons are copied from the prompt"
    if counts.same >= _ONE_REASON * counts.read:
        return f"{counts.same:,} of {counts.read:,} reasons are the same sentence"
    return ""
