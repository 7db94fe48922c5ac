"""The user's own raters in the form of RecSys Arena's tables: each system against the baseline, and Q against AUC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.errors import NotFoundError
from recjudge_tui.reports.common.scales import is_judging
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.leaderboard.leaderboard import LeaderboardOptions, leaderboard_table
from recjudge_tui.reports.papers.arena import P_VALUE, PAPER, PEARSON, Lines, lines_of, printed_auc
from recjudge_tui.reports.papers.published import NOT_COMPARED, publication
from recjudge_tui.stats.agreement import association
from recjudge_tui.stats.ranking import ranks
from recjudge_tui.store.database import Database
from recjudge_tui.store.verdicts.ratings import project_raters

PRINTED_BASELINE = "FM"
_PROTOCOL = "arena"
# by the domain of the project's data; for any other domain, both
_DATASETS = {"films": ("MovieLens",), "news": ("MIND",)}
_SHARES = {"win": "wins", "tie": "ties", "lose": "losses"}


class OwnSystems(NamedTuple):
    """A project whose systems were judged in pairs.

    `baseline` empty: the system with the same name as the paper's baseline; `domain` as in `domain.domains`, empty if
    unknown.
    """

    db: Database
    project_id: int
    name: str
    baseline: str = ""
    domain: str = ""


def own_rows(own: OwnSystems, raters: Sequence[str], aspect: str = OVERALL) -> list[Row]:
    """Shares, Q and rank of every system against the baseline by each of the raters (without any: all that judge), then
    Pearson's r of the printed AUC and this Q.

    Systems are matched with the paper's by name, whatever its case and signs. Raises NotFoundError for an unknown
    rater, for one that has judged no pair, and without a baseline.
    """
    lines = lines_of(publication(PAPER).figures)
    options = LeaderboardOptions(_PROTOCOL, aspect=aspect)
    board = leaderboard_table(own.db, own.project_id, options).rows
    kinds = project_raters(own.db, own.project_id)
    judged = list(dict.fromkeys(str(row["rater"]) for row in board))
    if absent := [name for name in raters if name not in judged]:
        raise NotFoundError(
            f"“{absent[0]}” has compared no lists in the project {own.name}",
            f"These have: {', '.join(judged) or 'no rater'}.",
            "Run a judge first: recjudge run arena.",
        )
    by_rater = {name: [row for row in board if row["rater"] == name] for name in judged}
    judges = [name for name in judged if is_judging(kinds[name])]
    # a judge of other pairs must not prevent the others from being shown
    met = [name for name in judges if _baseline_of(own, by_rater[name])]
    return [row for name in raters or met or judges for row in _rows(own, name, by_rater[name], lines)]


def _rows(own: OwnSystems, rater: str, board: list[Row], lines: Lines) -> Iterator[Row]:
    baseline = _baseline_of(own, board)
    if not baseline:
        raise _without_baseline(own, rater, board)
    against = _against(board, baseline)
    places = ranks([_number(row["q"]) for row in against])
    for row, place in zip(against, places, strict=True):
        system, n = str(row["system"]), int(str(row["n"]))
        shared: Row = {
            "table": "Table 2", "dataset": own.name, "judge": rater, "system": system, "n": n, "result": NOT_COMPARED,
        }  # fmt: skip
        for name, counted in _SHARES.items():
            share = round(100 * int(str(row[counted])) / n, 2) if n else None
            yield shared | {"figure": name, "recomputed": share}
        yield shared | {
            "figure": "Q",
            "recomputed": row["q"],
            "note": _printed_q(system, own, lines) if row["q"] is not None else row["note"],
        }
        yield shared | {"figure": "rank", "recomputed": place}
    scores = {_key(str(row["system"])): _number(row["q"]) for row in against}
    for dataset in _datasets(own):
        yield from _correlations(own, rater, scores, dataset, lines)


def _baseline_of(own: OwnSystems, board: list[Row]) -> str:
    """The judged system that corresponds to the paper's baseline; empty if it was not judged."""
    systems = {str(row["system"]) for row in board}
    if own.baseline:
        return own.baseline if own.baseline in systems else ""
    return min((system for system in systems if _key(system) == _key(PRINTED_BASELINE)), default="")


def _without_baseline(own: OwnSystems, rater: str, board: list[Row]) -> NotFoundError:
    systems = sorted({str(row["system"]) for row in board})
    what = f"“{own.baseline}”" if own.baseline else f"a system called {PRINTED_BASELINE}"
    return NotFoundError(
        f"{rater} has compared no lists with {what} in the project {own.name}",
        f"It has judged lists of: {', '.join(systems) or 'no system'}.",
        "Name the baseline with --baseline.",
    )


def _against(rows: Sequence[Row], baseline: str) -> list[Row]:
    """The rows of a leaderboard against the baseline; with two systems the rows over all are the same."""
    between = [row for row in rows if row["opponent"] == baseline]
    return between or [row for row in rows if row["system"] != baseline]


def _correlations(
    own: OwnSystems, rater: str, scores: dict[str, float | None], dataset: str, lines: Lines
) -> Iterator[Row]:
    auc = {_key(system): value for system, value in printed_auc(lines, dataset).items()}
    shared = [key for key in scores if key in auc]
    correlation = association([auc[key] for key in shared], [scores[key] for key in shared])
    note = correlation.note or f"with the printed AUC of {dataset}"
    for figure, value in ((PEARSON, correlation.value), (P_VALUE, correlation.p_normal)):
        yield {
            "table": "Table 5", "figure": figure, "dataset": own.name, "judge": rater, "recomputed": value,
            "result": NOT_COMPARED, "n": correlation.n, "note": note,
        }  # fmt: skip


def _printed_q(system: str, own: OwnSystems, lines: Lines) -> str:
    """The printed Q of this system by the paper's judges."""
    return "; ".join(
        f"{at[2]} on {at[1]} {line['Q'].text}"
        for at, line in lines.items()
        if at[0] == "2" and at[1] in _datasets(own) and _key(at[-1]) == _key(system)
    )


def _datasets(own: OwnSystems) -> tuple[str, ...]:
    return _DATASETS.get(own.domain, ("MovieLens", "MIND"))


def _key(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None
