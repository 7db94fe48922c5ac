"""Why one system beats another: the words and short phrases of a rater's reasons that go with either winning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple, cast

import numpy as np

from recjudge_tui.domain.protocols import OVERALL, THEMES, compares_lists
from recjudge_tui.domain.roles import FIRST_HAND, RUN_RATERS
from recjudge_tui.domain.selection import Selection
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import UsageError
from recjudge_tui.files import parse_toml
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import real, whole
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definitions
from recjudge_tui.reports.declare import Options
from recjudge_tui.reports.sanity import Sanity, sanity
from recjudge_tui.reports.words import about_base, adjusted, briefly, two_systems
from recjudge_tui.shapes import Base, base, check_aspect, items
from recjudge_tui.stats.agreement import agreement_estimates
from recjudge_tui.stats.arrays import IntArray
from recjudge_tui.stats.defaults import ALPHA
from recjudge_tui.stats.hypotheses import benjamini_hochberg, sign_test
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.stats.text import fisher_exact, log_odds, phrases, telling
from recjudge_tui.store.answers import ReadRun, Reason, answers_read, reasons, runs_that_read
from recjudge_tui.store.cases import case_owners
from recjudge_tui.store.data import case_titles
from recjudge_tui.store.database import StoredRow
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Question

PHRASE, FLAG, ASPECT, THEME, PEOPLE = "phrase", "flag", "aspect", "theme", "people"
# fewer users say nothing of a word
FEWEST_USERS = 5
_SHOWN, _NAMED = 8, 3
_COLUMNS = columns(
    "what|Word or phrase", "kind|(Kind)", "goes_with|Goes with", "users|Users|int", "users_against|Against|int",
    "reasons|(Reasons)|int", "reasons_against|(Against)|int", "said_of|(Said of)", "log_odds|(Log-odds)|float|2",
    "z|z|float|1", "share|(Users %)|share", "share_*|(CI)|share",
    "p", "p_fdr|p (FDR)|float|4", "example|Case", "rater? protocol? aspect?",
)  # fmt: skip
_BRIEF = columns(
    "what|Word or phrase", "kind|Kind", "goes_with|Goes with", "users|Users|int", "users_against|Against|int",
    "share|Users %|share", "said_of|(Said of)", "z|(z)|float|1", "p_fdr|p (FDR)|float|4",
)  # fmt: skip
_ABOUT = definitions(f"""\
users: those whose reasons use the phrase and favour this side; against: whose reasons use it and favour the other; a user\
 counts once, for the side that most of the reasons about them favour
z: log-odds with an informative Dirichlet prior over reasons (Monroe, Colaresi and Quinn 2008), above 0 for the first side
p: Fisher's exact test over users; of flags, aspects and lists judged alone the exact sign test over users; FDR:\
 Benjamini and Hochberg over all rows, below {ALPHA:g} is a finding
said of: reasons whose sentence with the phrase names that one list only; a flag speaks for the other system
titles of items, names of systems and places of lists are no phrases""")


@dataclass(frozen=True)
class Argument:
    """One reason about a case (its index) of a user. `side`: 1 speaks for the first side, -1 for the second, 0 for neither.
    `phrases`: each with the system that alone is named in its sentences, 1 or -1, else 0."""

    case: int
    user: int
    side: int
    phrases: Mapping[str, int]


def why(project: Project, choose: Options) -> Table:
    """One row per phrase, flag and aspect, those that go with the first system first. Raises UsageError where the two
    systems or the rater are not clear, NotFoundError for an unknown name."""
    chosen, question, pair, given = explained(project, choose)
    arguments = list(_arguments(chosen, question, pair, given))
    sides = pair
    if choose.against:
        sides = (f"agreeing with {choose.against}", f"parting from {choose.against}")
        arguments = list(_beside(chosen, question, choose.against, arguments))
    alone = not choose.against and not compares_lists(question.protocol)
    rows = list(phrase_rows(arguments, pair, sides, alone=alone))
    for row in rows:
        row["example"] = str(chosen.ratings.cases.ids[whole(row, "example")])
    themed = _themed(chosen, question, pair)
    rows += themed.rows(arguments, sides, against=bool(choose.against))
    if not choose.against:
        rows += [*_flag_rows(project, choose, question, pair), *_aspect_rows(chosen, question, pair)]
    rows = [question._asdict() | row for row in adjusted(rows, benjamini_hochberg, "p_fdr")]
    rows.sort(
        key=lambda row: (row["goes_with"] != sides[0], real(row, "p"), -abs(cast(float, row.get("z") or 0)))
    )
    return _table(chosen, question, sides, arguments, rows, themed)


def explained(project: Project, choose: Options) -> tuple[Base, Question, tuple[str, str], list[Reason]]:
    """What is explained: the base, the question, the two systems, and the reasons about them. Raises as `why`."""
    chosen = base(project, choose.selection(aspect=None))
    question, given = _question(chosen, choose)
    pair = two_systems(chosen, question, choose.systems)
    cases, of_pairs = chosen.ratings.cases, compares_lists(question.protocol)
    at = np.searchsorted(cases.ids, [reason.case_id for reason in given]).tolist()
    kept = []
    for case, reason in zip(at, given, strict=True):
        a, b = (cases.systems[column[case]] for column in (cases.system_a, cases.system_b))
        if {a, b} == {*pair} if of_pairs else a in pair:
            kept.append(reason)
    return chosen, question, pair, kept


# ---- what is asked ---------------------------------------------------------------------------------------------------


def _question(chosen: Base, choose: Options) -> tuple[Question, list[Reason]]:
    """The question that is explained, and its reasons: that of the one rater who gave any, pairs of lists first."""
    check_aspect(chosen.questions, choose.aspect)
    asked = [question for question in chosen.questions if choose.aspect in (None, question.aspect)]
    found = {question: given for question in asked if (given := _given(chosen, question))}
    if not found:
        who, of = choose.rater or "nobody", "" if chosen.ratings.cases.selected is None else " on these cases"
        raise UsageError(
            f"{who} gave {'no' if choose.rater else 'any'} reasons{of}",
            "A judge's are stored unless its run leaves them out, a person's are the notes.",
        )
    found = {q: given for q, given in found.items() if compares_lists(q.protocol)} or found
    for what in ("rater", "protocol"):
        names = sorted({str(getattr(question, what)) for question in found})
        if len(names) > 1:
            raise UsageError(f"name the {what}: several have reasons", f"Available: {', '.join(names)}.")
    overall = [question for question in found if question.aspect == OVERALL]
    question = (overall or list(found))[0]
    return question, found[question]


def _given(chosen: Base, question: Question) -> list[Reason]:
    rater = chosen.rater(question)
    if rater.kind not in (*RUN_RATERS, *FIRST_HAND):
        return []  # the notes of combined raters are not reasons
    ids = chosen.ratings.cases.ids[chosen.ratings.verdicts[question].row]
    return reasons(chosen.project.db, rater.id, question, ids.tolist())


# ---- what the reasons say --------------------------------------------------------------------------------------------

_FIRST, _SECOND, _NAME = "\x01", "\x02", "\x03"
_SENTENCE = re.compile(r"[.!?;]+(?=\s|$)|[\n。！？；]+")
_CLAUSE = re.compile(f"[{_FIRST}{_SECOND}{_NAME}" + r",:()\[\]{}\"“”„«»—–|*]+")
_YEAR = re.compile(r"\s*\(\d{4}\)$")


@cache
def _language() -> tuple[list[re.Pattern[str]], frozenset[str]]:
    """How judges name the list shown first and the second, and the words that begin or end no phrase."""
    data = parse_toml(files("recjudge_tui.reports").joinpath("why.toml").read_text("utf-8"))
    places = []
    for at in (0, 1):
        # a single letter names a list only as a capital: “set a high bar”
        pattern = "|".join(data["places"])
        for key in ("n", "nth", "alone"):
            words = [f"(?-i:{word})" if word.isupper() else word for word in data[key][at]]
            pattern = pattern.replace(f"{{{key}}}", f"(?:{'|'.join(words)})")
        places.append(re.compile(pattern, re.IGNORECASE))
    return places, frozenset(data["stop"].split())


def _arguments(
    chosen: Base, question: Question, pair: tuple[str, str], given: Sequence[Reason]
) -> Iterator[Argument]:
    """The reasons, seen from the first system."""
    cases, of_pairs = chosen.ratings.cases, compares_lists(question.protocol)
    titles = case_titles(chosen.project.db, chosen.project.id, [reason.case_id for reason in given])
    at = np.searchsorted(cases.ids, [reason.case_id for reason in given]).tolist()
    for case, reason in zip(at, given, strict=True):
        turn = 1 if cases.systems[cases.system_a[case]] == pair[0] else -1
        shown = -turn if reason.swapped else turn
        found = read(reason.text, (*titles.get(reason.case_id, ()), *cases.systems))
        about = {phrase: shown * place if of_pairs else turn for phrase, place in found.items()}
        side = turn * int(np.sign(reason.value)) if of_pairs else turn
        yield Argument(case, int(cases.user[case]), side, about)


def read(text: str, names: Iterable[str]) -> dict[str, int]:
    """The phrases of a reason, each with the list that alone is named in its sentences: 1 the one shown first, -1 the
    second, else 0. `names` of items and systems are no phrases."""
    places, stop = _language()
    for place, mark in zip(places, (_FIRST, _SECOND), strict=True):
        text = place.sub(mark, text)
    text = _without(text.lower(), names)
    found: dict[str, set[int]] = {}
    for sentence in _SENTENCE.split(text):
        about = (_FIRST in sentence) - (_SECOND in sentence)
        for clause in _CLAUSE.split(sentence):
            for phrase in phrases(clause, stop):
                found.setdefault(phrase, set()).add(about)
    return {phrase: about.pop() if len(about) == 1 else 0 for phrase, about in found.items()}


def _without(text: str, names: Iterable[str]) -> str:
    """A text in lower case with a mark in place of each name that stands there as a word, with or without its year."""
    spelled = {form.lower() for name in names for form in (name, _YEAR.sub("", name)) if len(form) > 2}
    for name in sorted(spelled, key=lambda name: (-len(name), name)):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
                text = f"{text[:at]}{_NAME}{text[end:]}"
            at = text.find(name, at + 1)
    return text


def _beside(
    chosen: Base, question: Question, other: str, arguments: Sequence[Argument]
) -> Iterator[Argument]:
    """The reasons on cases that another rater (as `people`, all of them together) judged too: 1 where it judged alike."""
    raters, cases = chosen.ratings.raters, chosen.ratings.cases
    named = [other] if other in raters else []
    if not named and other == PEOPLE:
        named = [name for name, of in raters.items() if of.kind in FIRST_HAND and name != question.rater]
    if not named:
        rater_row(chosen.project.db, chosen.project.id, other)
    selection = Selection(question.protocol, question.aspect, tuple(named), cases=chosen.selection.cases)
    own, total, count = (np.zeros(cases.ids.size) for _ in range(3))
    judged = chosen.ratings.verdicts[question]
    own[judged.row] = judged.value
    for verdicts in base(chosen.project, selection, newest=False).ratings.verdicts.values():
        known = verdicts.row[~np.isnan(verdicts.value)]
        np.add.at(total, known, verdicts.value[~np.isnan(verdicts.value)])
        np.add.at(count, known, 1)
    of_pairs = compares_lists(question.protocol)
    mean = np.sign(total) if of_pairs else total / np.maximum(count, 1)
    for reason in arguments:
        if count[reason.case] and not np.isnan(own[reason.case]) and reason.side:
            mine = np.sign(own[reason.case]) if of_pairs else own[reason.case]
            yield replace(reason, side=1 if mine == mean[reason.case] else -1)


# ---- rows ------------------------------------------------------------------------------------------------------------


def phrase_rows(
    arguments: Sequence[Argument], pair: tuple[str, str], sides: tuple[str, str], *, alone: bool = False
) -> Iterator[Row]:
    """The phrases that tell the two sides apart, with the index of a case each. `alone`: of lists and texts judged alone a
    user has reasons on both sides, and only what is said of one of the two counts."""
    kept = telling([argument.phrases for argument in arguments if argument.side], FEWEST_USERS)
    place = {phrase: at for at, phrase in enumerate(kept)}
    # rows: for the first side, for neither, for the second
    with_phrase: IntArray = np.zeros((3, len(kept)), dtype=np.int64)
    about: IntArray = np.zeros((3, len(kept)), dtype=np.int64)
    example: IntArray = np.full((3, len(kept)), np.iinfo(np.int64).max)
    of_user: dict[int, list[tuple[int, list[int]]]] = {}
    for argument in arguments:
        here = [place[phrase] for phrase in argument.phrases if phrase in place]
        with_phrase[1 - argument.side, here] += 1
        example[1 - argument.side, here] = np.minimum(example[1 - argument.side, here], argument.case)
        for phrase, named in argument.phrases.items():
            if phrase in place:
                about[1 - named, place[phrase]] += 1
        if argument.side:
            of_user.setdefault(argument.user, []).append((argument.side, here))
    users, sizes = np.zeros((2, len(kept)), dtype=np.int64), [0, 0]
    for mine in of_user.values():
        net = np.sign(sum(side for side, _ in mine))
        first, second = ({at for side, here in mine if side == wanted for at in here} for wanted in (1, -1))
        if alone:
            first, second = first - second, second - first
        for at, (side, has) in enumerate(((1, first), (-1, second))):
            if alone or net == side:
                users[at, list(has)] += 1
                sizes[at] += 1
    if alone:
        p = np.array([sign_test(int(a), int(b)) or 1.0 for a, b in users.T])
    else:
        p = fisher_exact(users[0], sizes[0], users[1], sizes[1])
    if not alone and not all(sizes):
        return  # one side has nothing to be compared with
    delta, z = log_odds(with_phrase[0], with_phrase[2], with_phrase.sum(axis=0))
    for at in np.flatnonzero(users.sum(axis=0) >= FEWEST_USERS).tolist():
        there = 0 if z[at] >= 0 else 2
        if not with_phrase[there, at]:  # the prior may lean to a side with few reasons that never says it
            there = 2 - there
        of_lists = [f"{name} {n}" for name, n in zip(pair, about[[0, 2], at].tolist(), strict=True) if n]
        yield {
            "what": kept[at], "kind": PHRASE, "goes_with": sides[there // 2], "users": int(users[there // 2, at]),
            "users_against": int(users[1 - there // 2, at]), "reasons": int(with_phrase[there, at]),
            "reasons_against": int(with_phrase[2 - there, at]), "said_of": "" if alone else ", ".join(of_lists),
            "log_odds": float(delta[at]), "z": float(z[at]), "p": float(p[at]),
            "example": int(example[there, at]),
        }  # fmt: skip


def _flag_rows(project: Project, choose: Options, question: Question, pair: tuple[str, str]) -> Iterator[Row]:
    """Each issue that the rater flags in more users' lists of one system than of the other; users with both lists count."""
    flagged = items(project, choose.selection(protocol=None, aspect=None, raters=(question.rater,)))
    cases = flagged.ratings.cases
    for of in flagged.questions:
        judged = flagged.current.ratings.verdicts[of].row
        for issue, name in enumerate(flagged.lists.issues):
            mask = flagged.cases_flagged(of, issue)
            by_user: tuple[dict[int, bool], dict[int, bool]] = ({}, {})
            for case in judged.tolist():
                system, user = cases.systems[cases.system_a[case]], int(cases.user[case])
                if system in pair:
                    mine = by_user[pair.index(system)]
                    mine[user] = mine.get(user, False) or bool(mask[case])
            both = by_user[0].keys() & by_user[1].keys()
            only = [sum(by_user[at][u] > by_user[1 - at][u] for u in both) for at in (0, 1)]
            # a flag on a list speaks for the other
            said_of = f"{pair[only[1] > only[0]]} {max(only)}"
            for row in _counted(name, FLAG, pair, (only[1], only[0]), said_of):
                yield row | {"protocol": of.protocol}


def _aspect_rows(chosen: Base, question: Question, pair: tuple[str, str]) -> Iterator[Row]:
    """For how many users each other aspect of the rater favours either system."""
    if not compares_lists(question.protocol):
        return
    cases = chosen.ratings.cases
    for other in chosen.questions:
        if other[:2] != question[:2] or other.aspect == question.aspect:
            continue
        verdicts = chosen.ratings.verdicts[other]
        net: dict[int, float] = {}
        for case, value in zip(verdicts.row.tolist(), np.sign(verdicts.value).tolist(), strict=True):
            a, b = cases.systems[cases.system_a[case]], cases.systems[cases.system_b[case]]
            if {a, b} == {*pair} and value == value:
                user = int(cases.user[case])
                net[user] = net.get(user, 0.0) + (value if a == pair[0] else -value)
        users = sum(v > 0 for v in net.values()), sum(v < 0 for v in net.values())
        for row in _counted(other.aspect, ASPECT, pair, users):
            yield row | {"aspect": other.aspect}


def _counted(
    what: str, kind: str, pair: tuple[str, str], users: tuple[int, int], said_of: str = ""
) -> Iterator[Row]:
    """The row of a flag or an aspect, by the users for whom it speaks for the first and for the second system."""
    if sum(users) >= FEWEST_USERS:
        at = int(users[1] > users[0])
        yield {
            "what": what, "kind": kind, "goes_with": pair[at], "users": users[at], "users_against": users[1 - at],
            "said_of": said_of, "p": sign_test(*users),
        }  # fmt: skip


# ---- themes ----------------------------------------------------------------------------------------------------------


class _Themes(NamedTuple):
    """What a judge's newest run said about the reasons: (index of the case, theme, value seen from the first system), by
    `run`; empty without one. `second` is the run that asked some of them again."""

    run: ReadRun | None = None
    second: ReadRun | None = None
    said: tuple[tuple[int, str, float], ...] = ()
    user: IntArray = np.zeros(0, dtype=np.int64)

    def rows(self, arguments: Sequence[Argument], sides: tuple[str, str], *, against: bool) -> Iterator[Row]:
        """A row for each theme: the users for whom it speaks for either side; beside another rater, the users whose
        reasons use it where the two agree, and where they part."""
        of_case = {argument.case: argument.side for argument in arguments}
        read = sorted({int(self.user[case]) for case, _, _ in self.said})
        for theme in dict.fromkeys(theme for _, theme, _ in self.said):
            net: dict[int, float] = {}
            example: dict[bool, int] = {}
            for case, name, value in self.said:
                side = (of_case.get(case, 0) * abs(value)) if against else value
                if name == theme and side:
                    user = int(self.user[case])
                    net[user] = net.get(user, 0.0) + side
                    example.setdefault(side > 0, case)
            users = sum(v > 0 for v in net.values()), sum(v < 0 for v in net.values())
            for row in _counted(theme, THEME, sides, users):
                ahead = row["goes_with"] == sides[0]
                nets = [net.get(user, 0.0) for user in read]
                share = share_estimate([float((x > 0) == ahead and x != 0) for x in nets], read)
                about = {"share": share.value, **share.ends("share")}
                yield row | about | {"example": example.get(ahead, next(iter(example.values())))}

    def notes(self, project: Project) -> list[str]:
        """The share of reasons that no theme fits, and how well two passes agree."""
        if self.run is None:
            return []
        first = _by_text(answers_read(project.db, self.run.id))
        without = sum(not any(of.values()) for of in first.values())
        unfit = f"{without} of {quantity(len(first), 'reason')} use none of them"
        notes = [f"the themes are the words of a judge (run {self.run.id}); {unfit}"]
        again = _by_text(answers_read(project.db, self.second.id)) if self.second else {}
        both = [(key, theme) for key in again if key in first for theme in again[key] if theme in first[key]]
        if both:
            one, two = (np.array([of[key][theme] for key, theme in both]) for of in (first, again))
            cases = sorted({case for (case, _), _ in both})
            owner = dict(zip(cases, case_owners(project.db, project.id, cases), strict=True))
            _, users = np.unique([owner[case][0] for (case, _), _ in both], return_inverse=True)
            labels = [-1.0, 0.0, 1.0]
            kappa = agreement_estimates(one, two, users, labels, ("kappa",), mirrored=True)["kappa"]
            figure = kappa.note if kappa.value is None else f"κ {kappa.value:.2f}"
            texts = quantity(len({key for key, _ in both}), "reason")
            notes.append(f"asked again about {texts} with the themes in the other order: {figure}")
        return notes


def _by_text(given: Sequence[StoredRow]) -> dict[tuple[int, str], dict[str, float]]:
    """The values by theme of each text."""
    by_text: dict[tuple[int, str], dict[str, float]] = {}
    for answer in given:
        by_text.setdefault((answer.case_id, answer.order), {})[answer.aspect] = answer.value
    return by_text


def _themed(chosen: Base, question: Question, pair: tuple[str, str]) -> _Themes:
    """The newest run with answers that read the reasons of this question about these systems. A case with a reason in each
    order speaks for whom both together do."""
    db, cases = chosen.project.db, chosen.ratings.cases
    about = (*question, *sorted(pair))
    runs = [run for run in runs_that_read(db, chosen.project.id, THEMES) if run.reading.about == about]
    first = next((run for run in runs if not run.reading.second), None)
    if first is None:
        return _Themes()
    net: dict[tuple[int, str], float] = {}
    for answer in answers_read(db, first.id):
        key = answer.case_id, answer.aspect
        net[key] = net.get(key, 0.0) + answer.value
    ids = np.array([case for case, _ in net])
    at = np.minimum(np.searchsorted(cases.ids, ids), cases.ids.size - 1)
    said = []
    for place, known, ((_, theme), value) in zip(at.tolist(), cases.ids[at] == ids, net.items(), strict=True):
        if known and (cases.selected is None or cases.selected[place]):
            turn = 1.0 if cases.systems[cases.system_a[place]] == pair[0] else -1.0
            said.append((place, theme, turn * float(np.sign(value))))
    # one that is older asked about other themes
    second = next((run for run in runs if run.reading.second and run.id > first.id), None)
    return _Themes(first, second, tuple(said), cases.user)


# ---- the table -------------------------------------------------------------------------------------------------------


def _table(
    chosen: Base, question: Question, sides: tuple[str, str], arguments: Sequence[Argument], rows: Sequence[Row],
    themed: _Themes,
) -> Table:  # fmt: skip
    sane = sanity(chosen, question)
    found = [] if sane.worthless else [row for row in rows if real(row, "p_fdr") < ALPHA]
    # the themes that a judge was asked for stand whole, and first
    shown = [row for row in rows if row["kind"] == THEME]
    for side in sides:
        mine = [row for row in found or rows if row["goes_with"] == side and row["kind"] != THEME]
        shown += mine[: _SHOWN if found else _NAMED]
    notes: list[str] = [Note(line, "warning") for line in sane.lines]
    if ties := sum(not argument.side for argument in arguments):
        said = f"{quantity(ties, 'reason')} of {len(arguments):,} favour neither"
        notes.append(f"{said}: they count in the prior only")
    if unshown := [row for row in found if row not in shown]:
        notes.append(f"{len(found) - len(unshown)} of {len(found)} findings are shown")
    notes += [*themed.notes(chosen.project), *about_base(chosen), *_ABOUT]
    settings = {"rater": question.rater, "protocol": question.protocol, "aspect": question.aspect}
    title, facts = f"Why: {sides[0]} and {sides[1]}", {"findings": len(found), "reasons": len(arguments)}
    said = _answer(question, sides, arguments, found, sane)
    table = Table(title, _COLUMNS, tuple(rows), tuple(notes), settings, facts, said)
    return briefly(table, _BRIEF, shown)


def _answer(
    question: Question, sides: tuple[str, str], arguments: Sequence[Argument], found: Sequence[Row], sane: Sanity,
) -> str:  # fmt: skip
    counts = [sum(argument.side == side for argument in arguments) for side in (1, -1)]
    users = len({argument.user for argument in arguments if argument.side})
    if sane.worthless:
        return f"{question.rater}'s reasons explain nothing: {sane.reason}."
    if not all(counts):
        side = sides[0] if counts[0] else sides[1]
        if not any(counts):
            return f"None of {quantity(len(arguments), 'reason')} favours either side."
        return f"All {sum(counts):,} reasons of {quantity(users, 'user')} go with {side}: there is nothing to compare."
    parts = []
    for side in sides:
        mine = [row for row in found if row["goes_with"] == side and row["kind"] in (THEME, PHRASE)]
        mine = sorted(mine, key=lambda row: row["kind"] != THEME)[:_NAMED]
        named = [f"“{row['what']}” ({row['users']} users, {row['users_against']} against)" for row in mine]
        parts += [f"with {side} go{'es' if len(named) == 1 else ''} {', '.join(named)}"] if named else []
    for system, other in (sides, sides[::-1]):
        # a flag in one system's lists goes with the other
        mine = [row for row in found if row["kind"] == FLAG and row["goes_with"] == other][:_NAMED]
        named = [f"{row['what']} ({row['users']} users, {row['users_against']} against)" for row in mine]
        parts += [f"{system}'s lists are flagged more for {', '.join(named)}"] if named else []
    if not parts:
        return f"No phrase of {question.rater} goes with either side beyond chance, on {quantity(users, 'user')}."
    return f"In {sum(counts):,} reasons of {question.rater} on {quantity(users, 'user')}, {'; '.join(parts)}."
