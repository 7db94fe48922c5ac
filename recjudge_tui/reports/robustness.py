"""Tests of a judge: the order of two lists, another user's list, several prompts on the same pairs (SAER; Liu et al., SIGIR
2026), and faults planted into real lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from recjudge_tui import shapes
from recjudge_tui.domain import made_lists
from recjudge_tui.domain.protocols import OVERALL, SAER, compares_lists, with_unit
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection, Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.judges.rules.issues import ISSUE_OF, Shopper, free_places
from recjudge_tui.project import Project
from recjudge_tui.reports import words
from recjudge_tui.reports.common.rows import cells_of
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definition, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.sanity import position_decides, sanity
from recjudge_tui.stats.arrays import BoolArray, FloatArray, IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.estimate import join_notes, undefined
from recjudge_tui.stats.hypotheses import holm, sign_flip_test, user_means
from recjudge_tui.stats.intervals import mean_estimate, share_estimate
from recjudge_tui.stats.ranking import tally
from recjudge_tui.steps import Step
from recjudge_tui.store import cases as stored
from recjudge_tui.store import ratings as rating_store
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.runs import stored_runs

RATER, NOTE = columns("rater note")


def _number(cell: object) -> float | None:
    return cell if isinstance(cell, float) else None


# ---- the order of the lists ------------------------------------------------------------------------------------------

_WHO = columns("rater system opponent aspect")
_POSITION = columns(
    *_WHO, "gap|Gap|float|2", "pairs|Pairs|int", "consistency|Consistency|share", "ci_*|CI|share",
    "true_ties|True ties|int", "position_ties|Position ties|int", "favoured|Favoured", "favour|Net share|share",
    "favour_*|(Net)|share", "p? p_holm?", "first_share|First wins|share", "first_*|(First)|share", "decided|(Decided)|int",
    "consistent|(Consistent)|int", "true_share|(Ties share)|share", "true_*|(Ties)|share", "set_1|(Set 1 chosen)|int",
    "set_2|(Set 2 chosen)|int", "set_1_share|(Set 1 share)|share", NOTE,
)  # fmt: skip
_POSITION_BRIEF = columns(
    "rater|rater", "about|aspect", "systems|systems", "gap|gap|float|1", "pairs|pairs|int", "alike|alike %|share",
    "interval|95 % CI", "first_share|first wins %|share", "true_ties|ties|int", "position_ties|flips|int",
    "favoured|favoured", NOTE,
)  # fmt: skip
_COUNTS = columns(
    *_WHO, "counted|Count of", "wins|Wins|int", "losses|Losses|int", "ties|Ties|int", "true_ties|True ties|int",
    "position_ties|Position ties|int", "failed n", "consistency|Consistency|share", "ci_*|CI|share", NOTE,
)  # fmt: skip
_ABOUT_POSITION = definitions("""\
consistency (alike): share of pairs with the same answer in both orders (SAER; Liu et al., SIGIR 2026)
a position tie (flip): the two orders disagreed; a true tie: a tie in both
first wins: of the answers that prefer a list, the share that prefers the one shown first (Set 1)
Set 1 share: the same over pairs whose orders disagreed; one half if position favours no set
net share: share of calls that chose Set 1 minus share that chose Set 2; the systems cancel out
favoured: the net share differs from 0 by sign flips of the users' means, after Holm's correction for all rows
gap: how far apart the pointwise ratings of the two lists are (Good 2, Partial 1, Poor 0)""")


def position(project: Project, choose: Options) -> Table:
    """Consistency, true and position ties, and the favoured set, by rater, aspect and pair of systems; with several pairs of
    systems first over all of them. `gap`: also by how far apart the lists are rated. `counts`: calls beside verdicts."""
    if not compares_lists(choose.protocol):
        offered = ", ".join(with_unit("pair"))
        raise UsageError(f"{choose.protocol} does not show two lists", f"These do: {offered}.")
    for name in filter(None, (choose.rater, choose.quality)):
        rater_row(project.db, project.id, name)
    every = shapes.answers(project, choose.protocol, within=choose.cases)
    asked = [part for part in every if choose.rater in (None, part.question.rater)]
    asked = [part for part in asked if choose.aspect in (None, part.question.aspect)]
    raters = tuple(dict.fromkeys(part.question.rater for part in asked))
    chosen = shapes.base(project, Selection(choose.protocol, choose.aspect, raters, cases=choose.cases))
    if not asked:
        nothing = "no run has judged pairs, and no imported judgement tells its order"
        note = Note(nothing, "data", Step("position"))
        return Table(f"Position: {choose.protocol}", _POSITION, (), (note,))
    table = _raw_counts(chosen, asked) if choose.counts else _by_order(chosen, asked, choose)
    left_out = ((", ".join(part.question[::2]), part.earlier) for part in asked if part.earlier)
    earlier = [f"{about}: {count:,} calls about earlier lists left out" for about, count in left_out]
    return replace(table, notes=(*table.notes, *earlier, *words.made_of(chosen)))


def _by_order(chosen: shapes.Base, asked: Sequence[shapes.Answers], choose: Options) -> Table:
    rows: list[Row] = []
    reasons: dict[tuple[str, str], str] = {}
    gaps: dict[str, FloatArray] = {}
    for part in asked:
        rater, _, aspect = part.question
        met = part.question in chosen.ratings.verdicts
        reasons[rater, aspect] = sanity(chosen, part.question, reasons=False).reason if met else ""
        apart = part.by_systems()
        for system, opponent, alike in [(None, None, part), *apart] if len(apart) > 1 else apart:
            who: Row = {"rater": rater, "system": system, "opponent": opponent, "aspect": aspect}
            orders = alike.both_orders()
            rows.append(who | {"gap": None} | _order_row(orders, part.cases.user))
            if choose.gap and system:
                rated_by = choose.quality or rater
                if rated_by not in gaps:
                    gaps[rated_by] = _gaps(chosen.project, rated_by)
                gap = gaps[rated_by][orders.row]
                for size in np.unique(gap[~np.isnan(gap)]).tolist():
                    here = orders.among(gap == size)
                    rows.append(who | {"gap": size} | _order_row(here, part.cases.user))
    for row in (rows := words.adjusted(rows, holm, "p_holm")):
        side, p = "Set 1" if (_number(row["favour"]) or 0) > 0 else "Set 2", _number(row["p_holm"])
        row["favoured"] = side if p is not None and p < ALPHA else ""
    notes = words.sanity_warnings(reasons)
    if choose.gap and all(row["gap"] is None for row in rows):
        unrated = "no rows by gap: there are no pointwise ratings of both lists of a pair"
        notes.append(Note(unrated, "data", Step("judge")))
    of_first = [row for row in rows if row["gap"] is None and row["aspect"] == rows[0]["aspect"]]
    # the first row of a rater is about all its pairs of systems
    first = {str(row["rater"]): row for row in reversed(of_first)}
    said = [_order_said(row, reasons[rater, str(row["aspect"])]) for rater, row in reversed(first.items())]
    several = len({row["aspect"] for row in rows}) > 1
    brief = [
        # agreement of a judge that says nothing is no merit
        row | ({"ci_low": None} if reasons[str(row["rater"]), str(row["aspect"])] else {"alike": row["consistency"]})
        | {"about": row["aspect"] if several else None}
        | {"systems": f"{row['system']} : {row['opponent']}" if row["system"] else "all"}
        for row in rows
    ]  # fmt: skip
    table = Table(
        f"Position: {choose.protocol}", _POSITION, tuple(rows), (*notes, *_ABOUT_POSITION),
        answer=words.first_few(said),
    )  # fmt: skip
    return words.briefly(table, _POSITION_BRIEF, brief)


def _order_said(row: Row, reason: str) -> str:
    if reason or not row["pairs"]:
        return f"{row['rater']}: {reason or row['note']}"
    shared = f"{row['consistent']:,} of {row['pairs']:,} pairs have the same answer in both orders"
    alike = f"{shared} ({words.share_text(row, 'consistency')})"
    if row["consistency"] == 1 or row["first_share"] is None:
        return f"{row['rater']}: {alike}: position does not matter"
    ends = words.interval_text({"ci_low": row["first_low"], "ci_high": row["first_high"]}, "share")
    share = 100 * (_number(row["first_share"]) or 0)
    claim = "position matters" if row["favoured"] else "neither place is favoured beyond chance"
    first = f"the first list wins {share:.0f} % of {row['decided']:,} answers (95 % CI {ends})"
    return f"{row['rater']}: {first}: {claim}; {alike}"


def _order_row(orders: shapes.BothOrders, users: IntArray) -> Row:
    both = ~(np.isnan(orders.straight) | np.isnan(orders.swapped))
    first, second, user = orders.straight[both], orders.swapped[both], users[orders.row[both]]
    apart = first != second
    agreed = share_estimate(~apart, user) if apart.size else undefined("no pair answered in both orders")
    tied = share_estimate((first == 0) & ~apart, user)
    # in order a-b the first set is system a (1), in order b-a it is system b (-1)
    chosen, owner = np.concatenate([first, -second]), np.concatenate([user, user])
    wins = share_estimate(chosen[chosen != 0] > 0, owner[chosen != 0])
    torn = np.concatenate([first[apart], -second[apart]])
    set_1, set_2 = int((torn > 0).sum()), int((torn < 0).sum())
    net = (first - second) / 2
    favour = mean_estimate(net, user, (-1.0, 1.0))
    return {
        "pairs": agreed.n, "consistent": int((~apart).sum()), "consistency": agreed.value, **agreed.ends(),
        "true_ties": int(((first == 0) & ~apart).sum()), "position_ties": int(apart.sum()),
        "true_share": tied.value, **tied.ends("true"),
        "set_1": set_1, "set_2": set_2, "set_1_share": set_1 / (set_1 + set_2) if set_1 + set_2 else None,
        "first_share": wins.value, **wins.ends("first"), "decided": wins.n, "favour": favour.value, **favour.ends("favour"),
        "p": sign_flip_test(user_means(net, user)), "note": agreed.note if agreed.value is None else "",
    }  # fmt: skip


def _gaps(project: Project, rater: str) -> FloatArray:
    """By case: the difference between the rater's pointwise ratings of the pair's two lists; NaN if one is missing."""
    ratings = shapes.base(project, Selection(raters=(rater,)), newest=False).ratings
    cases, question = ratings.cases, rating_store.Question(rater, SAER[0], OVERALL)
    content = rating_store.judged_content(project.db, project.id, cases.ids)
    sides = [
        # a list that was never imported is identified by its user and system
        np.where(slate > 0, slate, -1 - cases.user * len(cases.systems) - system)
        for slate, system in ((content.slate_a, cases.system_a), (content.slate_b, cases.system_b))
    ]
    rated: dict[int, float] = {}
    if question in ratings.verdicts:
        verdicts = ratings.verdicts[question]
        rated = dict(zip(sides[0][verdicts.row].tolist(), verdicts.value.tolist(), strict=True))
    a, b = (np.array([rated.get(code, np.nan) for code in side.tolist()]) for side in sides)
    return np.where(cases.is_pair, np.abs(a - b), np.nan)


def _raw_counts(chosen: shapes.Base, asked: Sequence[shapes.Answers]) -> Table:
    """For each pair of systems the verdicts after adjudication, then the single calls; `wins` are those of `system`."""
    rows: list[Row] = []
    for part in asked:
        question = part.question
        judged = shapes.battles(chosen.ratings, question) if question in chosen.ratings.verdicts else None
        for system, opponent, alike in part.by_systems():
            who: Row = {"system": system, "opponent": opponent, **question._asdict()}
            order = _order_row(alike.both_orders(), part.cases.user)
            shown = {name: order[name] for name in ("true_ties", "consistency", "ci_low", "ci_high", "note")}
            # in a run in progress, calls may exist before their verdict
            if judged is not None and {system, opponent} <= set(judged.systems):
                a, b = (judged.systems.index(name) for name in (system, opponent))
                wins, ties, losses = (int(n) for n in judged.grid[a, b])
                shown |= {"wins": wins, "ties": ties, "losses": losses, "n": wins + ties + losses}
                shown |= {name: int(getattr(judged, name)[a, b]) for name in ("failed", "position_ties")}
            counts = tally(np.sign(alike.value))
            rows += [who | {"counted": "verdicts"} | shown, who | {"counted": "calls"} | counts]
    about = definition("verdicts: both orders adjudicated; calls: each order by itself")
    title = f"Verdicts and calls: {chosen.selection.protocol}"
    return Table(title, _COUNTS, cells_of(_COUNTS, rows), (about,))


# ---- another user's list ---------------------------------------------------------------------------------------------

VARIANTS: tuple[made_lists.Variant, ...] = ("published", "unseen")
_NO_PAIRS = Note("no adversarial pair has been judged yet", "data", Step("robustness"))
_ADVERSARIAL = columns(
    RATER, "lists|Lists", "system", "outcome|Outcome", "count|Pairs|int", "share", "ci_*|CI|share",
    "n failed?", "own_first|(Own list first)|share", "own_second|(Second)|share", "own_first_n|(n first)|int", NOTE,
)  # fmt: skip
_ADVERSARIAL_BRIEF = columns(
    "rater|rater", "lists|lists", "system|system", "share|own list %|share", "interval|95 % CI",
    "wrong|wrong %|share", "tie|tie %|share", "n", "failed|failed|int", NOTE,
)  # fmt: skip
_ABOUT_PAIRS = definitions("""\
published: a user's own list against another user's by the same system (SAER; Liu et al., SIGIR 2026)
unseen: the other user's list without items that the user already has, both lists cut to the same length
own list first, second: the share where the own list is shown first, and second; unlike if the place decides
in the paper (100 pairs, as published): annotators 78 / 21 / 1 and 73 / 18 / 9 % correct / wrong / tie, the\
 judge 91 / 4 / 5""")


@dataclass(frozen=True)
class _Pairs:
    """Verdicts on adversarial pairs: above 0 if correct, 0 for a tie, below 0 if wrong. `own_first` of each question, by
    case: 1 if the own list was shown first, 0 if not, NaN if unknown (people)."""

    base: shapes.Base
    own_first: Mapping[rating_store.Question, FloatArray]

    def among(self, kept: Callable[[rating_store.Question, rating_store.Verdicts], BoolArray]) -> _Pairs:
        """The marked verdicts only, and the raters who have any."""
        every = self.base.ratings.verdicts
        verdicts = {q: every[q].among(kept(q, every[q])) for q in self.base.questions}
        asked = tuple(question for question in verdicts if verdicts[question].row.size)
        ratings = replace(self.base.ratings, verdicts=verdicts)
        return replace(self, base=replace(self.base, ratings=ratings, questions=asked))

    def newest(self) -> _Pairs:
        """Each rater's verdicts on the newest lists that it judged."""
        return replace(self, base=replace(self.base, ratings=rating_store.newest_lists(self.base.ratings)))

    def of_lists(self, variant: made_lists.Variant, system: str | None = None) -> _Pairs:
        """The verdicts on one kind of lists, or on those of one system."""
        cases, foreign = self.base.ratings.cases, made_lists.PREFIXES[variant][0]
        names = ((name.startswith(foreign), name.removeprefix(foreign)) for name in cases.systems)
        wanted = np.array([here and system in (None, name) for here, name in names], dtype=np.bool_)
        return self.among(lambda _, own: wanted[cases.system_a[own.row]])

    @property
    def by_rater(self) -> dict[str, rating_store.Verdicts]:
        return {question.rater: self.base.ratings.verdicts[question] for question in self.base.questions}

    def systems(self) -> list[str]:
        """The systems whose lists were judged."""
        cases = self.base.ratings.cases
        judged = [cases.system_a[own.row] for own in self.base.ratings.verdicts.values()]
        return sorted({cases.systems[at].partition(":")[2] for at in np.concatenate(judged).tolist()})

    def reasons(self) -> dict[str, str]:
        """Why the verdicts of a rater say nothing, by rater."""
        said = {}
        for question in self.base.questions:
            own = self.base.ratings.verdicts[question]
            own_first = self.own_first[question][own.row]
            decided = ~np.isnan(own_first) & (np.abs(own.value) == 1)
            first = int(((own.value == 1) == (own_first == 1))[decided].sum())
            found = sanity(self.base, question, reasons=False).reason
            if why := found or position_decides(first, int(decided.sum())):
                said[question.rater] = why
        return said

    def notes(self) -> list[str]:
        """What is wrong with the raters' verdicts, and what the raters are."""
        wrong = [Note(f"{rater}: {why}", "warning") for rater, why in self.reasons().items()]
        return [*wrong, *words.made_of(self.base, origins=False)]


def verdicts_on_made(project: Project, protocol: str, within: CaseSelection = EVERY_CASE) -> shapes.Base:
    """The verdicts on cases made to test judges, judges before people."""
    judged = stored.who_judged(project.db, project.id, protocol)
    questions = [rating_store.Question(rater, protocol, aspect) for rater, aspect in judged.items()]
    ratings = rating_store.load_questions(project.db, project.id, questions, within)
    every = ratings.verdicts.items()
    selected = {q: rating_store.of_selection(ratings.cases, verdicts) for q, verdicts in every}
    ratings = replace(ratings, verdicts=selected)
    questions.sort(key=lambda question: shapes.rank_of(ratings.raters[question.rater]))
    return shapes.Base(project, Selection(protocol), ratings, tuple(questions), shapes.LeftOut())


def _pairs(project: Project, within: CaseSelection = EVERY_CASE) -> _Pairs:
    """All verdicts on adversarial pairs, on the lists of every import."""
    chosen = verdicts_on_made(project, made_lists.ADVERSARIAL, within)
    cases = chosen.ratings.cases
    cases = replace(cases, lifetimes=rating_store.adversarial_lifetimes(project.db, project.id, cases.ids))
    own_first = {question: np.full(cases.ids.size, np.nan) for question in chosen.questions}
    for part in shapes.answers(project, made_lists.ADVERSARIAL, newest=False):
        if part.question in own_first:
            own_first[part.question][part.row] = part.swapped
    # labels may have degrees, but only the chosen list counts
    every = chosen.ratings.verdicts.items()
    verdicts = {q: replace(own, value=np.sign(own.value) * made_lists.CORRECT) for q, own in every}
    return _Pairs(replace(chosen, ratings=replace(chosen.ratings, cases=cases, verdicts=verdicts)), own_first)


def adversarial(project: Project, choose: Options) -> Table:
    """Correct, wrong and tie by kind of pair and rater, one row each, and the same shares for the own list shown first, and
    second. `rater`: that rater, and the others on its pairs; else everybody on the pairs they judged."""
    every = _pairs(project, choose.cases)
    pairs = newest = every.newest()
    about = [q for q in every.base.questions if choose.rater in (None, q.rater)]
    if choose.rater is not None:
        rater_row(project.db, project.id, choose.rater)
        judged = [row for question in about for row in newest.base.ratings.verdicts[question].row.tolist()]
        pairs = every.among(lambda _, own: np.isin(own.row, judged))
    title = "Adversarial: a user's own list against another user's"
    if not pairs.base.questions:
        return Table(title, _ADVERSARIAL, (), (_NO_PAIRS,))
    reasons, systems = pairs.reasons(), pairs.systems()
    rows: list[Row] = []
    brief: list[Row] = []
    said: dict[str, str] = {}
    for variant in VARIANTS:
        of_kind = pairs.of_lists(variant)
        for question in of_kind.base.questions:
            for system in (None, *(systems if choose.by_system and len(systems) > 1 else ())):
                made = _outcome_rows(of_kind.of_lists(variant, system), question)
                rows += [{"rater": question.rater, "lists": variant, "system": system} | row for row in made]
                correct = rows[-3]
                others = {"wrong": made[1]["share"], "tie": made[2]["share"]}
                brief.append(correct | others | {"failed": correct["failed"] or None})
                if system is None and variant == rows[0]["lists"]:
                    often = f"{words.count_text(correct)} pairs ({words.share_text(correct)})"
                    reason = reasons.get(question.rater)
                    told = f": {reason}" if reason else f" prefers the user's own list in {often}"
                    said[question.rater] = question.rater + told
    said = {name: said[name] for name in sorted(said, key=lambda name: name != choose.rater)}
    notes = [*pairs.notes(), *_gives_itself_away(pairs)]
    published = pairs.of_lists("published").base
    if len({published.ratings.verdicts[question].row.tobytes() for question in published.questions}) > 1:
        notes.append(Note("the raters saw different pairs", "data", Step("choose", {"option": "rater"})))
    if len(systems) == 1:
        notes.append("all lists are from one system, because there was no second one for half of them")
    notes += [*words.earlier_notes(newest.base.ratings, about), *_ABOUT_PAIRS]
    table = Table(title, _ADVERSARIAL, tuple(rows), tuple(notes), answer=words.first_few([*said.values()]))
    return words.briefly(table, _ADVERSARIAL_BRIEF, brief)


def _outcome_rows(pairs: _Pairs, question: rating_store.Question) -> list[Row]:
    own = pairs.base.ratings.verdicts[question]
    own_first, users = pairs.own_first[question][own.row], pairs.base.ratings.cases.user[own.row]
    answered, unknown = ~np.isnan(own.value), np.isnan(own_first).all()
    rows: list[Row] = []
    for outcome, meant in (("correct", 1.0), ("wrong", -1.0), ("tie", 0.0)):
        hits = np.where(answered, own.value == meant, np.nan)
        first, second = (hits[answered & (own_first == place)] for place in (1, 0))
        of_first, of_second = (float(part.mean()) if part.size else None for part in (first, second))
        rows.append({
            "outcome": outcome, **words.share_cells(hits, users), "failed": int((~answered).sum()), "own_first": of_first,
            "own_second": of_second, "own_first_n": None if unknown else int((own_first == 1).sum()),
        })  # fmt: skip
    return rows


def _gives_itself_away(pairs: _Pairs) -> Iterator[str]:
    """How often a foreign list, as published, shows what the user already has."""
    project, ratings = pairs.base.project, pairs.of_lists("published").base.ratings
    published = {row for own in ratings.verdicts.values() for row in own.row.tolist()}
    shown = stored.foreign_lists(project.db, ratings.cases.ids[sorted(published)].tolist())
    if shown:
        users = {user for user, _ in shown.values()}
        has = {user: stored.items_had(project.db, project.id, user) for user in users}
        held = [len(has[user] & set(items)) for user, items in shown.values()]
        yield (
            f"as published, {sum(n > 0 for n in held)} of {len(held)} foreign lists show something that the user"
            f" already has, {sum(held) / len(held):.1f} items a list"
        )


# ---- several prompts on the same pairs -------------------------------------------------------------------------------

_ABLATION = columns(
    RATER, "lists|Lists", "against|Against", "prompt?", "correct|(Correct)|int", "wrong|(Wrong)|int", "ties|(Ties)|int",
    "failed? n share", "ci_*|CI|share", "only_first|Only this|int", "only_second|Only the other|int", "p",
    "p_holm|p (Holm)|float|4", "asked|(Calls)|int", "cached|(From cache)|int", "tokens_in|(Tokens in)|float|0",
    "tokens_out|(Tokens out)|float|0", "cost_usd|(Cost)|usd", "cost_per_1000|Cost of 1,000|usd",
    "seconds|(Seconds)|seconds", NOTE,
)  # fmt: skip
_ABLATION_BRIEF = columns(
    "rater|rater", "lists|lists", "share|own list %|share", "interval|95 % CI", "n", "failed|failed|int",
    "better|better than", "cost_per_1000|cost of 1,000|usd", NOTE,
)  # fmt: skip
_ABOUT_ABLATION = definitions("""\
against: share correct of the first prompt minus that of the other on the pairs both answered, interval over users
p: sign flips of the users' means, adjusted by Holm over the comparisons of one kind of lists
tokens: the mean of a call; cost of 1,000: calls from the cache at their original cost; seconds: of all calls together
in the paper: generic 74, over-specified 88, SAER 91 % correct of 100 pairs (Liu et al., SIGIR 2026)""")


def ablation(project: Project, choose: Options) -> Table:
    """For each kind of lists one row per rater, then one per pair of raters (`against`), on the pairs both answered. Only
    rows of the first kind have a cost, that of both kinds together. Raises UsageError for fewer than two raters."""
    names = tuple(dict.fromkeys(choose.raters))
    if len(names) < 2:
        raise UsageError("a comparison needs two raters or more", "Each prompt needs its own rater.")
    ids = {name: int(rater_row(project.db, project.id, name)["id"]) for name in names}
    every = _pairs(project, choose.cases).among(lambda q, own: np.full(own.row.size, q.rater in ids))
    newest, cases = every.newest(), every.base.ratings.cases
    judged_rows = {q: newest.base.ratings.verdicts[q].row for q in newest.base.questions}
    every_answer = shapes.answers(project, made_lists.ADVERSARIAL, newest=False)
    asked = [part for part in every_answer if part.question in judged_rows]
    spent = {part.question.rater: part.among(np.isin(part.row, judged_rows[part.question])) for part in asked}
    rows: list[Row] = []
    for variant in VARIANTS:
        own = newest.of_lists(variant).by_rater
        for name in (name for name in names if name in own):
            value, runs = own[name].value, stored_runs(project.db, rater_id=ids[name])
            runs = [run for run in runs if run["protocol"] == made_lists.ADVERSARIAL]
            correct = np.where(np.isnan(value), np.nan, value > 0)
            counted = words.share_cells(correct, cases.user[own[name].row])
            row: Row = {
                "rater": name, "lists": variant, "against": None, "prompt": runs[-1]["prompt"] if runs else None,
                "wrong": int((value == -1).sum()), "ties": int((value == 0).sum()),
                "failed": int(np.isnan(value).sum()), "correct": counted.pop("count"), **counted,
            }  # fmt: skip
            rows.append(row | (_spent(spent[name]) if name in spent and variant == VARIANTS[0] else {}))
        of = every.of_lists(variant).by_rater
        tested: list[Row] = []
        for a, b in combinations([name for name in names if name in of], 2):
            against = _compared(shapes.pairs(cases, (shapes.Side(of[a]), shapes.Side(of[b]))))
            tested.append({"rater": a, "lists": variant, "against": b} | against)
        rows += words.adjusted(tested, holm, "p_holm")
    title = "Ablation of prompts"
    if not rows:
        return Table(title, _ABLATION, (), (_NO_PAIRS,))
    notes = [*newest.notes(), *words.earlier_notes(newest.base.ratings, newest.base.questions)]
    judged = {question.rater for question in newest.base.questions}
    if any(every.base.ratings.raters[name].kind == "rules" for name in judged):
        notes.append("rules reads the lists, not the prompt: its answers are the same for every prompt")
    if missing := [name for name in names if name not in judged]:
        notes.append(f"nothing judged by {', '.join(missing)}")
    alone = [row | {"failed": row["failed"] or None} for row in rows if row["against"] is None]
    own_rows = [row | {"better": ", ".join(_beaten(rows, row))} for row in alone]
    answer = _best_prompt(own_rows, newest.reasons())
    table = Table(title, _ABLATION, tuple(rows), (*notes, *_ABOUT_ABLATION), answer=answer)
    return words.briefly(table, _ABLATION_BRIEF, own_rows)


def _spent(part: shapes.Answers) -> Row:
    """What the calls took; calls from the cache count in means, because a cached reply does not make a prompt cheaper."""
    took, sent = part.took, ~part.took.cached
    known = [values[~np.isnan(values)] for values in (took.tokens_in, took.tokens_out, took.cost_usd)]
    tokens_in, tokens_out, a_call = (float(values.mean()) if values.size else None for values in known)
    paid = took.cost_usd[sent & ~np.isnan(took.cost_usd)]
    return {
        "asked": int(sent.sum()), "cached": int(took.cached.sum()), "tokens_in": tokens_in,
        "tokens_out": tokens_out, "cost_usd": float(paid.sum()) if paid.size else None,
        "cost_per_1000": None if a_call is None else 1000 * a_call, "seconds": float(np.nansum(took.seconds[sent])),
    }  # fmt: skip


def _compared(met: shapes.Pairs) -> Row:
    """Two raters on the newest pairs that both judged."""
    both = met.complete
    first, second = (both.stored > 0).astype(np.float64)
    apart = first - second
    difference = undefined("no case in common")
    if apart.size:
        difference = mean_estimate(apart, both.user, (-1.0, 1.0))
    only_first, only_second = int((first > second).sum()), int((first < second).sum())
    p = sign_flip_test(user_means(apart, both.user))
    same = "as often for every user" if only_first else "on the same pairs"
    untested = f"they are right {same}, so there is nothing to test" if p is None and both.n else ""
    return {
        "n": difference.n, "share": difference.value, **difference.ends(), "only_first": only_first,
        "only_second": only_second, "p": p, "note": join_notes(difference.note, untested),
    }  # fmt: skip


def _beaten(rows: Sequence[Row], own: Row) -> Iterator[str]:
    """The raters that this one is right more often than, beyond chance."""
    for row in rows:
        p, share = _number(row.get("p_holm")), _number(row["share"]) or 0
        if row["lists"] == own["lists"] and p is not None and p < ALPHA:
            winner, other = (row["rater"], row["against"]) if share > 0 else (row["against"], row["rater"])
            if winner == own["rater"]:
                yield str(other)


def _best_prompt(own: Sequence[Row], reasons: Mapping[str, str]) -> str:
    said = [f"{name}: {reason}" for name, reason in reasons.items()]
    able = [row for row in own if row["lists"] == own[0]["lists"] and row["rater"] not in reasons]
    able = sorted((row for row in able if row["n"]), key=lambda row: -(_number(row["share"]) or 0))
    if able:
        shares = ", ".join(f"{row['rater']} in {row['correct']:,} of {row['n']:,} pairs" for row in able)
        beaten = able[0]["better"]
        best = f"{able[0]['rater']} beats {beaten}" if beaten else "none is told from the others"
        said.insert(0, f"the user's own list is preferred by {shares}{f': {best}' if len(able) > 1 else ''}")
    return words.first_few(said)


# ---- planted faults -------------------------------------------------------------------------------------------------

ALL = "all"
DETECTED, OTHER_ISSUE, MISSED, FALSE_ALARM = OUTCOMES = ("detected", "other issue", "missed", "false alarm")
_INJECTED = columns(
    RATER, "fault|Fault", "system", "outcome|Outcome", "count share", "ci_*|CI|share", "n users? failed?",
    NOTE,
)  # fmt: skip
_INJECTED_BRIEF = columns(
    "rater|rater", "fault|fault", "system|system", "found|detected", "share|%|share", "interval|95 % CI",
    "other|other issue|int", "missed|missed|int", "alarms|false alarms", "failed|failed|int", NOTE,
)  # fmt: skip
_ABOUT_FAULTS = definitions("""\
detected: the planted item is flagged for its issue; other issue: flagged for another one; missed: not flagged
false alarm: an item that certainly has no such fault is flagged for it, among all such items of the lists""")


class _Lists(NamedTuple):
    """The made lists by row of `cases`: the kind of fault, the system of the original, the planted item (a row of the lists'
    items), and for each kind the items that certainly lack its fault."""

    row: IntArray
    kind: IntArray
    system: tuple[str, ...]
    planted: IntArray
    free: dict[made_lists.FaultKind, BoolArray]


def injected(project: Project, choose: Options) -> Table:
    """Detected, flagged for another issue and missed by kind of fault and rater, and false alarms; one row each. Failed
    verdicts are not in n. `rater`: that rater, and the others on its lists."""
    if choose.rater is not None:
        rater_row(project.db, project.id, choose.rater)
    chosen = verdicts_on_made(project, made_lists.PLANTED, choose.cases)
    raters = {question: chosen.rater(question) for question in chosen.questions}
    faults, left_out = _faults_counted(chosen, choose.rater)
    title = "Planted faults"
    if not faults:
        nothing = Note("no list with a planted fault has been judged yet", "data", Step("planted"))
        return Table(title, _INJECTED, (), (nothing,))
    flags = rating_store.load_flags(project.db, project.id, chosen.ratings.cases, raters)
    items = shapes.Items(project, chosen.selection, chosen.ratings, chosen.questions, flags)
    lists = _made_lists(items, faults)
    systems = sorted({*lists.system}) if choose.by_system and len({*lists.system}) > 1 else []
    rows: list[Row] = []
    for question in chosen.questions:
        rows += _fault_rows(items, question, lists, (None, *systems))
    notes = [*left_out]
    if len({np.isin(lists.row, chosen.ratings.verdicts[question].row).tobytes() for question in raters}) > 1:
        notes.append(Note("the raters judged different lists", "data", Step("choose", {"option": "rater"})))
    notes += words.made_of(chosen, origins=False)
    if any(rater.kind == "rules" for rater in raters.values()):
        same = "the faults are chosen by the same titles, categories and word lists that rules uses"
        notes.append(f"{same}: its figures show what these alone can detect")
    met = [kind for at, kind in enumerate(made_lists.FAULT_KINDS) if at in lists.kind]
    kinds = [f"{kind} ({ISSUE_OF[kind]}): {made_lists.ABOUT[kind]}" for kind in met]
    brief: list[Row] = []
    said: dict[str, str] = {}
    for at in range(0, len(rows), len(OUTCOMES)):
        found, other, missed, alarm = rows[at : at + len(OUTCOMES)]
        counts = {"found": words.count_text(found), "other": other["count"], "missed": missed["count"]}
        alarms = {"alarms": words.count_text(alarm) if alarm["n"] else "–", "failed": found["failed"] or None}
        brief.append(found | counts | alarms)
        told = f"flags {words.count_text(found)} planted faults for their issue ({words.share_text(found)})"
        clean = f", {alarm['count']:,} false alarms in {alarm['n']:,} faultless items" if alarm["n"] else ""
        said.setdefault(str(found["rater"]), f"{found['rater']} {told}{clean}")
    about = (*_ABOUT_FAULTS, definition("; ".join(kinds)))
    answer = words.first_few([said[name] for name in sorted(said, key=lambda name: name != choose.rater)])
    table = Table(title, _INJECTED, tuple(rows), (*notes, *about), answer=answer)
    return words.briefly(table, _INJECTED_BRIEF, brief)


def _faults_counted(chosen: shapes.Base, rater: str | None) -> tuple[list[stored.PlantedCase], list[str]]:
    """The made lists that are counted: of the newest imports into whose lists faults were planted."""
    project, ratings = chosen.project, chosen.ratings
    faults = stored.judged_faults(project.db, project.id)
    if (selected := ratings.cases.selected) is not None:
        chosen_ids = set(ratings.cases.ids[selected].tolist())
        faults = [case for case in faults if case.case_id in chosen_ids]
    if rater is not None:
        own = [verdicts.row for question, verdicts in ratings.verdicts.items() if question.rater == rater]
        judged = set(ratings.cases.ids[np.concatenate([np.zeros(0, dtype=np.int64), *own])].tolist())
        faults = [case for case in faults if case.case_id in judged]
    sources = np.array([case.fault.source_slate_id for case in faults], dtype=np.int64)
    lifetimes = rating_store.list_lifetimes(project.db, project.id, sources) if faults else None
    if lifetimes is None:
        return faults, []
    every = np.arange(sources.size)
    here = rating_store.in_generation(lifetimes, every, rating_store.newest_judged(lifetimes, every))
    left_out = int((~here).sum())
    kept = [case for case, stood in zip(faults, here.tolist(), strict=True) if stood]
    return kept, [f"{quantity(left_out, 'list')} made from earlier lists left out"] if left_out else []


def _made_lists(items: shapes.Items, faults: Sequence[stored.PlantedCase]) -> _Lists:
    """The made lists as they were shown."""
    cases = items.ratings.cases
    row = np.searchsorted(cases.ids, [case.case_id for case in faults])
    free = {kind: np.zeros(items.case.size, dtype=np.bool_) for kind in made_lists.FAULT_KINDS}
    planted = []
    for case, start in zip(faults, np.searchsorted(items.case, row).tolist(), strict=True):
        # a made list contains only the shown part of the original list
        material = stored.load_material(items.project.db, case.run_id, case.case_id, int(items.rank.max()))
        shown = material.slates[0].items
        places = {item: start + at for at, item in enumerate(dict.fromkeys(item.item_id for item in shown))}
        planted.append(places[case.fault.item_id])
        shopper = Shopper(material.user)
        for kind in made_lists.FAULT_KINDS:
            for place in free_places(kind, shopper, shown):
                at = places[shown[place].item_id]
                free[kind][at] = at != planted[-1]
    names = [made_lists.planted_list(cases.systems[place]) for place in cases.system_a[row].tolist()]
    kinds = np.array([made_lists.FAULT_KINDS.index(case.fault.kind) for case in faults])
    return _Lists(row, kinds, tuple(name.system if name else "" for name in names), np.array(planted), free)


def _fault_rows(
    items: shapes.Items, question: rating_store.Question, lists: _Lists, systems: tuple[str | None, ...]
) -> Iterator[Row]:
    """A row for each of OUTCOMES, of all faults and of each kind, by system (None: all)."""
    user = items.ratings.cases.user
    issues = {rating_store.folded(issue): at for at, issue in enumerate(items.lists.issues)}
    # an issue that nobody flags has no index
    codes = [issues.get(rating_store.folded(ISSUE_OF[kind]), -1) for kind in made_lists.FAULT_KINDS]
    marked = [items.flagged(question, code) for code in codes]
    right = np.choose(lists.kind, [mask[lists.planted] for mask in marked])
    any_issue = items.flagged(question)[lists.planted]
    outcome = np.where(right, DETECTED, np.where(any_issue, OTHER_ISSUE, MISSED))
    # by made list: 1 if the rater's verdict is valid, NaN if it failed, 0 if there is none
    verdicts = items.ratings.verdicts[question]
    value = np.zeros(user.size)
    value[verdicts.row] = np.where(np.isnan(verdicts.value), np.nan, 1.0)
    value = value[lists.row]
    shown = items.shown(question)
    met = np.unique(lists.kind).tolist()
    for system in systems:
        of_system = np.array([system in (None, name) for name in lists.system])
        valid = shown & np.isin(items.case, lists.row[of_system & (value == 1)])
        for kinds in (met, *([kind] for kind in met if len(met) > 1)):
            asked = of_system & (value != 0) & np.isin(lists.kind, kinds)
            if not asked.any():
                continue
            fault = made_lists.FAULT_KINDS[kinds[0]] if len(kinds) == 1 else ALL
            head: Row = {"rater": question.rater, "fault": fault, "system": system}
            failed, users = np.isnan(value[asked]), user[lists.row[asked]]
            for name in OUTCOMES[:3]:
                counted = words.share_cells(np.where(failed, np.nan, outcome[asked] == name), users)
                ended = {"users": np.unique(users).size, "failed": int(failed.sum())}
                yield head | {"outcome": name} | counted | ended
            free = [lists.free[made_lists.FAULT_KINDS[kind]] & valid for kind in kinds]
            hits = np.concatenate([marked[kind][here] for kind, here in zip(kinds, free, strict=True)])
            users = np.concatenate([user[items.case[here]] for here in free])
            counted = words.share_cells(hits.astype(np.float64), users)
            yield head | {"outcome": FALSE_ALARM} | counted | {"users": np.unique(users).size, "failed": None}
