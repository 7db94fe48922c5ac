"""The tables of SAER (2026): every printed figure, and the same figure from labels rebuilt from the printed counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import NamedTuple

from recjudge_tui.domain.protocols import SAER
from recjudge_tui.project import Project
from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.papers.published import (
    NOT_DETERMINED,
    PrintedFigure,
    as_printed,
    compared,
    exactly,
    publication,
    tally_notes,
)
from recjudge_tui.reports.papers.saer_rebuilt import (
    ADVERSARIAL,
    CASES,
    CLASHES,
    JUDGE,
    LISTS,
    MERGED,
    OWN,
    PAIRS,
    PAPER,
    PEOPLE,
    SYSTEMS,
    people_apart,
    people_on_lists,
    rebuilt_answers,
)
from recjudge_tui.reports.papers.saer_statements import statement_rows
from recjudge_tui.stats.agreement import position_consistency_estimate, qwk
from recjudge_tui.stats.ranking import tally
from recjudge_tui.store.database import Database

_COLUMNS = (
    Column("row", "Row"),
    Column("table", "Table"),
    Column("figure", "Figure"),
    Column("printed", "Printed"),
    Column("published", "As number", "float", minor=True, decimals=4, trimmed=True),
    Column("recomputed", "Computed", "float", decimals=4, trimmed=True),
    Column("difference", "Diff.", "float", minor=True, decimals=4, trimmed=True),
    Column("result", "Result"),
    Column("n", "n", "int"),
    Column("note", "Note"),
)
_PAIR_LABELS, _LIST_LABELS = [-1.0, 0.0, 1.0], [0.0, 1.0, 2.0]
_METHOD = (
    "follows: rounded to the printed decimals; labels rebuilt from the printed counts went through import, adjudication,"
    " consensus, agreement and leaderboard"
)
# a figure's place: its table, its row and its column
Place = tuple[str, ...]


class RecomputedFigure(NamedTuple):
    """A figure in the unit that is printed, from `n` cases. `determined` is False where the printed figures leave it
    open; `value` is then what one way of filling them in gives."""

    value: float | None
    n: int | None
    why: str
    determined: bool = True


def saer_table(db: Database, projects: Mapping[str, int]) -> Table:
    """One row for each of the 51 figures of Tables 1 to 3, then those of the text.

    `projects` are the ids of the projects of `saer_rebuilt.PROJECTS` with their rebuilt labels, PAIRS with the
    consensus MERGED.
    """
    paper = publication(PAPER)
    figures: dict[Place, RecomputedFigure] = dict(_on_lists(db, projects[LISTS]))
    figures |= dict(_on_pairs(db, projects[PAIRS]))
    figures |= dict(_adversarial(db, projects[ADVERSARIAL]))
    rows = [_row(figure, figures) for figure in paper.figures]
    concurrence = _agreement(db, projects[PAIRS], (JUDGE, MERGED), "concurrence")
    text = statement_rows(paper, concurrence["value"], concurrence["n"])
    notes = [
        f"{len(rows)} printed figures in three tables, {len(text)} in the text",
        *tally_notes([*rows, *text], "table"),
        _METHOD,
    ]
    return Table(
        f"Reproduced: {paper.source}",
        _COLUMNS,
        (*rows, *text),
        (*notes, *paper.remarks),
        {"paper": paper.source},
    )


def _row(figure: PrintedFigure, figures: Mapping[Place, RecomputedFigure]) -> Row:
    where: Row = {"row": ", ".join(figure.where.values()), "figure": figure.name}
    recomputed = figures.get((figure.table, *figure.where.values(), figure.name))
    if recomputed is None:
        return where | as_printed(figure)
    if recomputed.value is None:
        return where | as_printed(figure, recomputed.why, NOT_DETERMINED) | {"n": recomputed.n}
    row = where | compared(figure, exactly(recomputed.value)) | {"n": recomputed.n, "note": recomputed.why}
    return row if recomputed.determined else row | {"result": NOT_DETERMINED}


def _on_lists(db: Database, project_id: int) -> Iterator[tuple[Place, RecomputedFigure]]:
    options = LeaderboardOptions(SAER[0], method="share", resamples=0)
    for row in leaderboard_table(db, project_id, options).rows:
        place = ("1", str(row["system"]), f"{row['label']} Match", str(row["rater"]))
        yield place, _share(row["count"], row["n"], "lists")
    people = _agreement(db, project_id, PEOPLE, "percent", SAER[0])
    yield ("1", "Human–Human", "agreement"), _share(people["n"] * people["value"], people["n"], "lists")
    kappa = _agreement(db, project_id, PEOPLE, "qwk", SAER[0])
    yield (
        ("1", "Human–Human", "weighted kappa"),
        RecomputedFigure(kappa["value"], round(kappa["n"]), _why_clashes(), determined=False),
    )
    merged = "SAER–Human (strict adjudication)"
    why = "the labels after strict adjudication are not printed, and the shares of the two people do not give them"
    for name in ("agreement", "weighted kappa"):
        yield ("1", merged, name), RecomputedFigure(None, None, why)


def _share(count: object, n: object, what: str) -> RecomputedFigure:
    """A figure that the labels were rebuilt from, in percent."""
    counted, of = round(float(str(count))), round(float(str(n)))
    return RecomputedFigure(
        100 * counted / of, of, f"labels rebuilt from this figure, a whole number of {what}"
    )


def _why_clashes() -> str:
    """Kappa among people for the possible numbers of Good against Poor."""
    others = []
    for clashes in (CLASHES - 2, CLASHES + 2):
        value = _kappa(_spelled(clashes), _LIST_LABELS)
        others.append(f"{clashes} give {value:.2f}")
    return (
        f"only if exactly {CLASHES} of the 120 disagreements are Good against Poor, with both systems pooled"
        f" ({', '.join(others)}; the shares allow odd numbers only): neither is printed"
    )


def _spelled(clashes: int) -> list[tuple[float, float]]:
    """People's pairs of labels on all lists."""
    return [
        pair
        for joint in people_on_lists(clashes)
        for pair in chain.from_iterable(repeat(both, count) for both, count in joint.items())
    ]


def _kappa(both: list[tuple[float, float]], labels: list[float]) -> float | None:
    """Quadratic weighted kappa of two raters' values."""
    return qwk([first for first, _ in both], [second for _, second in both], labels)


def _on_pairs(db: Database, project_id: int) -> Iterator[tuple[Place, RecomputedFigure]]:
    answers = rebuilt_answers()
    calls = tally([*answers[0], *answers[1]])
    raw = dict(zip((*SYSTEMS, "Tie"), (calls.wins, calls.losses, calls.ties), strict=True))
    for name, count in raw.items():
        yield ("2", "SAER Raw (N=400 calls)", name), _share(count, calls.n, "calls")
    both = position_consistency_estimate(*answers, range(CASES))
    consistent = round((both.value or 0) * both.n)
    position_ties = both.n - consistent
    for row, rater in (("SAER Adjudicated (N=200)", JUDGE), ("Human Merged (N=200)", MERGED)):
        wins = _wins(db, project_id, rater)
        for name, count in wins.items():
            why = f"{count} of {CASES}: "
            if rater == JUDGE:
                why += "both orders of each pair adjudicated"
                why += (
                    f", {position_ties} position ties and {count - position_ties} true ones"
                    if name == "Tie"
                    else ""
                )
            else:
                why += "where two people differ, even a win against a tie, the pair is a tie"
            yield ("2", row, name), RecomputedFigure(100 * count / CASES, CASES, why)
    yield (
        ("2", JUDGE, "position consistency"),
        RecomputedFigure(
            100 * (both.value or 0), both.n, f"{consistent} of {both.n}: the others are position ties"
        ),
    )
    for name, raters in (("Human-Human", PEOPLE), ("SAER-Human merged", (JUDGE, MERGED))):
        equal = _agreement(db, project_id, raters, "percent")
        count = round(equal["value"] * equal["n"])
        yield (
            ("2", name, "agreement"),
            RecomputedFigure(100 * equal["value"], round(equal["n"]), f"{count} of {CASES}"),
        )
    yield ("2", "Human-Human", "weighted kappa"), RecomputedFigure(None, CASES, _why_people_differ())
    kappa = _agreement(db, project_id, (JUDGE, MERGED), "qwk")
    why = "over 1, 0, -1 with squared differences, from the printed shares and agreements"
    yield (
        ("2", "SAER-Human merged", "weighted kappa"),
        RecomputedFigure(kappa["value"], round(kappa["n"]), why),
    )


def _why_people_differ() -> str:
    ends = [_kappa(list(people_apart(opposite=opposite)), _PAIR_LABELS) for opposite in (True, False)]
    return (
        "the shares of the two people are not printed: their 111 disagreements give"
        f" {ends[0]:.2f} if all are opposite wins and {ends[1]:.2f} if all are a win against a tie"
    )


def _wins(db: Database, project_id: int, rater: str) -> dict[str, int]:
    """The wins of both systems, and the ties."""
    options = LeaderboardOptions(SAER[1], (rater,), resamples=0)
    rows = {str(row["system"]): row for row in leaderboard_table(db, project_id, options).rows}
    wins = {system: int(str(rows[system]["wins"])) for system in SYSTEMS}
    return wins | {"Tie": int(str(rows[SYSTEMS[0]]["ties"]))}


def _adversarial(db: Database, project_id: int) -> Iterator[tuple[Place, RecomputedFigure]]:
    for row in leaderboard_table(db, project_id, LeaderboardOptions(SAER[1], resamples=0)).rows:
        if row["system"] == OWN:
            for name, counted in (("Correct", "wins"), ("Wrong", "losses"), ("Tie", "ties")):
                yield ("3", str(row["rater"]), name), _share(row[counted], row["n"], "pairs")


def _agreement(
    db: Database, project_id: int, raters: tuple[str, ...], stat: str, protocol: str = SAER[1]
) -> dict[str, float]:
    """`value` and `n` of one statistic of two raters; the second is the reference."""
    project = Project.numbered(db, project_id)
    (row,) = table_of(
        project, "agreement", protocol=protocol, raters=raters[:1], truth=raters[1], stats=(stat,)
    ).rows
    return {name: float(str(row[name])) for name in ("value", "n")}
