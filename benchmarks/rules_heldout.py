"""The built-in judge compared with what users did next, which it never sees.

    RECJUDGE_DATA=FOLDER python benchmarks/rules_heldout.py [FOLDER...] [--quick]

Prints one column for each set of users: MovieLens-100k in RECJUDGE_DATA, by halves, the synthetic sample data, and any
other FOLDER with items.csv, users.csv, events.csv, heldout.csv and lists_*.csv. Lists made to mislead a judge
(`made_lists.py`) are judged, too. --quick uses only the synthetic films.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from benchmarks.made_lists import (
    CONTENT,
    GENRE,
    POPULAR,
    RANDOM,
    REPEATED,
    REVERSED,
    TOP,
    lists_in,
    made_lists,
    turned_lists,
    write_editions,
    write_lists,
)  # fmt: skip
from benchmarks.rows import Row, command_parser
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.made_lists import CORRECT, adversarial_pair
from recjudge_tui.domain.records import ImportKind
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.importers.load import import_files
from recjudge_tui.runs.engine import work
from recjudge_tui.runs.plan import RunRequest
from recjudge_tui.runs.settings import settings_for
from recjudge_tui.stats.hypotheses import holm, sign_test
from recjudge_tui.stats.retrieval import list_values
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import lists_of, load_evaluation_data
from recjudge_tui.store.projects import project_id
from recjudge_tui.store.schema import connect
from tests.support.runs import plan_run

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "held-out"
ADVERSARIAL_USERS, DRAWS = 200, 2000
BEST = "embedding"
_PAIRS = """SELECT user_id, system_a, system_b, value FROM v_verdicts
WHERE project = ? AND protocol = 'pairwise' AND aspect = 'overall' AND state = 'ok'"""
# lists with the same items in another order, or with several editions of one item, which no recommender makes
TURNED = (REVERSED, REPEATED)
MADE = (CONTENT, GENRE)


class Folder(NamedTuple):
    """Plain tables of one set of users; `halves` alternates the users in the order of their numbers."""

    name: str
    path: Path
    held_out: str
    trained: tuple[str, ...] = ()
    halves: tuple[str, ...] = ("",)


class Pair(NamedTuple):
    """The verdict of rules on two lists of one user and the sign of their difference in nDCG@10; None if unknown."""

    user: str
    a: str
    b: str
    verdict: int
    held_out: int | None

    @property
    def systems(self) -> tuple[str, str]:
        return self.a, self.b


class JudgedFolder(NamedTuple):
    """All verdicts on a set of users, mean nDCG@10 of each system, and outcomes of the adversarial pairs by variant."""

    name: str
    pairs: list[Pair]
    ndcg: dict[str, float]
    adversarial: dict[str, tuple[int, int, int]]


def folders(more: Sequence[str] = (), *, quick: bool = False) -> Iterator[Folder]:
    root = "" if quick else os.environ.get("RECJUDGE_DATA")
    if root:
        yield Folder(
            "MovieLens", Path(root) / "ml100k", "ratings_heldout.csv", halves=("tuning half", "checking half")
        )
    for folder in more:
        yield Folder(Path(folder).name, Path(folder), "heldout.csv")
    for name in ("films",) if quick else ("shop", "films"):
        yield Folder(f"synthetic {name}", ROOT / "sample_data" / name, "heldout_events.csv")


def judged(folder: Folder) -> Iterator[JudgedFolder]:
    with tempfile.TemporaryDirectory() as temp, connect(Path(temp) / "rules.db") as db:
        _import(db, folder, Path(temp))
        _run(db, RunSettings(protocol="pairwise"))
        _run(db, settings_for("adversarial", sample=ADVERSARIAL_USERS))
        values = _ndcg(db)
        pairs = [
            Pair(user, a, b, int(value), _sign(values.get((user, a)), values.get((user, b))))
            for user, a, b, value in db.execute(_PAIRS, (PROJECT,))
        ]
        users = sorted({pair.user for pair in pairs}, key=lambda user: (len(user), user))
        for turn, half in enumerate(folder.halves):
            chosen = set(users[turn :: len(folder.halves)])
            by_system: dict[str, list[float]] = {}
            for (user, system), value in values.items():
                if user in chosen:
                    by_system.setdefault(system, []).append(value)
            yield JudgedFolder(
                f"{folder.name}, {half}" if half else folder.name,
                [pair for pair in pairs if pair.user in chosen],
                {system: float(np.mean(own)) for system, own in by_system.items()},
                _adversarial(db, chosen),
            )


def _import(db: Database, folder: Folder, temp: Path) -> None:
    trained = lists_in(sorted(folder.path.glob("lists_*.csv")))
    best = trained.get(BEST) or trained["cooccurrence"]
    lists = {**trained, **made_lists(folder.path, trained), **turned_lists(best)}
    shown = {item for top in best.values() for item in top[:5]}
    files: tuple[tuple[ImportKind, Path], ...] = (
        ("items", write_editions(folder.path, shown, temp / "items.csv")),
        ("users", folder.path / "users.csv"),
        ("events", folder.path / "events.csv"),
        ("lists", write_lists(lists, temp / "lists.csv")),
        ("events", folder.path / folder.held_out),
    )
    for kind, path in files:
        import_files(db, PROJECT, [path], kind, layout=None, mapping=None, system=None)


def _run(db: Database, settings: RunSettings) -> None:
    plan = plan_run(db, RunRequest(project_id(db, PROJECT), JudgeSpec(spec="rules"), settings))
    assert plan.run_id is not None
    work(db.path, plan.run_id)


def _ndcg(db: Database) -> dict[tuple[str, str], float]:
    """nDCG@10 of each user's list by (user, system), where it is defined. Another edition of an item is no hit."""
    project = project_id(db, PROJECT)
    data = load_evaluation_data(db, project)
    query = "SELECT DISTINCT system FROM v_current_slates WHERE project_id = ?"
    values: dict[tuple[str, str], float] = {}
    for (system,) in db.execute(query, (project,)):
        lists = list(lists_of(db, project, system))
        found = list_values(lists, data, TOP, ["ndcg"])["ndcg"].tolist()
        values |= {
            (ranked.user_id, system): value
            for ranked, value in zip(lists, found, strict=True)
            if value == value
        }
    return values


def _sign(first: float | None, second: float | None) -> int | None:
    return None if first is None or second is None else int(np.sign(first - second))


def _adversarial(db: Database, users: set[str]) -> dict[str, tuple[int, int, int]]:
    """Correct, wrong and tied verdicts on a user's own list against another user's."""
    counts: dict[str, list[float]] = {}
    for user, a, b, value in db.rows(_PAIRS.replace("'pairwise'", "'adversarial'"), (PROJECT,)):
        pair = adversarial_pair(a, b)
        if pair is not None and user in users:
            counts.setdefault(pair.variant, []).append(CORRECT * int(np.sign(value)))
    return {variant: (said.count(1), said.count(-1), said.count(0)) for variant, said in counts.items()}


# figures


def recommenders(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if not set(pair.systems) & set(TURNED)]


def q_values(pairs: Sequence[Pair]) -> dict[str, float]:
    """(wins + ties) / (losses + ties) of each system."""
    counts: dict[str, list[int]] = {}
    for pair in pairs:
        for system, verdict in ((pair.a, pair.verdict), (pair.b, -pair.verdict)):
            won = counts.setdefault(system, [0, 0])
            won[0] += verdict >= 0
            won[1] += verdict <= 0
    return {system: up / max(down, 1) for system, (up, down) in counts.items()}


def rank_correlation(judged: JudgedFolder) -> float:
    """Spearman's correlation over systems of Q and mean nDCG@10."""
    q = q_values(recommenders(judged.pairs))
    names = sorted(q)
    return float(spearmanr([q[name] for name in names], [judged.ndcg[name] for name in names]).statistic)


class Agreement(NamedTuple):
    """Of the pairs that differ in nDCG: `right` and `wrong` verdicts and `ties`; the share right of those decided, with
    its 95 % interval by resampling users."""

    right: int
    wrong: int
    ties: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.right / max(self.right + self.wrong, 1)

    def __str__(self) -> str:
        decided = self.right + self.wrong
        if not decided:
            return f"none decided; {self.ties} ties"
        return f"{self.right:,} of {decided:,} = {self.share:.0%} ({self.low:.0%} to {self.high:.0%}); {self.ties:,} ties"


def agreement(pairs: Sequence[Pair]) -> Agreement:
    counts: dict[str, list[int]] = {}
    for pair in pairs:
        if pair.held_out:
            own = counts.setdefault(pair.user, [0, 0, 0])
            own[2 if pair.verdict == 0 else 0 if pair.verdict == pair.held_out else 1] += 1
    table = np.array(list(counts.values())).reshape(-1, 3)
    right, wrong, ties = table.sum(axis=0)
    if not right + wrong:
        return Agreement(0, 0, int(ties), np.nan, np.nan)
    drawn = table[np.random.default_rng(0).integers(0, len(table), (DRAWS, len(table)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / np.maximum(drawn[:, 0] + drawn[:, 1], 1), (0.025, 0.975))
    return Agreement(int(right), int(wrong), int(ties), float(low), float(high))


def system_pairs(pairs: Sequence[Pair]) -> tuple[int, int, int]:
    """Pairs of systems that both the judge and nDCG tell apart (sign tests over users, p < .05 after Holm): those in
    the same order, those in opposite order, and all pairs that nDCG tells apart.
    """
    by_systems: dict[tuple[str, str], list[Pair]] = {}
    for pair in recommenders(pairs):
        by_systems.setdefault(pair.systems, []).append(pair)
    sides = [
        [
            [sum(value == sign for value in values) for sign in (1, -1)]
            for values in ([pair.verdict for pair in own], [pair.held_out for pair in own])
        ]
        for own in by_systems.values()
    ]
    shown = [holm([sign_test(*side[which]) for side in sides]) for which in (0, 1)]
    same = contrary = 0
    for (judge, truth), p, q in zip(sides, *shown, strict=True):
        if p is not None and q is not None and max(p, q) < 0.05:
            agree = (judge[0] > judge[1]) == (truth[0] > truth[1])
            same, contrary = same + agree, contrary + (not agree)
    return same, contrary, sum(q is not None and q < 0.05 for q in shown[1])


def against(pairs: Sequence[Pair], first: str, second: str) -> str:
    """Won, tied and lost by the first system."""
    outcomes = [
        pair.verdict if pair.a == first else -pair.verdict
        for pair in pairs
        if set(pair.systems) == {first, second}
    ]
    return ", ".join(str(outcomes.count(sign)) for sign in (1, 0, -1))


def _without(*names: str) -> Callable[[Pair], bool]:
    return lambda pair: not set(pair.systems) & set(names)


def figures(judged: JudgedFolder) -> dict[str, str]:
    pairs = recommenders(judged.pairs)
    best = BEST if BEST in judged.ndcg else "cooccurrence"
    same, contrary, by_ndcg = system_pairs(pairs)
    ranked = sorted(q_values(pairs).items(), key=lambda entry: -entry[1])
    mixed = [p for p in pairs if _without(RANDOM)(p) and len(set(p.systems) & set(MADE)) == 1]
    rows = {
        "Spearman of Q and nDCG@10 over systems": f"{rank_correlation(judged):.2f}",
        "pairs of systems told apart by both: same order, contrary, of": f"{same}, {contrary}, of {by_ndcg}",
        "sign of the nDCG difference, all pairs": str(agreement(pairs)),
        "without random lists": str(agreement([p for p in pairs if _without(RANDOM)(p)])),
        "category alone against a recommender": str(agreement(mixed)),
        "between recommenders": str(agreement([p for p in pairs if _without(RANDOM, *MADE)(p)])),
        f"{best} against itself in reverse: won, tied, lost": against(judged.pairs, best, REVERSED),
        f"{best} against its first five twice": against(judged.pairs, best, REPEATED),
        f"{best} against random": against(judged.pairs, best, RANDOM),
        f"{best} against content-only": against(judged.pairs, best, CONTENT),
        f"{best} against popularity": against(judged.pairs, best, POPULAR),
    }
    rows |= {
        f"own list against another user's, {variant}: correct, wrong, tied": ", ".join(map(str, counts))
        for variant, counts in judged.adversarial.items()
    }
    rows["Q (nDCG@10)"] = "; ".join(f"{name} {q:.2f} ({judged.ndcg[name]:.3f})" for name, q in ranked)
    return rows


def measure(quick: bool = False) -> list[Row]:
    rows = []
    for folder in folders(quick=quick):
        for part in judged(folder):
            same, contrary, by_ndcg = system_pairs(part.pairs)
            shares = agreement(recommenders(part.pairs))
            note = (
                f"{shares}; {same} pairs of systems in the order of nDCG, {contrary} contrary, of {by_ndcg}"
            )
            rows.append({
                "name": f"rules and held-out events: {part.name}", "ours": round(shares.share, 3), "comparison": 0.5,
                "ratio": round(shares.share / 0.5, 2), "bound": "0 contrary", "holds": contrary == 0, "note": note,
            })  # fmt: skip
    return rows


def main(words: Sequence[str] | None = None) -> None:
    parser = command_parser(__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    options = parser.parse_args(words)
    chosen = folders(options.folders, quick=options.quick)
    columns = {part.name: figures(part) for folder in chosen for part in judged(folder)}
    for title, rows in columns.items():
        print(f"\n| {title} | |\n|---|---|")
        for name, value in rows.items():
            print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
