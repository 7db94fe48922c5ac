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

# project -> the command lines; {name} is its name
LINES = {
    "demo": """
        leaderboard -p {name} --protocol pairwise
        leaderboard -p {name} --protocol pairwise --rater rules --by activity
        leaderboard -p {name} --protocol pairwise --rater rules --by segment
        leaderboard -p {name} --protocol arena
        leaderboard -p {name} --protocol arena --rater rules-arena --table metrics --aspect overall
        leaderboard -p {name} --protocol arena --rater rules-arena --table side-by-side
        leaderboard -p {name} --protocol pointwise
        leaderboard -p {name} --protocol absolute
        leaderboard -p {name} --protocol explanation
        leaderboard -p {name} --protocol explanation --aspect satisfaction --raters user,rules --table pairs
        agreement -p {name}
        agreement -p {name} --protocol pairwise --truth people-conservative --stat all
        agreement -p {name} --protocol arena --raters rules-arena,annotator_1
        agreement -p {name} --protocol explanation --truth user --aspect accuracy --level dataset,user,pair
        agreement -p {name} --benchmark --raters rules,annotator_1,annotator_2 --truth people-strict,people-conservative
        flags -p {name}
        flags -p {name} --by activity --issue any
        metrics -p {name}
        metrics -p {name} --k 5 --table pairs
        metrics -p {name} --by activity --metrics ndcg,auc
        robustness position -p {name}
        robustness position -p {name} --protocol arena
        outcome show -p {name}
        outcome show -p {name} --judges
        outcome show -p {name} --name spring
        plan -p {name}
        plan -p {name} --protocol pointwise --rater rules --power 0.9
        plan --difference 0.05,0.1 --ties 0.2 --consistency 0.8 --cases-per-user 2 --icc 0.1
        plan --protocol pointwise --share 0.5 --difference 0.1 --correlation 0.2
        passport -p {name} rules
        gate -p {name} --rater rules --truth people-conservative --protocol pairwise --at-least kappa=0.2 --at-least percent=0.9
        gate -p {name} --rater rules --protocol pairwise --systems cooccurrence,text --at-least win_rate=0.5 --at-most failure_rate=0
        gate -p {name} --rater annotator_2 --against annotator_1 --truth people-strict --protocol pointwise
        compare -p {name} rules annotator_1
        compare -p {name} rules annotator_1 --table transitions --protocol pairwise
        cost -p {name} --human-price 0.1
        cost -p {name} --truth people-conservative --protocol pairwise
        estimate -p {name} --rater rules --truth annotator_1 --protocol pairwise
        estimate -p {name} --rater rules --truth annotator_1 --protocol pointwise --labelled-users 20
        verdicts list -p {name} --limit 12
        runs list
        runs list -p {name}
        rater list -p {name}
        cases list -p {name} --limit 8
        cases show 1
        imports list -p {name}
        project list
        project show {name}
        prompt list
        methods -p {name}
        leaderboard -p synthetic-films --protocol pairwise
        leaderboard -p synthetic-films --protocol arena --aspect overall --method winrate
        agreement -p synthetic-films --protocol pointwise
        flags -p synthetic-films
        metrics -p synthetic-films
    """,
    "generations": """
        leaderboard -p {name} --protocol pairwise
        leaderboard -p {name} --protocol pairwise --method bt
        leaderboard -p {name} --protocol pairwise --method bt --ties half --rater random
        leaderboard -p {name} --protocol pairwise --method winrate --systems als,knn
        leaderboard -p {name} --protocol pairwise --rater random --table matrix
        leaderboard -p {name} --protocol pairwise --rater random --table metrics
        leaderboard -p {name} --protocol pointwise
        leaderboard -p {name} --protocol pointwise --table pairs
        leaderboard -p {name} --protocol pointwise --method mean
        agreement -p {name} --protocol pointwise
        agreement -p {name} --protocol pairwise --stat all --raters random,rules
        agreement -p {name} --protocol pairwise --raters "random,anna 0" --by system
        metrics -p {name}
        flags -p {name}
        flags -p {name} --by rank
        gate -p {name} --rater rules --against rules --systems als,knn
        gate -p {name} --rater run:6 --against run:2
        compare -p {name} rules random
        compare -p {name} run:1 run:5
        compare -p {name} run:2 run:6 --table cases
        trend -p {name} --over import
        trend -p {name} --over import --protocol pairwise --rater random --systems als,knn --metrics ndcg,recall
        estimate -p {name} --rater rules --truth "anna 1" --protocol pairwise --system als
        outcome show -p {name}
        passport -p {name} random
        runs list -p {name}
        rater list -p {name}
        cases show 2
        methods -p {name}
    """,
    "visits": """
        leaderboard -p {name} --protocol pairwise
        leaderboard -p {name} --protocol pairwise --by context
        leaderboard -p {name} --protocol pairwise --by plan --rater random
        leaderboard -p {name} --protocol pairwise --context home --context ''
        leaderboard -p {name} --protocol pairwise --from 2024-05-01 --to 2024-05-31
        leaderboard -p {name} --protocol pointwise --by activity --rater random
        agreement -p {name} --protocol pairwise
        agreement -p {name} --protocol pairwise --by context --truth anna
        agreement -p {name} --protocol pointwise --by system
        agreement -p {name} --protocol pointwise --confusion --raters anna,ben,random
        agreement -p {name} --protocol pointwise --by-label --truth anna
        agreement -p {name} --protocol pointwise --together --stat all
        flags -p {name} --by rank --issue any
        flags -p {name} --agreement --truth anna
        flags -p {name} --of items --by plan --raters anna,random
        flags -p {name} --by context --issue owned
        metrics -p {name} --k 3
        metrics -p {name} --by context --metrics ndcg,mrr
        metrics -p {name} --from 2024-05-02 --metrics ndcg,hit_rate
        trend -p {name} --over day
        trend -p {name} --over week --protocol pairwise
        trend -p {name} --over month --metrics none
        outcome show -p {name}
        outcome show -p {name} --judges
        plan -p {name} --rater random
        passport -p {name} random
        gate -p {name} --rater random --truth anna --at-least qwk=0 --at-most failure_rate=0.02 --at-least percent=0.1
        compare -p {name} anna ben --table transitions
        compare -p {name} anna ben --by system
        compare -p {name} anna ben --context home
        compare -p {name} anna random --table cases --protocol pairwise
        compare -p {name} rules random --table prompt
        estimate -p {name} --rater random --truth anna --protocol pointwise
        robustness position -p {name} --rater random
        verdicts list -p {name} --filter flag:any
        verdicts list -p {name} --filter why:disagree --sort attention --limit 10
        cases list -p {name} --limit 8
        cases show 5
        rater list -p {name}
    """,
    "crowd": """
        leaderboard -p {name} --protocol pairwise --crowd all
        leaderboard -p {name} --protocol pairwise --crowd all --method bt
        leaderboard -p {name} --protocol pairwise --crowd all --method bt --ties half
        leaderboard -p {name} --protocol pairwise --crowd w0,w1,w2 --method winrate
        leaderboard -p {name} --protocol pairwise --crowd all --table matrix
        leaderboard -p {name} --protocol pairwise --raters w0,w5 --method bt
        leaderboard -p {name} --protocol pairwise --rater w1
        agreement -p {name} --together --stat all
        agreement -p {name} --protocol pairwise --raters w0,w1 --stat all
        agreement -p {name} --protocol pairwise --raters w0,w1,w4 --missing-truth 0 --missing-judge -1
        agreement -p {name} --protocol pairwise --raters w0,w1 --by system --stat percent
        agreement -p {name} --protocol pairwise --truth w0 --raters w1,w2,w3,w4 --ensembles
        agreement -p {name} --protocol pairwise --truth w0 --raters w1 --by-label
        agreement -p {name} --protocol pairwise --raters w0,w4 --confusion
        plan -p {name} --rater w0
        gate -p {name} --rater w1 --truth w0 --at-least kappa=0.2 --at-most failure_rate=0.1
        compare -p {name} w0 w1
        compare -p {name} w0 w1 --by system
        rater list -p {name}
        cases show 1
        project show {name}
    """,
    "faults": """
        robustness adversarial -p {name} --rater rules
        robustness adversarial -p {name} --rater random --by-system
        robustness ablation -p {name} --raters "rules generic,rules overspecified,rules saer"
        robustness ablation -p {name} --raters "random generic,random overspecified,random saer"
        robustness injected -p {name} --rater rules
        robustness injected -p {name} --rater random --by-system
        robustness position -p {name}
        robustness position -p {name} --no-gap --protocol arena
        robustness position -p {name} --rater random
        leaderboard -p {name} --protocol arena --rater "random arena"
        leaderboard -p {name} --protocol arena --table side-by-side --rater "random arena"
        agreement -p {name} --protocol arena --aspect overall --raters "random arena,rules arena"
        metrics -p {name}
        flags -p {name} --raters random
        flags -p {name} --agreement --issue any
        compare -p {name} rules random --protocol pointwise
        cost -p {name}
        passport -p {name} rules
        passport -p {name} random
        runs list -p {name}
        methods -p {name} --raters random
    """,
    "zhang": """
        leaderboard -p {name} --protocol explanation
        leaderboard -p {name} --protocol explanation --table pairs --aspect accuracy --raters user,annotator_1
        leaderboard -p {name} --protocol explanation --aspect accuracy --rater user --method share
        agreement -p {name} --truth user --raters rules,random,annotator_1,annotator_2 --stat pearson,spearman,kendall --level dataset,user,pair
        agreement -p {name} --truth user --raters annotator_1 --stat all --aspect transparency
        agreement -p {name} --truth user --raters annotator_1,rules --stat pearson --as-published --level dataset,user,pair
        agreement -p {name} --truth user --raters annotator_1 --stat pearson --missing-truth 3 --missing-judge 0
        agreement -p {name} --truth user --stat pearson,spearman --ensembles
        agreement -p {name} --raters bleu-4,rouge-l,user
        agreement -p {name} --raters annotator_1,annotator_2 --by system --aspect accuracy
        agreement -p {name} --together --stat all --aspect accuracy
        agreement -p {name} --truth user --raters annotator_1 --confusion --aspect accuracy
        agreement -p {name} --truth user --raters annotator_1 --by-label --aspect accuracy
        compare -p {name} rules annotator_2
        cost -p {name} --truth user --rule mean
        cost -p {name} --human-price 0.111
        estimate -p {name} --rater annotator_2 --truth user --protocol explanation --aspect accuracy
        plan -p {name} --protocol explanation --aspect accuracy
        passport -p {name} rules
        rater list -p {name}
        cases show 1
        methods -p {name}
    """,
}
# command -> the columns it no longer has: leaving one out is a decision
LEFT: dict[str, tuple[str, ...]] = {}

# what a row is about
NAMES = frozenset(
    """absolute_rater against aspect average case_id check context counted experiment fault figure from gap id issue item
    item_id judge jury k kind label label_a label_b level lists measure metric name names of opponent outcome part period
    prompt protocol rank rater rater_a rater_b rater_kind reference rule segment side size source stat system system_a
    system_b systems to user user_id what""".split()
)
# words for readers, times, hashes, and what hangs on an interval or a test
_OUT = frozenset(
    """decision demand description detail details df digest direction down_is failures favoured first last model natural
    next_step not_sent note p path paired prompt_digest recipe reasoning replies seconds seed separable statistic sure
    tags test text unit up_is verdict_a verdict_b verdict_id why""".split()
)
_OUT_ENDINGS = ("_low", "_high", "_at")


def is_kept(line: str, column: str) -> bool:
    if column in _OUT or column.startswith("p_") or column.endswith(_OUT_ENDINGS):
        return False
    return column != "rank" or not line.startswith("leaderboard")


def lines(project: str) -> list[str]:
    return [line.strip() for line in LINES[project].strip().splitlines()]


def rows_of(built: Built, line: str) -> list[Row]:
    """The rows of all tables of a report, without what is not kept."""
    report = built.table(line.format(name=built.name))
    return [
        {name: _cell(name, cell) for name, cell in row.items() if is_kept(line, name)}
        for table in report.get("tables", [report])
        for row in table["rows"]
    ]


def _cell(name: str, cell: Any) -> Any:
    if isinstance(cell, float):
        return float(f"{cell:.10g}")
    return None if name in NAMES and cell == "" else cell


def written(tables: dict[str, list[Row]]) -> str:
    """JSON with a row a line: for each command line, groups of rows that have the same columns."""
    return "{\n" + ",\n".join(f"{_json(line)}: [{_groups(rows)}]" for line, rows in tables.items()) + "\n}\n"


def read(text: str) -> dict[str, list[Row]]:
    return {
        line: [{**group["same"], **dict(zip(group["columns"], row, strict=True))} for group in groups for row in group["rows"]]
        for line, groups in json.loads(text).items()
    }  # fmt: skip


def _groups(rows: Iterable[Row]) -> str:
    by_columns: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        by_columns[tuple(sorted(row, key=lambda name: (name not in NAMES, name)))].append(row)
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
