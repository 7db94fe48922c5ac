"""What several reports say in the same words: what was left out, who the raters are, where verdicts come from; and the
labels of their questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui import shapes
from recjudge_tui.domain.protocols import compares_lists, protocol_facts, question_of
from recjudge_tui.domain.roles import COMBINED, rules_note
from recjudge_tui.domain.scales import MOST_LABELS
from recjudge_tui.domain.text import quantity, short
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import cells_of
from recjudge_tui.reports.common.table import Column, Note, Row, Table, definition
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.stats.registry import usual_statistic
from recjudge_tui.steps import Step
from recjudge_tui.store.calls import one_order_counts
from recjudge_tui.store.cases import untimed_note
from recjudge_tui.store.prompts import run_prompts
from recjudge_tui.store.ratings import Question, Rater, Ratings, stored_scales
from recjudge_tui.store.verdicts import counted_battles

_NAMED = 8
_MOST_PAIRS = 4
_MOST_LISTED = 3


def about_base(chosen: shapes.Base, *, origins: bool = False) -> list[str]:
    """What a selection left out: earlier lists, cases without a time, readers and people with few labels; crowds; and what
    must stand beside figures of raters made from others and of the built-in rules. `origins`: see `origin_notes`."""
    notes = left_out_notes(chosen.left_out)
    if chosen.selection.protocol:
        notes += borrowed_notes((chosen.selection.protocol, question) for question in chosen.questions)
    notes += earlier_notes(chosen.ratings, chosen.questions)
    for question, crowd in chosen.ratings.crowds.items():
        names = sorted({single.rater for single in crowd.questions})
        who = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        notes.append(f"{question.rater}, {question.aspect}: {crowd.rater.size:,} verdicts of {who}")
    if chosen.ratings.crowds:
        about = "a crowd: every verdict counts once; users and raters are both clusters of an interval"
        notes.append(definition(about))
    return notes + made_of(chosen, origins=origins)


def left_out_notes(left_out: shapes.LeftOut) -> list[str]:
    """Who does not count unless asked for."""
    readers, few = (", ".join(names) for names in left_out)
    texts = [f"without the overrides of {readers}"] if readers else []
    texts += [f"without {few}: fewer than {shapes.FEWEST_CASES} labels"] if few else []
    return [Note(text, "data", Step("include readers")) for text in texts]


def borrowed_notes(used: Iterable[tuple[str, Question]]) -> list[str]:
    """Whose labels are of another protocol than the one that they are used in: labels of pairwise cases in arena."""
    same = ((p, q) for p, q in used if p != q.protocol and question_of(p) == question_of(q.protocol))
    texts = ((f"are of {q.protocol} cases: {p} asks the same question", q.rater) for p, q in same)
    by_protocols = shapes.grouped(texts)
    return [f"verdicts of {', '.join(dict.fromkeys(raters))} {text}" for text, raters in by_protocols.items()]


def few_cases(n: int) -> str:
    """A warning about a figure of fewer than FEWEST_CASES cases; empty with more cases, and without any."""
    return f"only {quantity(n, 'case')}: too few to conclude from" if 0 < n < shapes.FEWEST_CASES else ""


def earlier_notes(ratings: Ratings, questions: Iterable[Question]) -> list[str]:
    """Notes on cases without a time and on raters who judged earlier lists; the same sentence about several questions of a
    rater is one note."""
    with_earlier = [q for q in dict.fromkeys(questions) if q in ratings.earlier]
    notes = [untimed_note(ratings.untimed, "cases")] if ratings.untimed else []
    for rater, own in shapes.grouped((q.rater, q) for q in with_earlier).items():
        by_counts = shapes.grouped((ratings.earlier[q], f"{q.protocol}, {q.aspect}") for q in own)
        for earlier, alike in by_counts.items():
            named = "; ".join(alike)
            who = rater if len(by_counts) == 1 else f"{rater} ({named})"
            sentences = shapes.generation_notes(earlier.left_out, 0)
            if earlier.replaced:
                again = "cases are about lists that were imported again since"
                sentences.append(f"{earlier.replaced:,} of {earlier.n:,} {again}")
            notes += [f"{who}: {sentence}" for sentence in sentences]
    return notes


def made_of(chosen: shapes.Base, *, origins: bool = True) -> list[str]:
    """Where verdicts come from, if it limits them (`origins`: pairs judged in one order, battles known only as counts), and
    what must stand beside figures of raters made from others and of the built-in rules."""
    crowds = chosen.ratings.crowds
    single = [one for q in chosen.questions for one in (crowds[q].questions if q in crowds else (q,))]
    notes = origin_notes(chosen.project, single) if origins else []
    return notes + rater_notes(chosen.ratings.raters[question.rater] for question in single)


# ---- raters and the labels of their questions --------------------------------------------------------------------------


def rater_notes(raters: Iterable[Rater]) -> list[str]:
    """The notes that must accompany all figures of raters made from others and of the built-in rules."""
    named = list(raters)
    rules = sorted({rater.name for rater in named if rater.kind == "rules"})
    return [*combined_notes(named), *([rules_note(*rules)] if rules else [])]


def combined_notes(raters: Iterable[Rater]) -> list[str]:
    """A note on consensus and ensemble raters as references. A mean of metrics is none."""
    names = sorted({rater.name for rater in raters if rater.kind in COMBINED and not rater.of_metrics})
    verb = "are" if len(names) > 1 else "is"
    return [f"{', '.join(names)} {verb} made from other raters"] if names else []


def origin_notes(project: Project, questions: Iterable[Question]) -> list[str]:
    """One line for each rater that judged pairs in one order only: how often which list came first; and for each question
    of which there are only counts."""
    wanted = {*questions}
    asked, counted = {question[:2] for question in wanted}, one_order_counts(project.db, project.id)
    notes = []
    by_rater = shapes.grouped((row[:2], row[2:]) for row in counted if tuple(row[:2]) in asked)
    for who, counts in by_rater.items():
        orders, pairs = {(first, second): calls for first, second, calls in counts}, []
        for (first, second), n in orders.items():
            other = orders.get((second, first), 0)
            if (n, second) >= (other, first):
                pairs.append(f"{first} came first in {n:,} of {n + other:,} calls with {second}")
        more = f"; and {len(pairs) - _MOST_PAIRS} more pairs" if len(pairs) > _MOST_PAIRS else ""
        saw = f"{who[0]} ({who[1]}) saw each pair in one order, so position is not controlled for"
        notes.append(f"{saw}: {'; '.join(pairs[:_MOST_PAIRS])}{more}")
    return notes + [
        f"{rater}, {aspect}: {n:,} battles are known only as counts, without their users: each counts as one user, so"
        " intervals are too narrow and p values too small if the same users judged several"
        for rater, protocol, aspect, n in counted_battles(project.db, project.id)
        if (rater, protocol, aspect) in wanted
    ]


def label_names(
    project: Project, protocol: str, aspect: str, values: FloatArray, *, fine: bool = False
) -> dict[float, str] | None:
    """The label set of a question, value -> name, highest value first; None for a scale without labels. It comes from
    the scale that a file of labels gave to the aspect, else from the prompts of the project's runs, else from the
    protocol. It is extended by other whole numbers that people gave. Labels that roll up to another are in it if `fine`.
    """
    given = stored_scales(project.db, project.id).get((protocol, aspect))
    if given is not None:
        return _extended(given.names, given.names, values) if given.names else None
    names: dict[float, str] = {}
    for prompt in run_prompts(project.db, project.id, protocol):
        if any(spec.name == aspect for spec in prompt.aspects):
            labels = prompt.labels_of(aspect)
            names |= {label.value: label.name for label in labels if fine or label.rolls_up is None}
    own = dict(protocol_facts(protocol).labels)
    if not own and not names:
        return None
    return _extended(names or dict(own), own, values)


def _extended(names: dict[float, str], own: Mapping[float, str], values: FloatArray) -> dict[float, str]:
    """The labels with whole numbers that lie beyond them, highest first."""
    beyond = np.setdiff1d(values[~np.isnan(values)], list(names))
    if beyond.size and own and not np.setdiff1d(beyond, list(own)).size:
        names = names | dict(own)
    elif beyond.size and (beyond == np.rint(beyond)).all():
        low, high = int(min(*names, beyond.min())), int(max(*names, beyond.max()))
        if high - low < MOST_LABELS:
            names = {float(value): names.get(float(value), str(value)) for value in range(low, high + 1)}
    return dict(sorted(names.items(), reverse=True))


def value_bounds(project: Project, question: Question, values: FloatArray) -> tuple[float, float] | None:
    """The lowest and the highest value of a question's scale; None if it has none, or if a value lies outside it."""
    known = values[~np.isnan(values)]
    names = label_names(project, question.protocol, question.aspect, known)
    given = stored_scales(project.db, project.id).get(question[1:])
    ends = given or protocol_facts(question.protocol)
    low, high = (min(names), max(names)) if names else (ends.low, ends.high)
    inside = known.size == 0 or (known.min() >= low and known.max() <= high)
    return (low, high) if inside and low < high else None


def categories(project: Project) -> set[tuple[str, str]]:
    """(protocol, aspect) of all questions that are answered by categories without an order."""
    return {key for key, scale in stored_scales(project.db, project.id).items() if not scale.ordered}


def statistic_of(project: Project, protocol: str, aspect: str) -> str:
    """The one statistic by which raters of a question are compared everywhere, unless another is asked for."""
    names = label_names(project, protocol, aspect, np.zeros(0))
    return usual_statistic(names is not None, ordered=(protocol, aspect) not in categories(project))


def scale_notes(project: Project, asked: Iterable[tuple[str, str]]) -> list[str]:
    """One line on the aspects that have a scale of their own; none if no aspect has one."""
    scales = stored_scales(project.db, project.id)
    own = [f"{of[1]} {scales[of].described()}" for of in dict.fromkeys(asked) if of in scales]
    return [f"scales: {'; '.join(own)}"] if own else []


# ---- figures and answers -----------------------------------------------------------------------------------------------


def no_pairs(chosen: shapes.Base) -> str:
    """Why a report on pairs has no rows; of a selection it says nothing about other cases."""
    every = chosen.ratings.cases.selected is None
    return f"{'no pair of lists has' if every else 'none of these pairs of lists has'} been judged{' yet' * every}"


def no_verdicts(chosen: shapes.Base) -> str:
    return f"there are no verdicts {'yet' if chosen.ratings.cases.selected is None else 'on these'}"


def interval_text(row: Row, kind: str = "float") -> str:
    """Both ends of an interval as a person reads them: `50.1 to 57.4` (percent), `1.21 to 1.80`, `980 to 1043`."""
    low, high = row.get("ci_low"), row.get("ci_high")
    if not isinstance(low, float) or not isinstance(high, float):
        return "–"
    times, decimals = {"share": (100, 1), "points": (1, 0)}.get(kind, (1, 2))
    return f"{times * low:.{decimals}f} to {times * high:.{decimals}f}"


def listed(names: Sequence[str]) -> str:
    """`x`, `x and y`, `x, y, z and others`."""
    few = [*names[:_MOST_LISTED], *(["others"] if len(names) > _MOST_LISTED else [])]
    return " and ".join(filter(None, (", ".join(few[:-1]), few[-1])))


def p_text(p: float | None) -> str:
    """`p .25`, `p < .001`."""
    return "p –" if p is None else "p < .001" if p < 0.001 else f"p {f'{p:.2g}'.removeprefix('0')}"


def figure_text(row: Row, name: str, decimals: int = 2, *, percent: bool = False, ends: str = "ci") -> str:
    """A figure with its interval in one cell: `.57 [.20 .85]`, in percent `20.5 [15.1 26.9]`."""
    cells = [row.get(key) for key in (name, f"{ends}_low", f"{ends}_high")]
    known = [cell for cell in cells if isinstance(cell, float)]
    texts = [f"{100 * cell:.{decimals}f}" if percent else short(cell, decimals) for cell in known]
    if len(known) == 3:
        return f"{texts[0]} [{texts[1]} {texts[2]}]"
    return texts[0] if isinstance(cells[0], float) else "–"


def orientation_notes(by_where: Mapping[str, shapes.Orientation]) -> list[str]:
    """One note for each side from which figures see pairs; `by_where` names the figures that do."""
    wheres = shapes.grouped((how.words(), where) for where, how in by_where.items() if how.words())
    if len(wheres) == 1:
        return [definition(words) for words in wheres]
    return [definition(f"{', '.join(places)}: {words}") for words, places in wheres.items()]


def lacking_notes(lacks: Iterable[tuple[shapes.Meeting, str, shapes.Pairs]]) -> list[str]:
    """What is missing from each comparison (its system, empty for all of them); the same of several aspects is one note."""
    places: dict[tuple[str, str], list[str]] = {}
    for meeting, system, outer in lacks:
        a, b = meeting.a.rater, meeting.b.rater
        for sentence in outer.lacking((a, b)):
            where = places.setdefault((f"{a} and {b} ({meeting.protocol}", sentence), [])
            where.append(f"{meeting.aspect}, {system}" if system else meeting.aspect)
    return [f"{who}, {'; '.join(where)}): {sentence}" for (who, sentence), where in places.items()]


def two_systems(chosen: shapes.Base, question: Question, named: Sequence[str]) -> tuple[str, str]:
    """The two systems named, or the only two that the question is about. Raises UsageError where there are others."""
    if len(named) == 2:
        return named[0], named[1]
    cases, row = chosen.ratings.cases, chosen.ratings.verdicts[question].row
    judged = [cases.system_a[row], *([cases.system_b[row]] if compares_lists(question.protocol) else [])]
    known = [cases.systems[at] for at in np.unique(np.concatenate(judged)).tolist()]
    if named or len(known) != 2:
        raise UsageError("name the two systems", f"Available: {', '.join(known)}.")
    return known[0], known[1]


# ---- what judges are tested for: answers and brief forms -------------------------------------------------------------

# raters named in an answer
_RATERS_SAID = 3


def first_few(said: Sequence[str]) -> str:
    more = f"; and {len(said) - _RATERS_SAID} more raters" if len(said) > _RATERS_SAID else ""
    return f"{'; '.join(said[:_RATERS_SAID])}{more}." if said else ""


def share_text(row: Row, figure: str = "share") -> str:
    """`75 %, 95 % CI 43 to 95`."""
    value, ends = row[figure], interval_text(row, "share")
    ends = "" if ends == "–" else f", 95 % CI {ends}"
    return f"{100 * value:.0f} %{ends}" if isinstance(value, float) else "–"


def count_text(row: Row) -> str:
    return f"{row['count']:,} of {row['n']:,}"


def share_cells(hits: FloatArray, user: IntArray) -> Row:
    """The cells of a share: of rows of 0 and 1, NaN where failed."""
    share = share_estimate(hits, user)
    cells = {"count": int((hits == 1).sum()), "share": share.value, **share.ends(), "n": share.n}
    return cells | {"note": share.note}


def sanity_warnings(reasons: Mapping[tuple[str, str], str]) -> list[str]:
    """Why verdicts say nothing, by rater and aspect; one line where it is the same for several aspects."""
    alike = shapes.grouped(((rater, reason), aspect) for (rater, aspect), reason in reasons.items() if reason)
    return [Note(f"{rater}, {', '.join(a)}: {reason}", "warning") for (rater, reason), a in alike.items()]


def adjusted(
    rows: Sequence[Row], correct: Callable[[Sequence[float | None]], list[float | None]], into: str, of: str = "p"
) -> list[Row]:  # fmt: skip
    """The rows with their p values corrected for the number of rows; None where there is none."""
    values = correct([p if isinstance(p := row[of], float) else None for row in rows])
    return [row | {into: p} for row, p in zip(rows, values, strict=True)]


def wide(
    rows: Iterable[Row], keys: str, column: Callable[[Row], object], cell: Callable[[Row], object]
) -> list[Row]:
    """One line for all rows that have the same `keys`, names in order: these cells, and for each row a cell by column."""
    lines: dict[tuple[object, ...], Row] = {}
    for row in rows:
        line = {name: row[name] for name in keys.split()}
        lines.setdefault(tuple(line.values()), line)[str(column(row))] = cell(row)
    return [*lines.values()]


def briefly(
    table: Table, columns: Sequence[Column], rows: Sequence[Row], kind: str = "share", title: str = ""
) -> Table:
    """The table with a brief form: these rows in these columns, and in those of their interval, that any row fills."""
    shown = [row | {"interval": interval_text(row, kind)} for row in rows]
    kept = [c for c in columns if any(row.get(c.name) not in (None, "", "–") for row in shown)]
    brief = Table(title or table.title, tuple(kept), cells_of(kept, shown), (), table.settings)
    return replace(table, brief=brief)
