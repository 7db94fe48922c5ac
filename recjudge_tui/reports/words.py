"""What several reports say in the same words: what was left out, who the raters are, where verdicts come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from recjudge_tui.domain.protocols import compares_lists, question_of
from recjudge_tui.domain.text import quantity, short
from recjudge_tui.errors import UsageError
from recjudge_tui.reports.common.estimate_cells import interval_cells
from recjudge_tui.reports.common.scales import origin_notes as _origins
from recjudge_tui.reports.common.scales import rater_notes as _raters
from recjudge_tui.reports.common.table import Column, Note, Row, Table, cells_of, definition
from recjudge_tui.shapes import (
    FEWEST_CASES,
    Base,
    LeftOut,
    Meeting,
    Orientation,
    Pairs,
    generation_notes,
    grouped,
)  # fmt: skip
from recjudge_tui.stats.arrays import FloatArray, IntArray
from recjudge_tui.stats.intervals import share_estimate
from recjudge_tui.steps import Step
from recjudge_tui.store.cases import untimed_note
from recjudge_tui.store.ratings import Question, Ratings

_NAMED = 8


def about_base(chosen: Base, *, origins: bool = False) -> list[str]:
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
    return [*notes, *(origin_notes(chosen) if origins else ()), *rater_notes(chosen)]


def left_out_notes(left_out: LeftOut) -> list[str]:
    """Who does not count unless asked for."""
    readers, few = (", ".join(names) for names in left_out)
    texts = [f"without the overrides of {readers}"] if readers else []
    texts += [f"without {few}: fewer than {FEWEST_CASES} labels"] if few else []
    return [Note(text, "data", Step("include readers")) for text in texts]


def borrowed_notes(used: Iterable[tuple[str, Question]]) -> list[str]:
    """Whose labels are of another protocol than the one that they are used in: labels of pairwise cases in arena."""
    by_protocols = grouped(
        ((question.protocol, protocol), question.rater)
        for protocol, question in used
        if protocol != question.protocol and question_of(protocol) == question_of(question.protocol)
    )
    return [
        f"verdicts of {', '.join(dict.fromkeys(raters))} are of {own} cases: {protocol} asks the same question"
        for (own, protocol), raters in by_protocols.items()
    ]


def few_cases(n: int) -> str:
    """A warning about a figure of fewer than FEWEST_CASES cases; empty with more cases, and without any."""
    return f"only {quantity(n, 'case')}: too few to conclude from" if 0 < n < FEWEST_CASES else ""


def earlier_notes(ratings: Ratings, questions: Iterable[Question]) -> list[str]:
    """Notes on cases without a time and on raters who judged earlier lists; the same sentence about several questions of a
    rater is one note."""
    with_earlier = [q for q in dict.fromkeys(questions) if q in ratings.earlier]
    notes = [untimed_note(ratings.untimed, "cases")] if ratings.untimed else []
    for rater, own in grouped((q.rater, q) for q in with_earlier).items():
        by_counts = grouped((ratings.earlier[q], f"{q.protocol}, {q.aspect}") for q in own)
        for earlier, alike in by_counts.items():
            named = "; ".join(alike)
            who = rater if len(by_counts) == 1 else f"{rater} ({named})"
            sentences = generation_notes(earlier.left_out, 0)
            if earlier.replaced:
                sentences.append(
                    f"{earlier.replaced:,} of {earlier.n:,} cases are about lists that were imported again since"
                )
            notes += [f"{who}: {sentence}" for sentence in sentences]
    return notes


def rater_notes(chosen: Base) -> list[str]:
    """What must stand beside every figure of raters made from others and of the built-in rules."""
    return _raters(chosen.ratings.raters[q.rater] for q in _singles(chosen))


def origin_notes(chosen: Base) -> list[str]:
    """Where verdicts come from, if it limits them: pairs judged in one order, battles known only as counts."""
    return _origins(chosen.project.db, chosen.project.id, _singles(chosen))


def _singles(chosen: Base) -> Iterable[Question]:
    for question in chosen.questions:
        crowd = chosen.ratings.crowds.get(question)
        yield from (question,) if crowd is None else crowd.questions


def no_pairs(chosen: Base) -> str:
    """Why a report on pairs has no rows; of a selection it says nothing about other cases."""
    every = chosen.ratings.cases.selected is None
    return f"{'no pair of lists has' if every else 'none of these pairs of lists has'} been judged{' yet' * every}"


def no_verdicts(chosen: Base) -> str:
    return f"there are no verdicts {'yet' if chosen.ratings.cases.selected is None else 'on these'}"


def interval_text(row: Row, kind: str = "float", of: str = "ci") -> str:
    """Both ends of an interval as a person reads them: `50.1 to 57.4` (percent), `1.21 to 1.80`, `980 to 1043`."""
    low, high = row.get(f"{of}_low"), row.get(f"{of}_high")
    if not isinstance(low, float) or not isinstance(high, float):
        return "–"
    times, decimals = {"share": (100, 1), "points": (1, 0)}.get(kind, (1, 2))
    return f"{times * low:.{decimals}f} to {times * high:.{decimals}f}"


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


def orientation_notes(by_where: Mapping[str, Orientation]) -> list[str]:
    """One note for each side from which figures see pairs; `by_where` names the figures that do."""
    wheres = grouped((how.words(), where) for where, how in by_where.items() if how.words())
    if len(wheres) == 1:
        return [definition(words) for words in wheres]
    return [definition(f"{', '.join(places)}: {words}") for words, places in wheres.items()]


def lacking_notes(lacks: Iterable[tuple[Meeting, str, Pairs]]) -> list[str]:
    """What is missing from each comparison (its system, empty for all of them): one note for all with the same text.
    Sentences are joined only for exactly the same raters, so that no note claims more than was counted."""
    met = grouped(
        ((sentence, meeting.protocol, f"{meeting.aspect}, {system}" if system else meeting.aspect), who)
        for meeting, system, outer in lacks
        for who in [(meeting.a.rater, meeting.b.rater)]
        for sentence in outer.lacking(who)
    )
    places = grouped(((*said[:2], tuple(raters)), said[2]) for said, raters in met.items())
    notes = []
    for (sentence, protocol, pairs_), where in places.items():
        shared = set(pairs_[0]).intersection(*pairs_)
        who_ = ", ".join(f"{a} and {b}" for a, b in pairs_)
        if len(pairs_) > 1 and len(shared) == 1:
            (common,) = shared
            who_ = f"{common} with {', '.join(b if a == common else a for a, b in pairs_)}"
        notes.append(f"{who_} ({protocol}, {'; '.join(where)}): {sentence}")
    return notes


def two_systems(chosen: Base, question: Question, named: Sequence[str]) -> tuple[str, str]:
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
    cells = {"count": int((hits == 1).sum()), "share": share.value, **interval_cells(share), "n": share.n}
    return cells | {"note": share.note}


def sanity_warnings(reasons: Mapping[tuple[str, str], str]) -> list[str]:
    """Why verdicts say nothing, by rater and aspect; one line where it is the same for several aspects."""
    alike = grouped(((rater, reason), aspect) for (rater, aspect), reason in reasons.items() if reason)
    return [Note(f"{rater}, {', '.join(a)}: {reason}", "warning") for (rater, reason), a in alike.items()]


def adjusted(
    rows: Sequence[Row],
    correct: Callable[[Sequence[float | None]], list[float | None]],
    into: str,
    of: str = "p",
) -> list[Row]:
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
    return replace(table, brief=Table(title or table.title, tuple(kept), cells_of(kept, shown)))
