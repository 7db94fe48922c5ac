"""The papers: every printed figure recomputed to the last digit or with a reason, and own raters in their tables."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from recjudge_tui.cli.results import reproduced
from recjudge_tui.domain.protocols import ZHANG_ASPECTS
from recjudge_tui.errors import NotFoundError
from recjudge_tui.importers.load import import_files
from recjudge_tui.project import Project as Opened
from recjudge_tui.reports.common.table import Row
from recjudge_tui.reports.papers.runner import (
    CUT,
    LEVELS,
    Reproduction,
    follows,
    of_project,
    paper_toml,
    printed_figures,
)
from recjudge_tui.stats import text as words
from tests.support.verdicts import (
    Project,
    give,
    judge_lists,
    judge_pairs,
    list_case,
    new_project,
    pair_case,
    text_case,
)
from tests.support.zhang_folder import joined_rows, write_joined, write_release

TYPED = {"saer": "saer2026", "arena": "arena2024", "zhang2024": "zhang2024"}
# by paper, how many of its figures have which result without any data
RESULTS = {
    "saer": {"follows": 55, "not determined": 4, "as printed": 6},
    "arena": {"follows": 240, "does not follow": 12, "as printed": 44},
    "zhang2024": {"follows": 60, "as printed": 161, "needs data": 84},
}


@pytest.fixture(scope="module", params=TYPED)
def paper(request: pytest.FixtureRequest) -> tuple[str, Reproduction]:
    return request.param, reproduced(request.param)


@pytest.fixture(scope="module")
def saer() -> list[Row]:
    return list(reproduced("saer").rows.rows)


@pytest.fixture(scope="module")
def arena() -> list[Row]:
    return list(reproduced("arena").rows.rows)


def one(rows: list[Row] | tuple[Row, ...], **wanted: object) -> Row:
    (found,) = (row for row in rows if all(row.get(name) == value for name, value in wanted.items()))
    return found


def test_every_printed_figure_is_recomputed_or_has_a_reason(paper: tuple[str, Reproduction]) -> None:
    name, found = paper
    rows = found.rows.rows
    assert Counter(row["result"] for row in rows) == RESULTS[name]
    assert len({tuple(map(str, row.items())) for row in rows}) == len(rows)
    for row in rows:
        assert row["result"] == "follows" or row["note"], row
    # all that differ are known to
    assert found.differing == 0


@pytest.mark.data
@pytest.mark.parametrize("name", TYPED)
def test_the_shipped_figures_are_those_typed_from_the_paper(name: str) -> None:
    path = Path(os.environ["RECJUDGE_DATA"]) / "published" / f"{TYPED[name]}.json"
    typed = json.loads(path.read_text(encoding="utf-8"))["figures"]
    toml = paper_toml(name)
    shipped = [(toml["tables"][f.at]["table"], f.printed) for f in printed_figures(toml)]
    assert sorted(pair for pair in shipped if pair[0].isdigit()) == sorted(
        (f["table"], f["value"]) for f in typed
    )


def test_other_ways_to_follow() -> None:
    assert follows("1.9485", 1.94859, cut=True) == ("follows", CUT)
    assert follows("-1.23", -1.239, cut=True) == ("follows", CUT)
    assert follows("16.61", 16.6025, 0.005)[0] == "follows"
    assert follows("16.62", 16.6025, 0.005)[0] == "does not follow"
    assert follows("11.68", 11.639, tolerance=0.1)[0] == "within 0.1"


# ---- SAER --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "printed", "computed", "n"),
    [
        ({"pair": "SAER-Human merged", "figure": "agreement"}, "49.0%", 49.0, 200),
        ({"pair": "SAER-Human merged", "figure": "weighted kappa"}, "0.43", 0.426, 200),
        ({"pair": "Human-Human", "figure": "agreement"}, "44.5%", 44.5, 200),
        ({"judge": "SAER", "figure": "position consistency"}, "88.0% (176/200)", 88.0, 200),
        ({"count of": "SAER Raw (N=400 calls)", "figure": "Co-occurrence"}, "57.0%", 57.0, 400),
        ({"count of": "Human Merged (N=200)", "figure": "Tie"}, "58.0%", 58.0, 200),
        ({"statement": "SAER concurs where humans agreed on a direction"}, "82.1%", 82.143, 84),
        ({"statement": "humans favour co-occurrence over embedding"}, "1.6×", 1.625, 84),
        ({"statement": "relative lift", "of it": ""}, "+18.4% (95% CI: [+17.6%, +19.1%], p < 0.0001)", 18.356, None),
        ({"statement": "relative lift", "of it": "CI low"}, "+17.6%", 17.617, None),
        ({"statement": "relative lift", "of it": "CI high"}, "+19.1%", 19.099, None),
        ({"statement": "gain over generic"}, "17-point", 17, 100),
        ({"judge": "SAER Refined Prompt (v3)", "figure": "Correct"}, "91.0%", 91.0, 100),
        ({"system": "Co-occurrence", "label": "Poor Match", "figure": "Human B"}, "12.5%", 12.5, 200),
    ],
)  # fmt: skip
def test_figures_of_saer(
    saer: list[Row], where: dict[str, str], printed: str, computed: float, n: int | None
) -> None:
    found = one(saer, **where)
    assert (found["printed"], found["result"], found["n"]) == (printed, "follows", n)
    assert found["recomputed"] == pytest.approx(computed, abs=6e-4)


def test_what_saer_does_not_determine(saer: list[Row]) -> None:
    people = one(saer, pair="Human–Human", figure="weighted kappa")
    assert (people["result"], people["n"]) == ("not determined", 400)
    assert people["recomputed"] == pytest.approx(0.383, abs=5e-4)
    assert one(saer, pair="Human-Human", figure="weighted kappa")["recomputed"] is None
    assert "69 of 84" in str(one(saer, statement="SAER concurs where humans agreed on a direction")["note"])
    tie = one(saer, **{"count of": "SAER Adjudicated (N=200)", "figure": "Tie"})
    assert "24 position ties and 7 true ones" in str(tie["note"])


def test_own_raters_in_the_tables_of_saer(project_db: Path) -> None:
    project = new_project(project_db)
    lists = {list_case(project, f"u{n}", system): float(n % 3) for n in range(9) for system in ("als", "bpr")}
    pairs = {
        pair_case(project, f"u{n}", "als", "bpr"): ((1.0, 1.0) if n < 6 else (1.0, -1.0)) for n in range(8)
    }
    judge_lists(project, "qwen", lists)
    judge_pairs(project, "qwen", pairs)
    found = reproduced("saer", project="films", db=str(project_db))
    own = [row for row in found.rows.rows if row["project"]]
    assert one(own, system="als", label="Poor Match", figure="qwen")["recomputed"] == pytest.approx(100 / 3)
    raw = "qwen Raw (N=16 calls): als, bpr"
    assert one(own, **{"count of": raw, "figure": "Co-occurrence"})["recomputed"] == 87.5
    assert one(own, **{"count of": "qwen Adjudicated (N=8): als, bpr", "figure": "Tie"})["recomputed"] == 25
    assert one(own, judge="qwen: als, bpr")["recomputed"] == 75
    assert "qwen" in {column.name for column in found.page.tables[0].columns}


# ---- Arena -------------------------------------------------------------------------------------------------------------


def test_which_figures_of_arena_do_not_follow(arena: list[Row]) -> None:
    failing = [row for row in arena if row["result"] == "does not follow"]
    assert Counter(
        (row["table"], row["judge"], row["system"], row["figure"]) for row in failing if row["system"]
    ) == Counter(
        [
            ("Table 2", "DeepSeek-V2.5", "DeepFM", "Q"),
            *(("Table 4", "GPT-4o", "SASRec", name) for name in ("win", "tie", "lose", "Q")),
            ("Table 6", "DeepSeek-V2.5", "DeepFM", "Q"),
        ]
    )
    assert all(row["note"] and row["known"] for row in failing)


@pytest.mark.parametrize(
    ("dataset", "judge", "r", "p"),
    [
        ("MovieLens", "GPT-4o", ("0.8972", 0.8843), ("0.1027", 0.1157)),
        ("MovieLens", "DeepSeek-V2.5", ("0.9436", 0.9351), ("0.0563", 0.0649)),
        ("MovieLens", "Llama3.1-8B", ("-0.2661", -0.3009), ("0.7338", 0.6991)),
        ("MIND", "GPT-4o", ("0.9001", 0.9002), ("0.0998", 0.0998)),
        ("MIND", "DeepSeek-V2.5", ("0.9530", 0.9531), ("0.0469", 0.0469)),
        ("MIND", "Llama3.1-8B", ("0.7443", 0.7443), ("0.2556", 0.2557)),
    ],
)
def test_correlations_of_auc_and_q(
    arena: list[Row], dataset: str, judge: str, r: tuple[str, float], p: tuple[str, float]
) -> None:
    for figure, (printed, computed) in (("Pearson of AUC and Q", r), ("its p", p)):
        row = one(arena, dataset=dataset, judge=judge, figure=figure)
        assert (row["printed"], row["n"]) == (printed, 4)
        assert row["result"] == ("follows" if dataset == "MIND" else "does not follow")
        assert round(float(str(row["recomputed"])), 4) == computed


# wins, ties, losses against the baseline; "bert 4 rec" is not in the paper
OUTCOMES = {
    "nrms": (6, 2, 2),
    "Light-GCN": (5, 2, 3),
    "SASREC": (4, 3, 3),
    "deepfm": (2, 4, 4),
    "bert 4 rec": (1, 0, 0),
}


def judged(path: Path, baseline: str = "FM", raters: tuple[str, ...] = ("qwen",)) -> Project:
    project = new_project(path, "my arena")
    values: dict[int, float | None] = {}
    for system, counts in OUTCOMES.items():
        first, second = sorted((system, baseline))
        sign = 1.0 if first == system else -1.0
        outcomes = [
            value for value, count in zip((1.0, 0.0, -1.0), counts, strict=True) for _ in range(count)
        ]
        for user, outcome in enumerate(outcomes):
            values[pair_case(project, f"user {user}", first, second)] = sign * outcome
    for rater in raters:
        give(project, rater, values, protocol_name="arena", kind="judge")
    return project


def test_own_raters_in_the_tables_of_arena(project_db: Path) -> None:
    judged(project_db, raters=("qwen", "gpt"))
    found = reproduced("arena", raters=("qwen",), db=str(project_db))
    own = [row for row in found.rows.rows if row["project"] == "my arena"]
    place = {"table": "Table 2", "dataset": "MovieLens", "judge": "qwen"}
    assert {row["judge"] for row in own if row["table"] == "Table 2"} == {"qwen"}
    q = {
        row["system"]: row["recomputed"]
        for row in own
        if (row["figure"], row["dataset"], row["table"]) == ("Q", "MovieLens", "Table 2")
    }
    assert q == {
        "nrms": 2.0, "Light-GCN": pytest.approx(7 / 5), "SASREC": pytest.approx(7 / 6), "deepfm": pytest.approx(6 / 8),
        "bert 4 rec": None,
    }  # fmt: skip
    nrms = [
        one(own, **place, system="nrms", figure=name)["recomputed"] for name in ("win", "tie", "lose", "rank")
    ]
    assert nrms == [60, 20, 20, 1]
    assert "never lost" in str(one(own, **place, system="bert 4 rec", figure="Q")["note"])
    # Q rises with the printed AUC over the four systems that the paper has
    for dataset in ("MovieLens", "MIND"):
        r = one(own, table="Table 5", dataset=dataset, figure="Pearson of AUC and Q")["recomputed"]
        assert float(str(r)) > 0.7
    assert Counter(row["result"] for row in found.rows.rows if not row["project"]) == RESULTS["arena"]
    both = reproduced("arena", project="my arena", db=str(project_db)).page
    titles = [table.title for table in both.tables]
    assert "Figure 3: Q of each run against the baseline" in titles
    assert "Figure 3: Q of each system against each other" in titles
    spread = both.tables[titles.index("Figure 3: Q of each run against the baseline")]
    assert (spread.rows[0]["Q qwen"], spread.rows[0]["lowest"]) == (2.0, 2.0)


def test_another_baseline_is_named(project_db: Path) -> None:
    judged(project_db, baseline="popular")
    with pytest.raises(NotFoundError, match="“qwen” has judged nothing") as caught:
        reproduced("arena", raters=("qwen",), db=str(project_db))
    assert "a system called FM" in caught.value.cause
    rows = reproduced("arena", raters=("qwen",), baseline="popular", db=str(project_db)).rows.rows
    assert (
        one(rows, table="Table 2", dataset="MIND", judge="qwen", system="nrms", figure="win")["recomputed"]
        == 60
    )


# ---- Zhang et al. ------------------------------------------------------------------------------------------------------


def by_group(rows: list[dict[str, str]], level: str, aspect: str) -> float:
    """Mean over groups of annotator 1's correlation with the users, by NumPy, 3 for a missing score."""
    keys = {"dataset": (), "user": ("user_id",), "pair": ("user_id", "movie_id")}[level]
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in rows:
        both = float(row[f"{aspect}_1"]), float(row[aspect] or 3)
        groups.setdefault(tuple(row[key] for key in keys), []).append(both)
    values = [np.array(part).T for part in groups.values()]
    return float(np.mean([100 * np.corrcoef(a, b)[0, 1] for a, b in values if np.ptp(a) and np.ptp(b)]))


def test_three_levels_and_the_mean_of_the_aspects(tmp_path: Path) -> None:
    rows = joined_rows()
    folder = write_joined(tmp_path / "data", rows)
    found = reproduced("zhang2024", folder).rows.rows
    release = reproduced("zhang2024", write_release(tmp_path / "release", rows)).rows.rows
    for level in LEVELS:
        place = {"evaluator": "Annotator-1", "level": level}
        figures = []
        for aspect in ZHANG_ASPECTS:
            row = one(found, **place, figure=aspect)
            assert row["recomputed"] == pytest.approx(by_group(rows, level, aspect), abs=6e-5)
            figures.append(float(str(row["recomputed"])))
            assert one(release, **place, figure=aspect) == row
        assert one(found, **place, figure="average")["recomputed"] == pytest.approx(
            np.mean(figures), abs=2e-4
        )
    assert one(found, evaluator="Annotator-1", figure="accuracy", level="pair")["groups"] == 8
    assert one(found, evaluator="ROUGE-1 F1 of single words", figure="accuracy", level="user")["recomputed"]
    # without the users' texts there are no text metrics, and the pickle that has them is never opened
    lacking = one(release, evaluator="BLEU-1", figure="accuracy", level="pair")
    assert (lacking["recomputed"], lacking["result"]) == (None, "needs texts")
    assert sum(row["result"] == "does not follow" for row in found) > 40


def test_without_jieba_the_text_rows_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    # an earlier test may have loaded it
    words.jieba_cutter.cache_clear()
    words._jieba.cache_clear()
    found = reproduced("zhang2024", write_joined(tmp_path / "data", joined_rows())).rows.rows
    row = one(found, evaluator="ROUGE-L-F", figure="accuracy", level="pair")
    assert (row["published"], row["recomputed"], row["result"]) == (12.83, None, "needs recjudge[text]")


def test_own_raters_in_the_tables_of_zhang(tmp_path: Path) -> None:
    rows = joined_rows()
    project = new_project(tmp_path / "own.db", "mine")
    cases = [text_case(project, r["user_id"], r["movie_id"], r["explanation_type"]) for r in rows]
    for aspect in ZHANG_ASPECTS:
        truth = {case: float(row[aspect] or 3) for case, row in zip(cases, rows, strict=True)}
        judged = {case: float(row[f"{aspect}_1"]) for case, row in zip(cases, rows, strict=True)}
        # a failed score counts as 0, a case that was never asked is left out
        half: dict[int, float | None] = {**dict(list(judged.items())[:20]), cases[0]: None}
        one_user = {
            c: v if r["user_id"] == rows[0]["user_id"] else 4.0
            for (c, v), r in zip(truth.items(), rows, strict=True)
        }
        give(project, "user", truth, protocol_name="explanation", kind="ground_truth", aspect=aspect)
        for name, values in (("llm", judged), ("half", half), ("flat", one_user)):
            give(project, name, values, protocol_name="explanation", kind="judge", aspect=aspect)
    data = write_joined(tmp_path / "data", rows)
    found = reproduced("zhang2024", data, project="mine", db=str(tmp_path / "own.db"))
    all_rows = found.rows.rows
    for level in LEVELS:
        ours = one(all_rows, evaluator="llm", figure="satisfaction", level=level)
        theirs = one(all_rows, evaluator="Annotator-1", figure="satisfaction", level=level)
        assert round(float(str(ours["recomputed"])), 4) == theirs["recomputed"]
        assert "of the 12 printed figures of models" in str(ours["note"])
    assert one(all_rows, evaluator="half", figure="satisfaction", level="dataset")["n"] == 20
    assert one(all_rows, evaluator="llm", figure="average", level="dataset")["recomputed"] is not None
    assert "one side is constant in 3 of 4" in str(
        one(all_rows, evaluator="flat", figure="accuracy", level="user")["note"]
    )
    common = next(table for table in found.page.tables if table.title.startswith("Figure 3"))
    assert {row["n"] for row in common.rows} == {20}
    assert any(table.title.startswith("Figure 4") for table in found.page.tables)
    with pytest.raises(NotFoundError, match="“nobody” has judged nothing"):
        reproduced("zhang2024", project="mine", raters=("nobody",), db=str(tmp_path / "own.db"))


@pytest.mark.data
def test_the_papers_table_from_its_data() -> None:
    folder = Path(os.environ["RECJUDGE_DATA"]) / "zhang2024"
    rows = reproduced("zhang2024", folder).rows.rows
    results = Counter((row["section"], row["result"]) for row in rows if row["printed"])
    assert results["Annotation", "follows"] == 45
    assert (
        results["Reference-based Metric", "follows"] + results["Reference-based Metric", "within 0.1"] == 60
    )
    assert "does not follow" not in {row["result"] for row in rows}
    first = {"evaluator": "Annotator-1", "figure": "persuasiveness"}
    figures = [round(float(str(one(rows, **first, level=level)["recomputed"])), 2) for level in LEVELS]
    assert figures == [19.88, 18.31, 16.72]
    assert one(rows, **first, level="pair")["groups"] == 310
    assert one(rows, **first, level="dataset")["n"] == 2536


# ---- the paper of a project --------------------------------------------------------------------------------------------


def test_the_paper_of_a_project(project_db: Path, tmp_path: Path) -> None:
    project = new_project(project_db)
    with pytest.raises(NotFoundError, match="does not contain the data of a paper"):
        of_project(Opened.numbered(project.db, project.id))
    for system in ("nrms", "fm"):
        path = tmp_path / f"{system}-ml-1m.csv"
        path.write_text("user_id,item_id,label,predict\n1,10,1,0.9\n1,11,0,0.4\n", encoding="utf-8")
        import_files(project.db, "films", [path], "lists", layout="recsys-arena")
    give(project, "qwen", {pair_case(project, "1", "fm", "nrms"): -1.0}, protocol_name="arena", kind="judge")
    # the data do not say whether they are films or news, so they stand beside both
    rows = of_project(Opened.numbered(project.db, project.id)).rows.rows
    for dataset in ("MovieLens", "MIND"):
        row = one(rows, judge="qwen", table="Table 2", dataset=dataset, figure="win")
        assert (row["system"], row["recomputed"], row["n"]) == ("nrms", 100, 1)
