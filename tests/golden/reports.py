"""What every report says on six small projects: which command lines are kept, what of them, and where.

`python -m tests.golden.reports [PROJECT...]` writes the files again, so that a changed figure shows in the diff.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.builder import Built
from tests.golden.projects import PROJECTS

FOLDER = Path(__file__).parent
Row = dict[str, Any]

# these are asked for no project
_ALONE = ("cases show", "plan --difference", "plan --share", "project list", "project show", "prompt list")
# project -> the command lines, to which the project's name is added where they name none
LINES = {
    "demo": """
        leaderboard --protocol pairwise
        leaderboard --protocol pairwise --rater rules --by activity
        leaderboard --protocol pairwise --rater rules --by segment
        leaderboard --protocol arena
        leaderboard --protocol arena --rater rules-arena --table metrics --aspect overall
        leaderboard --protocol arena --rater rules-arena --table side-by-side
        leaderboard --protocol pointwise
        leaderboard --protocol absolute
        leaderboard --protocol explanation
        leaderboard --protocol explanation --aspect satisfaction --raters user,rules --table pairs
        agreement
        agreement --protocol pairwise --truth people-conservative --stat all
        agreement --protocol arena --raters rules-arena,annotator_1
        agreement --protocol explanation --truth user --aspect accuracy --level dataset,user,pair
        agreement --benchmark --raters rules,annotator_1,annotator_2 --truth people-strict,people-conservative
        flags
        flags --by activity --issue any
        metrics
        metrics --k 5 --table pairs
        metrics --by activity --metrics ndcg,auc
        robustness position
        robustness position --protocol arena
        outcome show
        outcome show --judges
        outcome show --name spring
        plan
        plan --protocol pointwise --rater rules --power 0.9
        plan --difference 0.05,0.1 --ties 0.2 --consistency 0.8 --cases-per-user 2 --icc 0.1
        plan --share 0.5 --difference 0.1 --correlation 0.2 --protocol pointwise
        passport rules
        gate --rater rules --truth people-conservative --protocol pairwise --at-least kappa=0.2 --at-least percent=0.9
        gate --rater rules --protocol pairwise --systems cooccurrence,text --at-least win_rate=0.5
        gate --rater annotator_2 --against annotator_1 --truth people-strict --protocol pointwise
        compare rules annotator_1
        compare rules annotator_1 --table transitions --protocol pairwise
        cost --human-price 0.1
        cost --truth people-conservative --protocol pairwise
        estimate --rater rules --truth annotator_1 --protocol pairwise
        estimate --rater rules --truth annotator_1 --protocol pointwise --labelled-users 20
        verdicts list --limit 12
        runs list
        rater list
        cases list --limit 8
        cases show 1
        imports list
        project list
        project show synthetic-shop
        prompt list
        methods
        leaderboard -p synthetic-films --protocol pairwise
        leaderboard -p synthetic-films --protocol arena --aspect overall --method winrate
        agreement -p synthetic-films --protocol pointwise
        flags -p synthetic-films
        metrics -p synthetic-films
    """,
    "generations": """
        leaderboard --protocol pairwise
        leaderboard --protocol pairwise --method bt
        leaderboard --protocol pairwise --method bt --ties half --rater random
        leaderboard --protocol pairwise --method winrate --systems als,knn
        leaderboard --protocol pairwise --rater random --table matrix
        leaderboard --protocol pairwise --rater random --table metrics
        leaderboard --protocol pointwise
        leaderboard --protocol pointwise --table pairs
        leaderboard --protocol pointwise --method mean
        agreement --protocol pointwise
        agreement --protocol pairwise --stat all --raters random,rules
        agreement --protocol pairwise --raters "random,anna 0" --by system
        metrics
        flags
        flags --by rank
        gate --rater rules --against rules --systems als,knn
        gate --rater run:6 --against run:2
        compare rules random
        compare run:1 run:5
        compare rules "anna 1" --table cases
        trend --over import
        trend --over import --protocol pairwise --rater random --systems als,knn --metrics ndcg,recall
        estimate --rater rules --truth "anna 1" --protocol pairwise --system als
        passport random
        runs list
        rater list
        cases show 2
        methods
    """,
    "visits": """
        leaderboard --protocol pairwise
        leaderboard --protocol pairwise --by context
        leaderboard --protocol pairwise --by plan --rater random
        leaderboard --protocol pairwise --context home --context ''
        leaderboard --protocol pairwise --from 2024-05-01 --to 2024-05-31
        leaderboard --protocol pointwise --by activity --rater random
        agreement --protocol pairwise
        agreement --protocol pairwise --by context --truth anna
        agreement --protocol pointwise --by system
        agreement --protocol pointwise --confusion --raters anna,ben,random
        agreement --protocol pointwise --by-label --truth anna
        agreement --protocol pointwise --together --stat all
        flags --by rank --issue any
        flags --agreement --truth anna
        flags --of items --by plan --raters anna,random
        flags --by context --issue owned
        metrics --k 3
        metrics --by context --metrics ndcg,mrr
        metrics --from 2024-05-02 --metrics ndcg,hit_rate
        trend --over day
        trend --over week --protocol pairwise
        trend --over month --metrics none
        outcome show
        outcome show --judges
        plan --rater random
        passport random
        gate --rater random --truth anna --at-least qwk=0 --at-most failure_rate=0.02 --at-least percent=0.1
        compare anna ben --table transitions
        compare anna ben --by system
        compare anna ben --context home
        compare anna random --table cases --protocol pairwise
        estimate --rater random --truth anna --protocol pointwise
        robustness position --rater random --counts
        verdicts list --filter flag:any
        verdicts list --filter why:disagree --sort attention --limit 10
        cases list --limit 8
        cases show 5
        doctor
        rater list
    """,
    "crowd": """
        leaderboard --protocol pairwise --crowd all
        leaderboard --protocol pairwise --crowd all --method bt
        leaderboard --protocol pairwise --crowd all --method bt --ties half
        leaderboard --protocol pairwise --crowd w0,w1,w2 --method winrate
        leaderboard --protocol pairwise --crowd all --table matrix
        leaderboard --protocol pairwise --raters w0,w5 --method bt
        leaderboard --protocol pairwise --rater w1
        agreement --together --stat all
        agreement --protocol pairwise --raters w0,w1 --stat all
        agreement --protocol pairwise --truth w0 --raters w1,w4 --missing-truth 0 --missing-judge -1
        agreement --protocol pairwise --raters w0,w1 --by system --stat percent
        agreement --protocol pairwise --truth w0 --raters w1,w2,w3,w4 --ensembles
        agreement --protocol pairwise --truth w0 --raters w1 --by-label
        agreement --protocol pairwise --raters w0,w4 --confusion
        plan --rater w0
        gate --rater w1 --truth w0 --at-least kappa=0.2 --at-most failure_rate=0.1
        compare w0 w1
        compare w0 w1 --by system
        rater list
        cases show 1
        project show arena
    """,
    "faults": """
        robustness adversarial --rater rules
        robustness adversarial --rater random --by-system
        robustness ablation --raters "rules generic,rules overspecified,rules saer"
        robustness ablation --raters "random generic,random overspecified,random saer"
        robustness injected --rater rules
        robustness injected --rater random --by-system
        robustness position
        robustness position --no-gap --protocol arena
        robustness position --rater random --counts
        leaderboard --protocol arena --rater "random arena"
        leaderboard --protocol arena --table side-by-side --rater "random arena"
        agreement --protocol arena --aspect overall --raters "random arena,rules arena"
        metrics
        flags --raters random
        flags --agreement --issue any
        compare rules random --protocol pointwise
        cost
        passport rules
        passport random
        runs list
        methods --raters random
    """,
    "zhang": """
        leaderboard --protocol explanation
        leaderboard --protocol explanation --table pairs --aspect accuracy --raters user,annotator_1
        leaderboard --protocol explanation --aspect accuracy --rater user --method share
        agreement --truth user --raters rules,annotator_1 --stat pearson,spearman,kendall --level dataset,user,pair
        agreement --truth user --raters annotator_1 --stat all --aspect transparency
        agreement --truth user --raters annotator_1,rules --stat pearson --as-published --level dataset,user,pair
        agreement --truth user --raters annotator_1 --stat pearson --missing-truth 3 --missing-judge 0
        agreement --truth user --stat pearson,spearman --ensembles
        agreement --raters bleu-4,rouge-l,user
        agreement --raters annotator_1,annotator_2 --by system --aspect accuracy
        agreement --together --stat all --aspect accuracy
        agreement --truth user --raters annotator_1 --confusion --aspect accuracy
        agreement --truth user --raters annotator_1 --by-label --aspect accuracy
        compare rules annotator_2
        cost --truth user --rule mean
        cost --human-price 0.111
        estimate --rater annotator_2 --truth user --protocol explanation --aspect accuracy
        plan --protocol explanation --aspect accuracy --rater user --difference 0.1
        passport rules
        rater list
        cases show 1
        methods
    """,
}
# command -> the columns it no longer has: leaving one out is a decision
LEFT: dict[str, tuple[str, ...]] = {}

# what a row is about; elsewhere a difference is a figure
_NAMES = frozenset(
    """absolute_rater against aspect average case_id check context counted experiment fault figure from gap id issue item
    item_id judge jury k kind label label_a label_b level lists measure metric name names of opponent outcome part period
    prompt protocol rank rater rater_a rater_b rater_kind reference rule segment side size source stat system system_a
    system_b systems to user user_id what""".split()
)
# words for readers, works cited, times, hashes, and what hangs on an interval or a test
_OUT = frozenset(
    """bibtex decision demand description detail details df digest direction down_is failures favoured first key
    last last_run model natural next_step not_sent note p paired path prompt_digest reasoning recipe
    replies seconds seed separable short statistic sure tags test text unit up_is verdict_a verdict_b
    verdict_id why""".split()
)
_OUT_ENDINGS = ("_low", "_high", "_at")


def is_name(line: str, column: str) -> bool:
    return column in _NAMES or (column == "difference" and line.startswith("plan"))


def is_kept(line: str, column: str) -> bool:
    if column in _OUT or column.startswith("p_") or column.endswith(_OUT_ENDINGS):
        return False
    return column != "rank" or not line.startswith("leaderboard")


def lines(project: str) -> list[str]:
    return [line.strip() for line in LINES[project].strip().splitlines()]


def rows_of(built: Built, line: str) -> list[Row]:
    """The rows of all tables of a report that have any figure, without what is not kept."""
    alone = " -p " in line or line.startswith(_ALONE)
    report = built.table(line if alone else f"{line} -p {built.name}")
    rows = [
        {name: _cell(cell) for name, cell in row.items() if is_kept(line, name)}
        for table in report.get("tables", [report])
        for row in table["rows"]
        if not str(row.get("figure")).startswith("latency")
    ]
    for row in rows:
        if line.startswith("trend") and row.get("figure") in ("click_rate", "lift"):
            row["period"] = "when it was recorded"
    return [row for row in rows if any(not is_name(line, name) and row[name] is not None for name in row)]


def _cell(cell: Any) -> Any:
    return float(f"{cell:.10g}") if isinstance(cell, float) else None if cell == "" else cell


def written(tables: dict[str, list[Row]]) -> str:
    """JSON with a row a line: for each command line, groups of rows that have the same columns."""
    return (
        "{\n"
        + ",\n".join(f"{_json(line)}: [{_groups(line, rows)}]" for line, rows in tables.items())
        + "\n}\n"
    )


def read(text: str) -> dict[str, list[Row]]:
    return {
        line: [
            group["same"] | dict(zip(group["columns"], row, strict=True))
            for group in groups
            for row in group["rows"]
        ]
        for line, groups in json.loads(text).items()
    }


def _groups(line: str, rows: Iterable[Row]) -> str:
    by_columns: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        by_columns[tuple(sorted(row, key=lambda name: (not is_name(line, name), name)))].append(row)
    return ", ".join(_group(columns, group) for columns, group in by_columns.items())


def _group(columns: Sequence[str], rows: list[Row]) -> str:
    same = {name: rows[0][name] for name in columns if all(row[name] == rows[0][name] for row in rows)}
    others = [name for name in columns if name not in same]
    cells = sorted(_json([row[name] for name in others]) for row in rows)
    return f'{{"same": {_json(same)},\n"columns": {_json(others)}, "rows": [\n' + ",\n".join(cells) + "\n]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main(names: Sequence[str]) -> None:
    for name in names or PROJECTS:
        with tempfile.TemporaryDirectory() as folder:
            built = PROJECTS[name](Path(folder, f"{name}.db"))
            kept = {line: rows_of(built, line) for line in lines(name)}
        FOLDER.joinpath(f"{name}.json").write_text(written(kept), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
