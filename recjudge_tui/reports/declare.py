"""Every report, declared once: the command with its help, the notebook's method, the section of the HTML report, the app's
tab and the docs' table follow from the declaration. Loads nothing heavy: a report's module is imported when it is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from recjudge_tui.domain.options import (
    ASPECT,
    BY,
    CASES,
    FINE,
    OCCASIONS,
    PROTOCOL,
    RATER,
    RATERS,
    READERS,
    SYSTEMS,
    TRUTH,
    Option,
)
from recjudge_tui.errors import UsageError
from recjudge_tui.stats.defaults import TOP_K
from recjudge_tui.stats.registry import MANY_RATERS, STATISTICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from recjudge_tui.domain.selection import CaseSelection, Selection
    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.page import Page
    from recjudge_tui.reports.common.table import Table

Section = Literal["Results", "Judge", "People", "Data", "Operate"]


@dataclass(frozen=True)
class Report:
    """A report: `place` is its function, `module:name` under `recjudge_tui.reports`, called with the project and `Options`.

    name: the command's, with its group (`robustness position`). summary: the first sentence of its help; `about` follows.
    own_by: values of --by that the function handles itself; for the others the report is made once for each group.
    of_lists: its groups are of lists, not of cases. words: what a user would type to find it.
    """

    name: str
    summary: str
    place: str
    options: tuple[Option, ...]
    about: str = ""
    examples: tuple[str, ...] = ()
    section: Section = "Results"
    own_by: tuple[str, ...] = ()
    of_lists: bool = False
    words: str = ""

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if option.name == name), None)


class Options(Mapping[str, Any]):
    """The values of a report's options: `choose.k`, and what they select: `choose.selection()`."""

    def __init__(self, values: Mapping[str, Any], cases: CaseSelection) -> None:
        self._values, self.cases = dict(values), cases

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def but(self, **changes: Any) -> Options:
        """The same options with some of them changed."""
        return Options(self._values | changes, self.cases)

    def selection(self, **changes: Any) -> Selection:
        """What the options select; `changes` are fields of a Selection that stand above them."""
        from recjudge_tui.domain.selection import Selection

        given = self._values.get
        rater = given("rater")
        chosen = Selection(
            given("protocol") or None,
            given("aspect"),
            (*((rater,) if rater else ()), *(given("raters") or ())),
            bool(given("readers")),
            tuple(given("crowd") or ()),
            self.cases,
            bool(given("fine")),
        )
        return replace(chosen, **changes)


def make(project: Project, report: str | Report, **given: Any) -> Table | Page | str:
    """A report with these options, the others at their defaults, from one state of the file.

    Raises UsageError for an option that the report lacks or a value that does not fit it, NotFoundError for an unknown
    context or system, and whatever the report raises.
    """
    from recjudge_tui.domain.selection import CaseSelection
    from recjudge_tui.reports.common.segments import segmented

    declared = REPORTS[report] if isinstance(report, str) else report
    values = checked(declared, given)
    build = _function(declared.place)
    by = values.get("by")
    if by in declared.own_by:
        by = None
    occasions = _occasions(values)

    def of(cases: CaseSelection) -> Table:
        made: Table = build(project, Options(values, cases))
        return made

    if declared.option("by") is None and declared.option("systems") is None and not occasions:
        with project.one_state():
            return _with_settings(of(CaseSelection()), values)
    chosen = occasions or CaseSelection().occasions
    made = segmented(
        project.db, project.id, of, by=by, occasions=chosen, systems=tuple(values.get("systems") or ()),
        of_lists=declared.of_lists,
    )  # fmt: skip
    return _with_settings(made, values)


def table_of(project: Project, report: str | Report, **given: Any) -> Table:
    """The table of a report that is one; raises as `make`."""
    from recjudge_tui.reports.common.table import Table

    made = make(project, report, **given)
    assert isinstance(made, Table), f"{report} is a page"
    return made


def on_cases(project: Project, report: str, cases: CaseSelection, **given: Any) -> Table:
    """A report with these options on these cases, without its groups and settings: for what is made from its cells."""
    declared = REPORTS[report]
    made: Table = _function(declared.place)(project, Options(checked(declared, given), cases))
    return made


def checked(report: Report, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of the report: the given ones, the others at their defaults. Raises UsageError."""
    known = {option.name: option for option in report.options}
    if unknown := [name for name in given if name not in known]:
        raise UsageError(
            f"{report.name} has no option “{unknown[0]}”", f"Available: {', '.join(known) or 'none'}."
        )
    values = {name: option.default for name, option in known.items()} | dict(given)
    for name, option in known.items():
        value = values[name]
        if value is None or (option.required and value in ("", ())):
            if option.required:
                raise UsageError(f"{report.name} needs {name}", option.help)
            continue
        if option.type is tuple:
            values[name] = (value,) if isinstance(value, str) else tuple(value)
        if option.choices and (wrong := [v for v in _several(values[name]) if v not in option.choices]):
            raise UsageError(
                f"“{wrong[0]}” is no value of {name}", f"Available: {', '.join(option.choices)}."
            )
        if option.type in (int, float) and not _within(value, option.bounds):
            bounds = ", ".join(f"{_WORDS[kind]} {bound:g}" for kind, bound in option.bounds.items())
            raise UsageError(f"{name} is {value}", f"It must be {bounds or 'a number'}.")
    return values


_WORDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _within(value: Any, bounds: Mapping[str, float]) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return False
    inside = {
        "ge": lambda bound: value >= bound,
        "gt": lambda bound: value > bound,
        "le": lambda bound: value <= bound,
        "lt": lambda bound: value < bound,
    }
    return all(inside[kind](bound) for kind, bound in bounds.items())


def _function(place: str) -> Callable[[Project, Options], Any]:
    module, _, name = place.partition(":")
    function: Callable[[Project, Options], Any] = getattr(
        import_module(f"recjudge_tui.reports.{module}"), name
    )
    return function


def _occasions(values: Mapping[str, Any]) -> Any:
    """The occasions that the options name; None where they name none."""
    named = [values.get(option.name) for option in OCCASIONS]
    if not any(named):
        return None
    from recjudge_tui.domain.occasions import occasion_filter

    return occasion_filter(named[0] or (), named[1] or "", named[2] or "")


# what a table's settings say in their own form
_SAID_ELSEWHERE = frozenset({"systems", "by", *(option.name for option in OCCASIONS)})


def _with_settings(made: Table | Page | str, values: Mapping[str, Any]) -> Table | Page | str:
    """A table with the values of its report's options among its settings."""
    from recjudge_tui.reports.common.table import Table

    if not isinstance(made, Table):
        return made
    plain = {
        name: list(v) if isinstance(v, tuple) else v
        for name, v in values.items()
        if name not in _SAID_ELSEWHERE
    }
    plain = {name: value for name, value in plain.items() if value not in (None, "", [], False)}
    return replace(made, settings={**plain, **made.settings})


K = Option("k", int, "How many items of a list count.", TOP_K, {"ge": 1}, flag="--k")
CROWD = Option(
    "crowd", tuple, "One board from the verdicts of these raters, or of all annotators: users and raters are clusters of the"
    " intervals.", (), flag="--crowd", metavar="A,B,...|all", completes="raters",
)  # fmt: skip

_DECLARED = (
    Report(
        "leaderboard", "Rank the systems by wins, Q, ratings, means or shares of labels.", "boards:leaderboard",
        (
            PROTOCOL.but(required=True), RATER, RATERS, READERS, CROWD, ASPECT, FINE,
            Option(
                "method", str,
                "winrate, q or bt for pairs of lists (default winrate); share or mean for single lists and texts (default"
                " share, for absolute and explanation mean).",
                "", flag="--method", metavar="NAME",
            ),
            Option(
                "table", str,
                "For pairs of lists also matrix: Q of each system against each other; metrics: Q against offline metrics;"
                " side-by-side: absolute scores, Q and AUC; pairs: each two systems with their test.",
                "ranking", choices=("ranking", "matrix", "metrics", "side-by-side", "pairs"), flag="--table",
            ),
            Option(
                "count_ties", str, "How a win rate counts a tie: as a win of both, as half a win of each, or not at all.",
                "half", choices=("win", "half", "none"), flag="--count-ties",
            ),
            Option(
                "ties", str, "How bt counts a tie: by Davidson's model, or as half a win of each.", "davidson",
                choices=("davidson", "half"), flag="--ties",
            ),
            K.but(help=f"Cutoff of the offline metrics of --table metrics.  [default: {TOP_K}]", default=None),
            *CASES,
        ),
        about="Ties include position ties (the two orders disagreed); failed verdicts are not part of n. A rank range holds"
        " the ranks that a test cannot rule out. bt is the Bradley-Terry model: 400 points are odds of 10:1, the mean is"
        " 1000.",
        examples=(
            "leaderboard -p movies --protocol pairwise",
            "leaderboard -p movies --protocol arena --method bt --ties half",
            "leaderboard -p movies --protocol arena --aspect overall --table matrix",
            "leaderboard -p movies --protocol pointwise --raters rules,anna --format md",
            "leaderboard -p movies --protocol pairwise --crowd all --method bt",
            "leaderboard -p films --protocol explanation --table pairs",
            "leaderboard -p shop --protocol pairwise --by segment --context home --from 2024-05-01 --to 2024-05-31",
        ),
        words="ranking rank win rate q bradley terry who wins",
    ),
    Report(
        "agreement", "Show how well raters agree on the cases that both judged.", "agreement:agreement",
        (
            PROTOCOL.but(help="pointwise, pairwise, ...; arena is compared with people's pairwise labels."), ASPECT,
            RATERS, READERS, TRUTH,
            Option(
                "stats", tuple,
                f"{', '.join(STATISTICS)}; all. Default: qwk and percent, and concurrence for pairs against people; pearson"
                " and spearman for scores without labels and for metrics.",
                (), flag="--stat", metavar="NAME,...",
            ),
            Option(
                "levels", tuple,
                "dataset; user, pair: the mean over users, over user-item pairs; system: the order of the systems by one rater"
                " and by the other.",
                ("dataset",), choices=("dataset", "user", "pair", "system"), flag="--level", metavar="NAME,...",
            ),
            Option(
                "missing_truth", float, "Use this value where the truth is missing.", flag="--missing-truth", metavar="X",
            ),
            Option(
                "missing_judge", float, "Use this value where a verdict failed.", flag="--missing-judge", metavar="X",
            ),
            Option(
                "as_published", bool, "As Zhang et al. count explanations: a missing truth as 3, a failed verdict as 0.",
                False, flag="--as-published",
            ),
            Option(
                "confusion", bool, "Show how often the raters gave each combination of labels, with shares.", False,
                flag="--confusion",
            ),
            Option(
                "by_label", bool, "Show precision, recall and F1 of each label, the rater in the column Against as the"
                " reference, and their averages.", False, flag="--by-label",
            ),
            Option(
                "together", bool, "Show how well all people, or all of --raters, agree as a group, even if not everyone judged"
                f" every case. --stat: {', '.join(MANY_RATERS)}; all.", False, flag="--together",
            ),
            Option(
                "ensembles", bool, "Compare the mean of every subset of 1 to K raters (at most 15) with --truth: lowest, mean"
                " and highest correlation by size, the best and the worst set.", False, flag="--ensembles",
            ),
            Option(
                "benchmark", bool, "Compare one judge with people, as SAER reports it. --raters names the judge and the"
                " annotators, --truth their consensus on lists and on pairs (A,B). Default: those in the data.", False,
                flag="--benchmark",
            ),
            FINE, *CASES[:1], BY.but(help=f"system: one row for each system or pair of systems. {BY.help}"), *OCCASIONS,
        ),
        about="Missing and failed verdicts are left out and counted. “people” is the human ceiling: the same statistic"
        " between people. Intervals are over users.",
        examples=(
            "agreement -p movies --protocol pointwise --raters rules,anna,ben",
            "agreement -p movies --truth user --stat pearson --level dataset,user,system",
            "agreement -p movies --truth user --stat pearson --as-published",
            "agreement -p movies --truth user --raters qwen,llama,rules --ensembles",
            "agreement -p shop --protocol pointwise --by segment --context home",
            "agreement -p shop --truth people --raters qwen --by-label",
            "agreement -p shop --together --stat alpha_ordinal,ac1",
            "agreement -p movies --benchmark --raters rules,anna,ben --truth people,people-pairs",
        ),
        own_by=("system",),
        words="kappa correlation human ceiling people confusion trust",
    ),
    Report(
        "flags", "Show which issues are flagged in each system's lists.", "flags:flags",
        (
            PROTOCOL.but(help="Only this protocol, such as pointwise. Default: all that judge single lists."),
            RATERS.but(help="Only these raters. Default: all that were asked for flags."),
            Option(
                "of", str, "What a share counts: lists with a flag, or flagged items among those shown.", "lists",
                choices=("lists", "items"), flag="--of",
            ),
            Option(
                "issue", str,
                "Only this kind of issue; “any” counts all kinds together. Default: “any” and each kind; by rank, “any”.",
                flag="--issue", metavar="NAME",
            ),
            Option(
                "agreement", bool,
                "How often raters flag the same items: precision, recall, F1, kappa, and the same issue.", False,
                flag="--agreement",
            ),
            TRUTH.but(help="--agreement: compare everyone with this rater."),
            SYSTEMS,
            BY.but(help=f"“system” (the default); “rank”: the share of items at each place of the lists. {BY.help}"),
            *OCCASIONS,
        ),
        about="By rater, and beside people: by kind of issue the share of lists, of items, or of the items at each rank,"
        " with 95 % intervals over users. Failed verdicts are not part of n. With --agreement: which items two raters flag,"
        " and for which issue.",
        examples=(
            "flags -p shop",
            "flags -p shop --of items --raters rules,anna --by segment",
            "flags -p shop --by rank --issue off-category",
            "flags -p shop --agreement --truth anna --format json",
        ),
        own_by=("system", "rank"),
        words="flagged issues items wrong",
    ),
    Report(
        "biases", "Show whether raters favour longer, more popular or more uniform lists and texts.", "biases:biases",
        (
            RATER.but(help="Only this rater. Default: all but metrics."),
            Option(
                "truth", tuple, "Also the slope beyond this rater's, on the same cases; of several (A,B) beyond their mean.", (),
                flag="--truth", metavar="T", completes="raters",
            ),
            PROTOCOL.but(help="pointwise, pairwise, ... Default: all."),
            ASPECT.but(help="Only this aspect. Default: overall, of texts all."),
            K,
        ),
        about="Each row is the slope of a rating on one covariate within users: how many points the rating rises with one"
        " standard deviation more. With --truth also the slope beyond the truth's, as the semantic-similarity bias of SAER (Liu"
        " et al., SIGIR 2026) and length-controlled judging (Dubois et al. 2024) ask for.",
        examples=("biases -p movies --rater rules --truth people", "biases -p movies --protocol pairwise"),
        words="length popularity homogeneity diversity bias slope verbosity",
    ),
    Report(
        "metrics", "Show offline metrics against held-out events.", "metrics:metrics",
        (
            K,
            Option(
                "metrics", tuple,
                "Only these metrics, in this order. Default: all but title_ild, near_duplicates, category_coverage.", (),
                flag="--metrics", metavar="A,B,...",
            ),
            Option(
                "table", str, "pairs: the difference of each two systems, with its test.", "means",
                choices=("means", "pairs"), flag="--table",
            ),
            Option(
                "relevant_from", float,
                "An event is relevant if its value is at least X; one without a value is. Default: judged above 0 (qrels),"
                " or above 0 and at least the user's mean.",
                flag="--relevant-from", metavar="X",
            ),
            Option(
                "gain", str,
                "The gain of ndcg: linear, the held-out value, or exp, 2^value - 1. Default: 1 for a relevant item.",
                choices=("linear", "exp"), flag="--gain",
            ),
            *CASES,
        ),
        about="One row per system and metric, with intervals over users. MAP divides by all relevant items, map_min by at"
        " most K of them. AUC uses all scored candidates of the file, regardless of K. Two systems are compared by sign"
        " flips of the users' means, with Holm's correction over the pairs of one metric.",
        examples=(
            "metrics -p movies --k 10",
            "metrics -p movies --metrics auc,ndcg --format csv -o metrics.csv",
            "metrics -p movies --metrics ndcg --table pairs",
            "metrics -p trec --metrics ndcg,map,err --relevant-from 2 --gain exp",
            "metrics -p shop --metrics ndcg --by activity --from 2024-05-01",
        ),
        of_lists=True,
        words="offline ndcg recall auc diversity coverage held-out",
    ),
)  # fmt: skip
REPORTS: dict[str, Report] = {report.name: report for report in _DECLARED}
