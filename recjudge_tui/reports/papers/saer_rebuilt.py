"""Labels rebuilt from the counts that SAER (2026) prints, so that its figures pass through import, rules and reports.

Where the counts do not determine the labels, one of many possibilities is used; the figures computed from the labels
do not depend on the choice, or are marked as not determined.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import NamedTuple

from recjudge_tui.domain.calls import Answer
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import SAER, protocol_facts
from recjudge_tui.protocols.adjudication import adjudicate
from recjudge_tui.reports.papers.published import PrintedFigure, publication
from recjudge_tui.settings import data_dir
from recjudge_tui.store.prompts.prompts import read_prompt

PAPER = "saer"
JUDGE, PEOPLE, MERGED = "SAER", ("Human A", "Human B"), "Human merged"
SYSTEMS = ("Co-occurrence", "Embedding")
OWN, FOREIGN = "own list", "foreign list"
LABELS = tuple(protocol_facts(SAER[0]).labels.values())
PAIRS, LISTS, ADVERSARIAL = "pairs", "lists", "foreign lists"
PROJECTS = (PAIRS, LISTS, ADVERSARIAL)
# cases of each kind: pairs or lists of one system, calls of both orders, adversarial pairs
CASES, CALLS, FOREIGN_PAIRS = 200, 400, 100
# the number of Good against Poor among people that gives the printed kappa
CLASHES = 5
_COLUMNS = ("rater", "rater_kind", "protocol", "user_id", "system", "system_a", "system_b", "value")
_WORDS = protocol_facts(SAER[1]).labels
Values = tuple[float, ...]
# how often two raters gave each combination of values
Joint = Mapping[tuple[float, float], int]


class Counts(NamedTuple):
    """Wins of the first system, wins of the second, ties."""

    first: int
    second: int
    ties: int


def figures_by_place(table: str) -> dict[tuple[str, ...], PrintedFigure]:
    """The figures of a table by row and column."""
    return {
        (*figure.where.values(), figure.name): figure
        for figure in publication(PAPER).figures
        if figure.table == table
    }


def count_of(figure: PrintedFigure, n: int) -> int:
    """The number of cases that a printed share of `n` stands for. Raises ValueError if it is not a whole number."""
    count = figure.value * n / 100
    if abs(count - round(count)) > 1e-6:
        raise ValueError(f"{figure.text} of {n} is not a whole number")
    return round(count)


def pair_counts(row: str, n: int = CASES) -> Counts:
    """A row of Table 2 as counts."""
    figures = figures_by_place("2")
    return Counts(*(count_of(figures[row, name], n) for name in (*SYSTEMS, "Tie")))


def rebuilt_labels(project: str) -> str:
    """A CSV of labels as `import --as labels` reads it, for one of PROJECTS."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    rows: dict[str, Callable[[], Iterator[dict[str, object]]]] = {
        PAIRS: _pair_rows, LISTS: _list_rows, ADVERSARIAL: _adversarial_rows,
    }  # fmt: skip
    writer.writerows(rows[project]())
    return out.getvalue()


def _pair_rows() -> Iterator[dict[str, object]]:
    people, merged = _people_in_pairs()
    by_rater = {JUDGE: _judge_in_pairs(merged), **dict(zip(PEOPLE, people, strict=True))}
    for rater, values in by_rater.items():
        yield from _labels(rater, values, SYSTEMS)


def _labels(rater: str, values: Values, systems: tuple[str, str]) -> Iterator[dict[str, object]]:
    kind = "annotator" if rater.startswith("Human") else "judge"
    for user, value in enumerate(values):
        yield {
            "rater": rater, "rater_kind": kind, "protocol": SAER[1], "user_id": user, "system_a": systems[0],
            "system_b": systems[1], "value": _WORDS[value],
        }  # fmt: skip


def _people_in_pairs() -> tuple[tuple[Values, Values], Values]:
    """Both people's values, and the value they agree on or else a tie: the directions, common ties, disagreements."""
    merged = pair_counts("Human Merged (N=200)")
    agreed = count_of(figures_by_place("2")["Human-Human", "agreement"], CASES)
    both_tie = agreed - merged.first - merged.second
    apart = merged.ties - both_tie
    agreed_values = _repeated((1.0, merged.first), (-1.0, merged.second), (0.0, both_tie))
    return (
        (agreed_values + (1.0,) * apart, agreed_values + (0.0,) * apart),
        agreed_values + (0.0,) * apart,
    )


def _judge_in_pairs(merged: Values) -> Values:
    """The judge's verdicts, aligned with the merged ones: the printed agreement, and the printed share of agreement
    where people gave a direction."""
    judge, people = (
        pair_counts("SAER Adjudicated (N=200)"),
        Counts(*(merged.count(v) for v in (1.0, -1.0, 0.0))),
    )
    concur = round(_concurrence() * (people.first + people.second) / 100)
    equal = count_of(figures_by_place("2")["SAER-Human merged", "agreement"], CASES)
    ties = equal - concur
    on_first = round(concur * people.first / (people.first + people.second))
    on_second = concur - on_first
    tied = judge.ties - ties  # where people gave a direction
    tied_first = tied // 2
    tied_second = tied - tied_first
    against_first = people.first - on_first - tied_first
    against_second = people.second - on_second - tied_second
    verdicts = _adjudicated()
    stock = {value: verdicts.count(value) for value in (1.0, -1.0, 0.0)}
    out = _repeated(
        (1.0, on_first), (-1.0, against_first), (0.0, tied_first),
        (-1.0, on_second), (1.0, against_second), (0.0, tied_second),
    )  # fmt: skip
    left = {value: stock[value] - out.count(value) for value in stock}
    return out + _repeated(*left.items())


def _concurrence() -> float:
    paper = publication(PAPER)
    return float(next(s.value for s in paper.statements if s.what.startswith("SAER concurs")).rstrip("%"))


def rebuilt_answers() -> tuple[Values, Values]:
    """The judge's answers in both orders, mapped back to the systems: pairs with equal answers, then the others.

    Equal answers are the adjudicated wins and the ties that are no position ties; what is left of the calls goes to
    pairs whose orders disagree.
    """
    calls, verdicts = pair_counts("SAER Raw (N=400 calls)", CALLS), pair_counts("SAER Adjudicated (N=200)")
    consistent = count_of(figures_by_place("2")[JUDGE, "position consistency"], CASES)
    true_ties = consistent - verdicts.first - verdicts.second
    equal = _repeated((1.0, verdicts.first), (-1.0, verdicts.second), (0.0, true_ties))
    left = Counts(
        calls.first - 2 * verdicts.first, calls.second - 2 * verdicts.second, calls.ties - 2 * true_ties
    )
    # no pair may have the same answer twice: each half of the calls, shifted by half, meets another answer
    rest = _repeated((1.0, left.first), (-1.0, left.second), (0.0, left.ties))
    half = len(rest) // 2
    return equal + rest[:half], equal + rest[half:]


def _adjudicated() -> Values:
    """The verdicts on both orders by the tool's own rule."""
    prompt = read_prompt(data_dir("prompts") / "pairwise-shopping.toml")
    return tuple(_verdict(prompt, *both) for both in zip(*rebuilt_answers(), strict=True))


def _verdict(prompt: Prompt, first: float, swapped: float) -> float:
    aspect = prompt.aspects[0].name
    ab, ba = (Answer(aspect=aspect, value=value, label=_WORDS[value]) for value in (first, swapped))
    return float(adjudicate(prompt, aspect, {"ab": ab, "ba": ba}).value or 0.0)


def _list_rows() -> Iterator[dict[str, object]]:
    for system, joint in zip(SYSTEMS, people_on_lists(), strict=True):
        both = tuple(chain.from_iterable(repeat(pair, count) for pair, count in joint.items()))
        judge = _repeated(*zip((2.0, 1.0, 0.0), list_counts(system, JUDGE), strict=True))
        by_rater = {JUDGE: judge, **dict(zip(PEOPLE, zip(*both, strict=True), strict=True))}
        for rater, values in by_rater.items():
            for user, value in enumerate(values):
                yield {
                    "rater": rater, "rater_kind": "judge" if rater == JUDGE else "annotator", "protocol": SAER[0],
                    "user_id": user, "system": system, "value": LABELS[2 - int(value)],
                }  # fmt: skip


def list_counts(system: str, rater: str) -> tuple[int, ...]:
    """Good, Partial and Poor labels of a rater in Table 1."""
    figures = figures_by_place("1")
    return tuple(count_of(figures[system, f"{label} Match", rater], CASES) for label in LABELS)


def people_on_lists(clashes: int = CLASHES) -> tuple[Joint, ...]:
    """For each system, how often people gave each combination of labels: the printed shares and agreement, and
    `clashes` times Good against Poor. Raises ValueError if there is no such combination."""
    agreed = count_of(figures_by_place("1")["Human–Human", "agreement"], CASES * len(SYSTEMS))
    margins = [tuple(list_counts(system, person) for person in PEOPLE) for system in SYSTEMS]
    for first_agreed in range(agreed // 2, agreed + 1):
        for first_clashes in range(clashes + 1):
            tables = (
                _joint(margins[0], first_agreed, first_clashes),
                _joint(margins[1], agreed - first_agreed, clashes - first_clashes),
            )
            if tables[0] and tables[1]:
                return tables[0], tables[1]
    raise ValueError(f"no labels have these shares and {clashes} clashes")


def _joint(margins: tuple[tuple[int, ...], ...], agreed: int, clashes: int) -> Joint:
    """Counts of (label of A, label of B) with these margins, agreements and clashes; empty if there are none."""
    (good_a, partial_a, _), (good_b, partial_b, poor_b) = margins
    for good_poor in range(clashes + 1):
        for good in range(min(good_a, good_b) + 1):
            good_partial, poor_good = good_a - good - good_poor, clashes - good_poor
            partial_good = good_b - good - poor_good
            partial, odd = divmod(agreed - good + partial_a - partial_good - poor_b + good_poor, 2)
            table = {
                (2.0, 2.0): good, (2.0, 1.0): good_partial, (2.0, 0.0): good_poor,
                (1.0, 2.0): partial_good, (1.0, 1.0): partial, (1.0, 0.0): partial_a - partial_good - partial,
                (0.0, 2.0): poor_good, (0.0, 1.0): partial_b - good_partial - partial, (0.0, 0.0): agreed - good - partial,
            }  # fmt: skip
            if not odd and min(table.values()) >= 0:
                return table
    return {}


def _adversarial_rows() -> Iterator[dict[str, object]]:
    figures = figures_by_place("3")
    for judge in dict.fromkeys(place[0] for place in figures):
        correct, wrong, ties = (
            count_of(figures[judge, name], FOREIGN_PAIRS) for name in ("Correct", "Wrong", "Tie")
        )
        yield from _labels(judge, _repeated((-1.0, correct), (1.0, wrong), (0.0, ties)), (FOREIGN, OWN))


def _repeated(*counts: tuple[float, int]) -> Values:
    return tuple(chain.from_iterable(repeat(value, count) for value, count in counts))


def people_apart(opposite: bool) -> Iterable[tuple[float, float]]:
    """People's values on the pairs, their disagreements all opposite wins, or all a win against a tie."""
    (first, _), merged = _people_in_pairs()
    apart = 0
    for value, other in zip(first, merged, strict=True):
        if value == other:
            yield value, other
            continue
        apart += 1
        pair = (1.0, -1.0) if opposite else (1.0 if apart % 4 < 2 else -1.0, 0.0)
        yield pair if apart % 2 else (pair[1], pair[0])
