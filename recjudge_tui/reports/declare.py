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
    CASES,
    OCCASIONS,
    PROTOCOL,
    RATER,
    RATERS,
    READERS,
    Option,
)
from recjudge_tui.errors import UsageError
from recjudge_tui.stats.defaults import TOP_K

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
BY_SYSTEM = Option(
    "by_system", bool, "Add a row for each system whose lists were used.", False, flag="--by-system"
)

_DECLARED = (
    Report(
        "leaderboard", "Rank the systems by wins, Q, ratings, means or shares of labels.", "boards:leaderboard",
        (
            PROTOCOL.but(required=True), RATER, RATERS, READERS, CROWD, ASPECT,
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
        "robustness position", "Measure the effect of list order: consistency, both kinds of ties, the favoured set.",
        "robustness:position",
        (
            PROTOCOL.but(default="pairwise", help="The protocol whose answers are counted: pairwise or arena."),
            ASPECT, RATER.but(help="Only this judge."),
            Option(
                "quality", str, "The rater whose pointwise ratings define the quality gap. Default: the judge's own.",
                flag="--quality", metavar="R", completes="rater",
            ),
            Option("gap", bool, "Leave out the rows by quality gap.", True, flag="--no-gap"),
            Option(
                "counts", bool,
                "Wins, ties and losses of single calls (two per pair) beside those of adjudicated verdicts.", False,
                flag="--counts",
            ),
        ),
        about="One row per judge, aspect and pair of systems (SAER; Liu et al., SIGIR 2026), then one per quality gap:"
        " how far apart the two lists are rated pointwise (Good 2, Partial 1, Poor 0), since position matters"
        " most where the gap is small. Intervals are over users. A judge that is named is asked first, in both"
        " orders.",
        examples=(
            "robustness position -p movies",
            "robustness position -p movies --protocol arena --aspect satisfaction",
            "robustness position -p movies --rater rules --counts",
            "robustness position -p movies --judge ollama:llama3.1:8b --sample 100",
        ),
        section="Judge", words="order bias first list swap consistency position",
    ),
    Report(
        "robustness adversarial", "Test whether a judge can tell a user's own list from one made for somebody else.",
        "robustness:adversarial",
        (
            RATER.but(help="Show all raters on the pairs that R judged. Default with --judge: that judge."), BY_SYSTEM,
        ),
        about="The judge compares a user's own list with another user's list by the same system, in one call per pair,"
        " without knowing which is which (SAER; Liu et al., SIGIR 2026). The order is random and recorded. N"
        " users are drawn, equally many from each system, and each gives two pairs: one as published, and one in"
        " which the foreign list contains no item that the user already has, since such items give it away; both"
        " lists are cut to equal length.\n\nTo compare people, import their labels for the lists foreign:SYSTEM"
        " and own:SYSTEM (foreign-unseen:, own-unseen:) of a user. The same seed draws the same pairs."
        " Leaderboards and agreement leave them out.",
        examples=(
            "robustness adversarial -p movies --judge rules",
            "robustness adversarial -p movies --judge ollama:llama3.1:8b --sample 50 --by-system",
            "robustness adversarial -p movies --rater rules",
        ),
        section="Judge", words="foreign list somebody else own list detection",
    ),
    Report(
        "robustness ablation", "Compare prompts on the same adversarial pairs: accuracy and cost.", "robustness:ablation",
        (RATERS.but(help="Compare these raters, who have already judged the pairs; no judge is asked."),),
        about="The answers to each prompt belong to a rater called “JUDGE PROMPT”. Two prompts are compared on the"
        " pairs answered with both: the difference of the shares correct with its interval over users, and its"
        " test by sign flips of the users' means, Holm-adjusted. In the paper (Liu et al., SIGIR 2026), the"
        " three prompts got 74, 88 and 91 % of the pairs right. A budget applies to each prompt.",
        examples=(
            "robustness ablation -p movies --judge ollama:llama3.1:8b --prompts generic,overspecified,saer",
            'robustness ablation -p movies --raters "ollama:llama3.1:8b generic,ollama:llama3.1:8b saer"',
        ),
        section="Judge", words="prompts compare generic overspecified rubric",
    ),
    Report(
        "robustness injected", "Plant known faults into real lists, and measure how many a judge finds.",
        "planted_faults:injected",
        (
            RATER.but(help="Show all raters on the lists that R judged. Default with --judge: that judge."), BY_SYSTEM,
        ),
        about="N users are drawn, equally many from each system. For each user, one fault of every kind that the"
        " user's history allows is planted at a random rank, each in a separate copy of the list: a variant of"
        " another item, an item the user has, a refill that comes too early, a second durable good, an item that"
        " is off-category. The judge sees each copy as an ordinary list. The issues are those of SAER (Liu et"
        " al., SIGIR 2026).\n\nThe built-in rules judge the same lists, as a baseline. The same seed plants the"
        " same faults. Leaderboards, agreement and flags leave these lists out.",
        examples=(
            "robustness injected -p shop --judge rules",
            "robustness injected -p shop --judge ollama:llama3.1:8b --sample 50 --by-system",
            "robustness injected -p shop --rater rules",
        ),
        section="Judge", words="planted faults flags false alarms detection",
    ),
)  # fmt: skip
REPORTS: dict[str, Report] = {report.name: report for report in _DECLARED}
