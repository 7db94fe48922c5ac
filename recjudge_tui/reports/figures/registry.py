"""The figures: what each shows, its options, and the protocols it fits.

The keys of the screen, `recjudge export --figure` and the HTML report derive from FIGURES. Importing this loads no
report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.errors import UsageError

if TYPE_CHECKING:
    from recjudge_tui.domain.protocols import ProtocolFacts


class FigureOption(NamedTuple):
    """An option of figures: its metavar and help text on the command line."""

    metavar: str
    help: str


class FigureKind(NamedTuple):
    """One figure. `labels` has an entry for each of its options besides protocol and aspect: its name and its label on
    the screen.

    `value` is the column that is drawn. `suits` says whether the figure fits a protocol (None: it fits all), and
    `lacks` is the message for one that does not fit. The module of the same name in this package (`q-matrix`:
    `q_matrix`) has the functions of `loading.FigureModule`.
    """

    title: str
    about: str
    labels: Mapping[str, str]
    value: str
    suits: Callable[[ProtocolFacts], bool] | None = None
    lacks: str = ""

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that the figure fits."""
        from recjudge_tui.domain.protocols import offered, protocol_facts

        return tuple(name for name in offered() if self.suits is None or self.suits(protocol_facts(name)))

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command line. `stage` exists only on the screen, because a file shows all stages."""
        return tuple(name for name in self.labels if name in OPTIONS)


def _of_pairs(facts: ProtocolFacts) -> bool:
    return facts.of_pairs


def _of_labels(facts: ProtocolFacts) -> bool:
    """Whether the protocol gives labels of single lists or texts."""
    return bool(facts.labels) and not facts.of_pairs


def _of_lists(facts: ProtocolFacts) -> bool:
    """Whether the protocol judges single lists, whose items can be flagged."""
    return facts.unit == "list"


_NO_PAIRS = "this figure counts wins between two lists, and {} judges one thing at a time"
_NO_LISTS = "this figure counts flagged items of single lists, and {} judges no single lists"
_NO_LABELS = "this figure counts labels of single lists or texts, and {} gives no such labels"

# the options that every figure has come first
OPTIONS: dict[str, FigureOption] = {
    "protocol": FigureOption("P", "Figures only. Default: the question most raters answered."),
    "aspect": FigureOption("A", "Figures only. Default: overall."),
    "rater": FigureOption("R", "Figures only. Default: the first judge; leaderboard: all."),
    "truth": FigureOption("T", "Figures only. Default: users, a consensus, an annotator."),
    "method": FigureOption("NAME", "leaderboard, calibration: as in the command of that name."),
    "stat": FigureOption("NAME", "runs (default qwk, pearson for scores), ensembles (pearson)."),
    "level": FigureOption("NAME", "ensembles: dataset, user or pair."),
    "metric": FigureOption("NAME", "q-metric: auc, ndcg@10, ..."),
    "over": FigureOption("PERIOD", "trend: day, week, month or import."),
    "of": FigureOption("UNIT", "flags: lists or items."),
    "system": FigureOption("S", "q-matrix of many systems: those next to S. Default: first and last."),
    "show": FigureOption("FORM", "flags: table, intervals or ranks."),
}
COMMON_OPTIONS = ("protocol", "aspect")

# the order is that of the keys on the screen of figures
FIGURES: dict[str, FigureKind] = {
    "confusion": FigureKind(
        "confusion",
        "the labels of one rater by the labels of another",
        {"rater": "rater", "truth": "against"},
        "count",
    ),
    "q-matrix": FigureKind(
        "Q matrix",
        "each system against each, with intervals",
        {"rater": "judged by", "system": "systems next to"},
        "q",
        _of_pairs,
        _NO_PAIRS,
    ),
    "q-metric": FigureKind(
        "Q and metric",
        "Q of each system against an offline metric",
        {"rater": "judged by", "metric": "metric"},
        "q",
        _of_pairs,
        _NO_PAIRS,
    ),
    "ensembles": FigureKind(
        "ensembles",
        "correlation of the mean of 1 to K raters with a truth",
        {"truth": "truth", "stat": "statistic", "level": "level"},
        "mean",
    ),
    "runs": FigureKind(
        "runs",
        "agreement of each run with a truth, in time order",
        {"truth": "truth", "stat": "statistic"},
        "value",
    ),
    "calibration": FigureKind(
        "calibration",
        "how often a judge is right at each confidence",
        {"rater": "rater", "truth": "truth", "method": "method", "stage": "confidence"},
        "accuracy",
    ),
    "label-shares": FigureKind(
        "label shares",
        "labels of each system as stacked bars",
        {"rater": "judged by"},
        "share",
        _of_labels,
        _NO_LABELS,
    ),
    "leaderboard": FigureKind(
        "leaderboard",
        "systems ranked, with intervals",
        {"rater": "judged by", "method": "ranking"},
        "score",
    ),
    "trend": FigureKind(
        "trend",
        "how each system is judged over time",
        {"rater": "judged by", "over": "by"},
        "value",
    ),
    "flags": FigureKind(
        "flags",
        "what is flagged in the lists of each system",
        {"rater": "flagged by", "of": "share of", "show": "as"},
        "share",
        _of_lists,
        _NO_LISTS,
    ),
}


def figure_kind(name: str) -> FigureKind:
    """Raises UsageError for an unknown figure."""
    if name not in FIGURES:
        raise UsageError(f"no figure “{name}”", f"Available: {', '.join(FIGURES)}.")
    return FIGURES[name]
