"""Does a rater recognise the user's own list? A user's own list against one made for somebody else (SAER)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from recjudge_tui.domain.adversarial import CORRECT, WRONG, Variant, adversarial_pair
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.scales import rater_notes
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.shapes import generation_notes, rank_of
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.store.cases.adversarial import PairVerdict, foreign_items, items_had, pair_verdicts
from recjudge_tui.store.database import Database
from recjudge_tui.store.raters.raters import rater_row
from recjudge_tui.store.verdicts.generations import NEVER, Lifetimes, adversarial_lifetimes
from recjudge_tui.store.verdicts.ratings import project_raters

VARIANTS: tuple[Variant, ...] = ("published", "unseen")
NOTHING = "no adversarial pair has been judged yet: “recjudge robustness adversarial -p PROJECT --judge SPEC”"
PAPER = (
    "in the paper (100 pairs, as published): annotators 78 / 21 / 1 and 73 / 18 / 9 % correct / wrong / tie,"
    " the judge 91 / 4 / 5"
)
_UNSEEN = (
    "unseen: the other user's list without items that the user already has, both lists cut to the same length"
)
_COLUMNS = (
    Column("rater", "Rater"),
    Column("lists", "Lists"),
    Column("system", "System"),
    Column("outcome", "Outcome"),
    Column("count", "Pairs", "int"),
    Column("share", "Share", "share"),
    *interval_columns("share"),
    Column("n", "n", "int"),
    Column("failed", "Failed", "int", minor=True),
    Column("own_first", "Own list first", "share", minor=True),
    Column("own_second", "Second", "share", minor=True),
    Column("own_first_n", "n first", "int", minor=True),
    Column("note", "Note"),
)
_OUTCOMES = (("correct", 1.0), ("wrong", -1.0), ("tie", 0.0))


@dataclass(frozen=True)
class AdversarialOptions:
    """`rater` None: everybody, each on the pairs they judged; else that rater, and the others on its pairs.
    `by_system`: also a row for each system."""

    rater: str | None = None
    by_system: bool = False


@dataclass(frozen=True)
class AdversarialVerdicts:
    """One rater's verdicts on pairs of one variant: 1 correct, 0 tie, -1 wrong, NaN if it failed.

    `own_first`: 1 if the own list was shown first, 0 if not, NaN if unknown (people). `since` and `until`: the lifetimes of
    the pairs' lists. `left_out` counts the pairs of earlier lists that are left out.
    """

    variant: Variant
    rater: str
    case: Sequence[int]
    user: Sequence[str]
    system: Sequence[str]
    value: FloatArray
    own_first: FloatArray
    since: IntArray
    until: IntArray
    left_out: int = 0

    @property
    def correct(self) -> FloatArray:
        """1 if correct, 0 if wrong or a tie, NaN if it failed."""
        return np.where(np.isnan(self.value), np.nan, self.value > 0)


def adversarial_table(db: Database, project_id: int, options: AdversarialOptions | None = None) -> Table:
    """Correct, wrong and tie by kind of pair and rater, one row each, and the same shares for the own list shown
    first, and second.

    Intervals over users. Raises NotFoundError for an unknown rater.
    """
    options = options or AdversarialOptions()
    if options.rater is not None:
        rater_row(db, project_id, options.rater)
    judged = judged_pairs(db, project_id)
    judged = newest_pairs(judged) if options.rater is None else _on_pairs_of(judged, options.rater)
    left_out = earlier_pairs(judged)
    judged = [verdicts for verdicts in judged if verdicts.case]
    raters = project_raters(db, project_id)
    rows: list[Row] = []
    for verdicts in judged:
        rows += _rows(verdicts, np.ones(len(verdicts.case), dtype=bool), None)
        systems = sorted(set(verdicts.system))
        if options.by_system and len(systems) > 1:
            for name in systems:
                rows += _rows(verdicts, np.array([s == name for s in verdicts.system]), name)
    notes = [NOTHING]
    if rows:
        notes = [_UNSEEN, *left_out, *_notes(db, project_id, judged), PAPER]
        notes += rater_notes(raters[verdicts.rater] for verdicts in judged)
    settings = {"rater": options.rater, "by_system": options.by_system}
    return Table(
        "Adversarial: a user's own list against another user's", _COLUMNS, tuple(rows), tuple(notes), settings
    )


def judged_pairs(db: Database, project_id: int) -> list[AdversarialVerdicts]:
    """All verdicts by variant and rater (judges first), on lists of every import."""
    verdicts = pair_verdicts(db, project_id)
    ids = np.unique(np.array([v.case_id for v in verdicts], dtype=np.int64))
    lifetimes = adversarial_lifetimes(db, project_id, ids)
    if lifetimes is None:
        lifetimes = Lifetimes(np.zeros(ids.size, dtype=np.int64), np.full(ids.size, NEVER))
    groups: dict[tuple[Variant, str], list[PairVerdict]] = {}
    for verdict in verdicts:
        pair = adversarial_pair(verdict.system_a, verdict.system_b)
        if pair is not None:
            groups.setdefault((pair.variant, verdict.rater), []).append(verdict)
    raters = project_raters(db, project_id)
    order = sorted(groups, key=lambda g: (VARIANTS.index(g[0]), rank_of(raters[g[1]])))
    return [_judged(variant, name, groups[variant, name], ids, lifetimes) for variant, name in order]


def newest_pairs(judged: Sequence[AdversarialVerdicts]) -> list[AdversarialVerdicts]:
    """For each rater, the verdicts on the newest lists that it judged and on lists that were current at the same
    time.
    """
    newest: dict[str, int] = {}
    for verdicts in judged:
        newest[verdicts.rater] = max(newest.get(verdicts.rater, 0), int(verdicts.since.max()))
    return [of_generation(verdicts, newest[verdicts.rater]) for verdicts in judged]


def of_generation(verdicts: AdversarialVerdicts, generation: int) -> AdversarialVerdicts:
    """The verdicts on lists that were current after the import `generation`."""
    stood = (verdicts.since <= generation) & (generation < verdicts.until)
    return replace(_among(verdicts, stood), left_out=int((~stood).sum()))


def _on_pairs_of(judged: Sequence[AdversarialVerdicts], rater: str) -> list[AdversarialVerdicts]:
    """Everybody's verdicts on the newest pairs that `rater` judged."""
    own = newest_pairs([verdicts for verdicts in judged if verdicts.rater == rater])
    cases = [case for verdicts in own for case in verdicts.case]
    left_out = {verdicts.variant: verdicts.left_out for verdicts in own}
    return [
        replace(
            _among(verdicts, np.isin(verdicts.case, cases)),
            left_out=left_out[verdicts.variant] if verdicts.rater == rater else 0,
        )
        for verdicts in judged
    ]


def _among(verdicts: AdversarialVerdicts, kept: BoolArray) -> AdversarialVerdicts:
    rows = np.flatnonzero(kept).tolist()
    return replace(
        verdicts,
        case=[verdicts.case[at] for at in rows],
        user=[verdicts.user[at] for at in rows],
        system=[verdicts.system[at] for at in rows],
        value=verdicts.value[kept],
        own_first=verdicts.own_first[kept],
        since=verdicts.since[kept],
        until=verdicts.until[kept],
    )


def _judged(
    variant: Variant, rater: str, verdicts: list[PairVerdict], ids: IntArray, lifetimes: Lifetimes
) -> AdversarialVerdicts:
    at = np.searchsorted(ids, [v.case_id for v in verdicts])
    pairs = [adversarial_pair(v.system_a, v.system_b) for v in verdicts]
    # labels may have degrees, but only the chosen list counts
    signs = [np.nan if v.value is None else float(np.sign(v.value)) for v in verdicts]
    meaning = {CORRECT: 1.0, WRONG: -1.0, 0.0: 0.0}
    return AdversarialVerdicts(
        variant,
        rater,
        case=[v.case_id for v in verdicts],
        user=[v.user_id for v in verdicts],
        system=[pair.system if pair else "" for pair in pairs],
        value=np.array([meaning.get(sign, np.nan) for sign in signs]),
        own_first=np.array([{"ba": 1.0, "ab": 0.0}.get(v.order, np.nan) for v in verdicts]),
        since=lifetimes.since[at],
        until=lifetimes.until[at],
    )


def _rows(verdicts: AdversarialVerdicts, here: BoolArray, system: str | None) -> list[Row]:
    value, first, users = verdicts.value[here], verdicts.own_first[here], np.array(verdicts.user)[here]
    answered = ~np.isnan(value)
    rows: list[Row] = []
    for outcome, meant in _OUTCOMES:
        hits = np.where(answered, value == meant, np.nan)
        share = share_estimate(hits, users)
        rows.append(
            {
                "lists": verdicts.variant,
                "rater": verdicts.rater,
                "system": system,
                "outcome": outcome,
                "count": int((value == meant).sum()),
                "share": share.value,
                **interval_cells(share),
                "n": share.n,
                "failed": int((~answered).sum()),
                "own_first": _mean(hits[first == 1]),
                "own_second": _mean(hits[first == 0]),
                "own_first_n": None if np.isnan(first).all() else int((first == 1).sum()),
                "note": share.note,
            }
        )
    return rows


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _notes(db: Database, project_id: int, judged: Sequence[AdversarialVerdicts]) -> list[str]:
    notes = []
    published = {
        c: u
        for verdicts in judged
        if verdicts.variant == "published"
        for c, u in zip(verdicts.case, verdicts.user, strict=True)
    }
    shown = foreign_items(db, published)
    if shown:
        has = {user: items_had(db, project_id, user) for user in set(published.values())}
        held = [len(has[published[case]] & set(items)) for case, items in shown.items()]
        notes.append(
            f"as published, {sum(n > 0 for n in held)} of {len(held)} foreign lists show something that the user"
            f" already has, {sum(held) / len(held):.1f} items a list"
        )
    if len({tuple(verdicts.case) for verdicts in judged if verdicts.variant == "published"}) > 1:
        notes.append("the raters saw different pairs; --rater R restricts all raters to the pairs of R")
    if len({name for verdicts in judged for name in verdicts.system}) == 1:
        notes.append("all lists are from one system, because there was no second one for half of them")
    return notes


def earlier_pairs(judged: Sequence[AdversarialVerdicts]) -> list[str]:
    """How many pairs are left out because their lists are earlier ones, by rater."""
    left_out: Counter[str] = Counter()
    for verdicts in judged:
        left_out[verdicts.rater] += verdicts.left_out
    return [f"{name}: {note}" for name, n in left_out.items() for note in generation_notes(n, 0)]
