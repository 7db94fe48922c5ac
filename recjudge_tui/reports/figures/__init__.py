"""Figures: each declared once (`declared`), as marks (`marks`), drawn to files (`files`). Their options stand here, because
the command line needs them and nothing else."""

from __future__ import annotations

from recjudge_tui.domain.options import ASPECT, PROTOCOL, RATER, TRUTH, Option

JUDGE = RATER.but(help="Figures only. Default: the first judge; leaderboard: all.", label="judged by")
AGAINST = TRUTH.but(
    help="Figures only. Default: users, a consensus, an annotator.", metavar="T", label="truth"
)
METHOD = Option(
    "method", str, "leaderboard: as in the command.", flag="--method",
    metavar="NAME", label="method",
)  # fmt: skip
STAT = Option(
    "stat", str, "runs (default qwk, pearson for scores), ensembles (pearson).", flag="--stat", metavar="NAME",
    label="statistic",
)  # fmt: skip
LEVEL = Option(
    "level", str, "ensembles: dataset, user or pair.", flag="--level", metavar="NAME", label="level"
)
METRIC = Option("metric", str, "q-metric: auc, ndcg@10, ...", flag="--metric", metavar="NAME", label="metric")
OVER = Option("over", str, "trend: day, week, month or import.", flag="--over", metavar="PERIOD", label="by")
OF = Option("of", str, "flags: lists or items.", flag="--of", metavar="UNIT", label="share of")
SYSTEM = Option(
    "system", str, "q-matrix of many systems: those next to S. Default: first and last.", flag="--system", metavar="S",
    label="systems next to",
)  # fmt: skip
SHOW = Option("show", str, "flags: table, intervals or ranks.", flag="--show", metavar="FORM", label="as")
STAGE = Option("stage", str, "Which confidence is in front.", label="confidence")
# the options that every figure has come first
COMMON = (
    PROTOCOL.but(help="Figures only. Default: the question most raters answered."),
    ASPECT.but(help="Figures only. Default: overall."),
)
OPTIONS = (*COMMON, JUDGE, AGAINST, METHOD, STAT, LEVEL, METRIC, OVER, OF, SYSTEM, SHOW)
