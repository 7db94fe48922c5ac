"""The tables of RecSys Arena (2024): every printed figure, and its recomputation from the paper's other figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from recjudge_tui.reports.common.table import Column, Row, Table
from recjudge_tui.reports.papers.published import (
    DOES_NOT_FOLLOW,
    FOLLOWS,
    PrintedFigure,
    Publication,
    Range,
    as_printed,
    compared,
    exactly,
    publication,
    tally_notes,
)
from recjudge_tui.stats.agreement import association
from recjudge_tui.stats.ranking import q_score, ranks

PAPER = "arena"
SHARES = ("win", "tie", "lose")
PEARSON, P_VALUE = "Pearson of AUC and Q", "its p"
FIGURES = ("Q", PEARSON, P_VALUE, *SHARES, "rank", "AUC", "nDCG@5", "URD", "explicit nDCG@5")
# half of the last printed digit of a share
_HALF = 0.05
_NOT_FROM_Q = "the printed AUC and Q of the four systems give the computed figure"
_ONLY_LISTS = "needs the lists of all users and their held-out items, which the paper does not print"
_COLUMNS = (
    Column("table", "Table"),
    Column("figure", "Figure"),
    Column("dataset", "Dataset"),
    Column("judge", "Judge"),
    Column("system", "System"),
    Column("printed", "Printed"),
    Column("published", "As number", "float", minor=True, decimals=5, trimmed=True),
    Column("recomputed", "Computed", "float", decimals=5, trimmed=True),
    Column("difference", "Diff.", "float", minor=True, decimals=4, trimmed=True),
    Column("result", "Result"),
    Column("n", "n", "int", minor=True),
    Column("note", "Note"),
)
# the printed figures of one row of a table, by name
Line = Mapping[str, PrintedFigure]
# lines by table and the place in it: ("2", "MIND", "GPT-4o", "NRMS")
Lines = Mapping[tuple[str, ...], Line]


def arena_table(printed: Publication | None = None, own: Iterable[Row] = ()) -> Table:
    """One row for each of the 296 figures: Q and the third share from the shares, the rank from Q, Pearson's r and p
    from AUC and Q. `own` are rows of the user's own rater (`arena_own.own_rows`).

    `printed` is the shipped publication by default.
    """
    paper = printed or publication(PAPER)
    lines = lines_of(paper.figures)
    rows = [row for key, line in lines.items() for row in _rows(key, line, lines)]
    notes = [f"{len(rows)} printed figures", *tally_notes(rows, "figure")]
    mine = list(own)
    # figures of one kind are kept together, the user's own below the printed ones
    rows = sorted([*rows, *mine], key=lambda row: FIGURES.index(str(row["figure"])))
    notes += [
        "Q = (win + tie) / (lose + tie) of the printed shares; follows: rounded to the printed decimals, or truncated",
        (
            "a share is 100 minus the other two; a rank is that of the printed Q; r and p are over the four "
            "systems of a judge"
        ),
    ]
    return Table(
        f"Reproduced: {paper.source}",
        _COLUMNS,
        tuple(rows),
        (*notes, *paper.remarks),
        {"paper": paper.source},
    )


def lines_of(figures: Iterable[PrintedFigure]) -> dict[tuple[str, ...], dict[str, PrintedFigure]]:
    lines: dict[tuple[str, ...], dict[str, PrintedFigure]] = {}
    for figure in figures:
        lines.setdefault((figure.table, *figure.where.values()), {})[figure.name] = figure
    return lines


def _rows(key: tuple[str, ...], line: Line, lines: Lines) -> Iterator[Row]:
    for name, figure in line.items():
        cells: Row = {"figure": name, **figure.where}
        if name == "Q":
            yield cells | _q(line, _fault(key, lines))
        elif name in SHARES:
            yield cells | _share(line, name, _fault(key, lines))
        elif name == "rank":
            yield cells | _rank(line, [other["Q"] for at, other in lines.items() if at[:-1] == key[:-1]])
        elif name in (PEARSON, P_VALUE):
            yield cells | _correlation(figure, lines)
        else:
            yield cells | as_printed(figure, _ONLY_LISTS)


def _q(line: Line, fault: str) -> Row:
    value = q_score(*(line[name].value for name in SHARES))
    if value is None:
        return as_printed(line["Q"], "never lost or tied, so Q is not finite")
    row = compared(line["Q"], exactly(value), may_cut=True)
    return row if row["result"] == FOLLOWS else row | {"note": fault}


def _share(line: Line, name: str, fault: str) -> Row:
    """100 minus the other two shares."""
    rest = 100 - sum(line[other].value for other in SHARES if other != name)
    row = compared(line[name], Range(rest, rest - 2 * _HALF, rest + 2 * _HALF), "the other two shares")
    return row | {"note": fault} if fault else row


def _fault(key: tuple[str, ...], lines: Lines) -> str:
    """The fault of the three shares of a row; empty if there is none."""
    total = sum(lines[key][share].value for share in SHARES)
    if abs(total - 100) > 3 * _HALF + 1e-9:
        return f"the three shares make {total:.1f}"
    shares = [lines[key][name].text for name in SHARES]
    twin = next(
        (at for at, line in lines.items()
         if at[:-1] == key[:-1] and at != key and [line[name].text for name in SHARES] == shares),
        None,
    )  # fmt: skip
    return f"the three shares are those of {twin[-1]}" if twin else ""


def _rank(line: Line, rivals: list[PrintedFigure]) -> Row:
    place = ranks([rival.value for rival in rivals])[rivals.index(line["Q"])]
    figure = line["rank"]
    same = place == int(figure.value)
    return as_printed(figure) | {
        "recomputed": place,
        "difference": None if place is None else place - int(figure.value),
        "result": FOLLOWS if same else DOES_NOT_FOLLOW,
        "n": len(rivals),
    }


def _correlation(figure: PrintedFigure, lines: Lines) -> Row:
    dataset, judge = figure.where["dataset"], figure.where["judge"]
    scores = {at[-1]: line["Q"].value for at, line in lines.items() if at[:3] == ("2", dataset, judge)}
    auc = printed_auc(lines, dataset)
    correlation = association([auc[system] for system in scores], list(scores.values()))
    value = correlation.value if figure.name == PEARSON else correlation.p_normal
    if value is None:
        return as_printed(figure, correlation.note)
    row = compared(figure, exactly(value), may_cut=True) | {"n": correlation.n}
    return row if row["result"] == FOLLOWS else row | {"note": _NOT_FROM_Q}


def printed_auc(lines: Lines, dataset: str) -> dict[str, float]:
    """The printed AUC of the systems on a data set."""
    return {at[-1]: line["AUC"].value for at, line in lines.items() if at[:2] == ("1", dataset)}
