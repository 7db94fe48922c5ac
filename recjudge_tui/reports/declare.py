"""Every report, declared once: the command with its help, the notebook's method, the section of the HTML report, the app's
tab and the docs' table follow from the declaration. Loads nothing heavy: a report's module is imported when it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Literal

from recjudge_tui.domain.occasions import OVER as PERIODS
from recjudge_tui.domain.occasions import occasion_filter
from recjudge_tui.domain.options import (
    ASPECT,
    BY,
    CASES,
    CONTEXTS,
    FINE,
    OCCASIONS,
    OVER,
    PROTOCOL,
    RATER,
    RATERS,
    READERS,
    SEED,
    SYSTEMS,
    TRUTH,
    WHERE,
    Option,
)
from recjudge_tui.domain.protocols import OVERALL, SAER, offered
from recjudge_tui.domain.selection import CaseSelection, Selection
from recjudge_tui.errors import UsageError
from recjudge_tui.stats.defaults import ALPHA, DIFFERENCES, LEVEL, POWER, TOP_K
from recjudge_tui.stats.registry import MANY_RATERS, STATISTICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from recjudge_tui.project import Project
    from recjudge_tui.reports.common.table import Page, Table

Section = Literal["Results", "Judge", "People", "Data", "Operate"]


@dataclass(frozen=True)
class Report:
    """A report: `place` is its function, `module:name` under `recjudge_tui.reports`, called with the project and
    `Options`. name: the command's, with its group (`robustness position`). summary: the first sentence of its help;
    `about` follows. own_by: values of --by that the function handles itself; for the others the report is made once
    for each group. of_lists: its groups are of lists, not of cases. words: what a user would type to find it.
    written: a function (table, format, whether all is wanted) -> its text in a format of its own, else None; `formats`
    are those beyond the usual ones. ends: a function of the table -> the exit code of the command and a sentence for
    stderr. alone: without a project it is made with None."""

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
    alone: bool = False
    formats: tuple[str, ...] = ()
    written: str = ""
    ends: str = ""

    def option(self, name: str) -> Option | None:
        return next((option for option in self.options if option.name == name), None)


class Options(dict[str, Any]):
    """The values of a report's options: `choose.k`, and what they select: `choose.selection()`."""

    def __init__(self, values: Mapping[str, Any], cases: CaseSelection) -> None:
        super().__init__(values)
        self.cases = cases

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def but(self, **changes: Any) -> Options:
        """The same options with some of them changed."""
        return Options(self | changes, self.cases)

    def selection(self, **changes: Any) -> Selection:
        """What the options select; `changes` are fields of a Selection that stand above them."""
        given = self.get
        rater = given("rater")
        chosen = Selection(
            given("protocol") or None, given("aspect"), (*((rater,) if rater else ()), *(given("raters") or ())),
            bool(given("readers")), tuple(given("crowd") or ()), self.cases, bool(given("fine")),
        )  # fmt: skip
        return replace(chosen, **changes)


def make(project: Project | None, report: str | Report, **given: Any) -> Table | Page | str:
    """A report with these options, the others at their defaults, from one state of the file; without a project if it
    can. Raises UsageError for an option that the report lacks or a value that does not fit it, NotFoundError for an
    unknown context or system, and whatever the report raises."""
    from recjudge_tui.reports.common.segments import segmented

    declared = REPORTS[report] if isinstance(report, str) else report
    if project is not None and not given.get("protocol"):
        given |= _only_protocol(project, declared)
    values = checked(declared, given)
    build = function(declared.place)
    if project is None:
        assert declared.alone, f"{declared.name} needs a project"
        return _with_settings(declared, build(None, Options(values, CaseSelection())), values)
    by = None if values.get("by") in declared.own_by else values.get("by")
    over = values.get("over") if declared.option("by") else None
    made = segmented(
        project, lambda cases: build(project, Options(values, cases)), _cases(project, declared, values),
        where=values.get("where") or "", by=by, over=over, of_lists=declared.of_lists,
    )  # fmt: skip
    return _with_settings(declared, made, values)


def undivided(project: Project, report: Report, **given: Any) -> Options:
    """The options of a report about everything that they select, whether or not it is to be split into groups."""
    values = checked(report, given)
    return Options(values, _cases(project, report, values))


def _only_protocol(project: Project, declared: Report) -> dict[str, str]:
    """The protocol that a report needs, where verdicts of only one are there. Raises UsageError for several."""
    needed = declared.option("protocol")
    if needed is None or not needed.required:
        return {}
    from recjudge_tui.store.ratings import project_questions

    judged = {question.protocol for question in project_questions(project.db, project.id)}
    found = [name for name in offered() if name in judged]
    if len(found) > 1:
        raise UsageError(f"{declared.name} needs a protocol", f"There are verdicts of {', '.join(found)}.")
    return {"protocol": found[0]} if found else {}


def table_of(project: Project, report: str | Report, **given: Any) -> Table:
    """The table of a report that is one; raises as `make`."""
    from recjudge_tui.reports.common.table import Table

    made = make(project, report, **given)
    assert isinstance(made, Table), f"{report} is a page"
    return made


def on_cases(project: Project, report: str, cases: CaseSelection, **given: Any) -> Table:
    """A report with these options on these cases, without its groups and settings: for what is made from its cells."""
    declared = REPORTS[report]
    made: Table = function(declared.place)(project, Options(checked(declared, given), cases))
    return made


def checked(report: Report, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of the report: the given ones, the others at their defaults. Raises UsageError."""
    known = {option.name: option for option in report.options}
    if unknown := [name for name in given if name not in known]:
        there = f"Available: {', '.join(known) or 'none'}."
        raise UsageError(f"{report.name} has no option “{unknown[0]}”", there)
    values = {name: option.default for name, option in known.items()} | dict(given)
    for name, option in known.items():
        value = values[name]
        if value is None or (option.required and value in ("", ())):
            if option.required:
                raise UsageError(f"{report.name} needs {name}", option.help)
            continue
        if option.type is tuple:
            values[name] = (value,) if isinstance(value, str) else tuple(value)
        several = values[name] if isinstance(values[name], tuple) else (values[name],)
        if option.choices and (wrong := [v for v in several if v not in option.choices]):
            there = f"Available: {', '.join(option.choices)}."
            raise UsageError(f"“{wrong[0]}” is no value of {name}", there)
        if option.type in (int, float):
            number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
            if not number or not all(_BOUNDS[kind][1](value, end) for kind, end in option.bounds.items()):
                bounds = ", ".join(f"{_BOUNDS[kind][0]} {end:g}" for kind, end in option.bounds.items())
                raise UsageError(f"{name} is {value}", f"It must be {bounds or 'a number'}.")
    return values


_BOUNDS = {"ge": ("at least", ge), "gt": ("more than", gt), "le": ("at most", le), "lt": ("less than", lt)}


def function(place: str) -> Callable[..., Any]:
    """The function at a place, `module:name` under `recjudge_tui.reports`."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"recjudge_tui.reports.{module}"), name)
    return found


def _cases(project: Project, report: Report, values: Mapping[str, Any]) -> CaseSelection:
    """The occasions, systems and users that the options name. Raises UsageError for users that do not exist."""
    from recjudge_tui.store.data import users_where

    context, start, to = (values[option.name] if option in report.options else None for option in OCCASIONS)
    systems = tuple(values["systems"] or ()) if SYSTEMS in report.options else ()
    users = users_where(project.db, project.id, values["where"]) if values.get("where") else None
    return CaseSelection(occasion_filter(context or (), start or "", to or ""), systems=systems, users=users)


def _with_settings(report: Report, made: Table | Page | str, values: Mapping[str, Any]) -> Table | Page | str:
    """A table with the values of its report's options among its settings, but for those that these say in their own form."""
    from recjudge_tui.reports.common.table import Table

    if not isinstance(made, Table):
        return made
    others = {option.name for option in (SYSTEMS, *OCCASIONS) if option in report.options}
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items() if name not in others}
    others |= {"by", "over", "where"}
    kept = {n: v for n, v in plain.items() if n not in others and v not in (None, "", [], False)}
    return replace(made, settings=kept | {**made.settings})


def own(name: str, kind: type, text: str, default: Any = None, bounds: Any = (), **more: Any) -> Option:
    """An option of one report, on the command line under its own name; by default off, or none."""
    usual: Any = False if kind is bool else () if kind is tuple else None
    more = {"flag": f"--{name.rstrip('_').replace('_', '-')}"} | more
    return Option(name, kind, text, usual if default is None else default, dict(bounds), **more)


K = own("k", int, "How many items of a list count.", TOP_K, {"ge": 1})
CROWD = own("crowd", tuple, "One board from the verdicts of these raters, or of all annotators: users and raters are"
            " clusters of the intervals.", metavar="A,B,...|all")  # fmt: skip
BY_SYSTEM = own("by_system", bool, "Add a row for each system whose lists were used.")
LIMIT = own("limit", int, "Show only the first N.", None, {"ge": 1}, metavar="N")
_SHARE = {"ge": 0.0, "le": 1.0}

_LISTINGS: tuple[tuple[str, str, str, Section], ...] = (
    ("imports list", "List the imports of a project, newest first.", "imports", "Data"),
    ("rater list", "List the raters of a project, what they judged and how they were asked.", "raters", "People"),
    ("runs settings", "Show how each run was asked: judge, served model, prompt and settings.", "run_settings", "Judge"),
    ("runs failures", "Show why calls failed, by run and kind of failure.", "failures", "Judge"),
)  # fmt: skip

_DECLARED = (
    Report(
        "leaderboard", "Rank the systems by wins, Q, ratings, means or shares of labels.", "leaderboard:leaderboard",
        (
            PROTOCOL.but(required=True), RATER, RATERS, READERS, CROWD, ASPECT, FINE,
            own("method", str, "winrate, q or bt for pairs of lists (default winrate); share or mean for single"
                " lists and texts (default share, for absolute and explanation mean).", "", metavar="NAME"),
            own("table", str, "For pairs of lists also matrix: Q of each system against each other; metrics: Q"
                " against offline metrics; side-by-side: absolute scores, Q and AUC; pairs: each two systems with"
                " their test.", "ranking", choices=("ranking", "matrix", "metrics", "side-by-side", "pairs")),
            own("count_ties", str, "How a win rate counts a tie: as a win of both, as half a win of each, or not at all.",
                "half", choices=("win", "half", "none")),
            own("ties", str, "How bt counts a tie: by Davidson's model, or as half a win of each.", "davidson",
                choices=("davidson", "half")),
            K.but(help=f"Cutoff of the offline metrics of --table metrics.  [default: {TOP_K}]", default=None),
            own("control", tuple, "Ratings (bt) with these held equal: length (number of items and length of titles; of"
                " texts their words), popularity, position (the place shown), similarity (of a list's items).",
                metavar="NAME,..."),
            own("slices", bool, "Where one of two systems does better or worse than elsewhere: by every attribute of users,"
                " context, activity, and statistic of the lists."),
            *CASES,
        ),
        about="Ties include position ties (the two orders disagreed); failed verdicts are not part of n. A rank"
        " range holds the ranks that a test cannot rule out. bt is the Bradley-Terry model: 400 points are odds of"
        " 10:1, the mean is 1000.",
        examples=(
            "leaderboard -p movies --protocol pairwise",
            "leaderboard -p movies --protocol arena --method bt --ties half",
            "leaderboard -p movies --protocol arena --aspect overall --table matrix",
            "leaderboard -p movies --protocol pairwise --control length,popularity,position",
            "leaderboard -p movies --protocol pairwise --systems new,old --slices",
            "leaderboard -p shop --protocol pairwise --by segment --context home --from 2024-05-01 --to 2024-05-31",
        ),
        words="ranking rank win rate q bradley terry who wins",
    ),
    Report(
        "why", "Show the words of a rater's reasons that go with either of two systems.", "why:why",
        (
            SYSTEMS, RATER.but(help="Whose reasons: a judge, or a person with notes. Default: the only one who gave any."),
            PROTOCOL.but(help="Default: the one with reasons, pairs of lists first."),
            ASPECT.but(help="Only the reasons about this aspect. Default: overall."),
            own("against", str, "The words where the rater agrees with this one, and where it parts from it; “people”: all"
                " of them together.", metavar="R"),
            WHERE, BY, OVER, *OCCASIONS,
        ),
        about="Name the two systems where there are more. Words and phrases of up to three words, each with the users"
        " whose reasons use it and favour that side, and those whose reasons use it and favour the other. The log-odds"
        " are those of Monroe, Colaresi and Quinn (2008), the test is Fisher's over users, corrected for all phrases"
        " tried (Benjamini and Hochberg). Lists named by their place are mapped back to their systems; names of systems"
        " and titles of items are left out. What the rater flags in the lists, and its other aspects, stand beside."
        "\n\n--judge: a judge names at most 12 themes from batches of reasons, merges them once, then says of each reason"
        " which themes it uses and for which system; up to 100 are asked twice. They stay in the project and in this table.",
        examples=("why -p movies --systems new,old", "why -p movies --systems new,old --rater qwen --against people",
            "why -p movies --systems new,old --rater qwen --judge ollama:llama3.1:8b",
        ),
        words="why reasons reasoning words themes explain because",
    ),
    Report(
        "robustness position", "Measure the effect of list order: consistency, both kinds of ties, the favoured set.",
        "robustness:position",
        (
            PROTOCOL.but(default="pairwise", help="The protocol whose answers are counted: pairwise or arena."),
            ASPECT, RATER.but(help="Only this judge."),
            own("quality", str, "The rater whose pointwise ratings define the quality gap. Default: the judge's own.",
                metavar="R"),
            own("gap", bool, "Leave out the rows by quality gap.", True, flag="--no-gap"),
            own("counts", bool,
                "Wins, ties and losses of single calls (two per pair) beside those of adjudicated verdicts."),
            WHERE,
        ),
        about="One row per judge, aspect and pair of systems (SAER; Liu et al., SIGIR 2026), then one per quality"
        " gap: how far apart the two lists are rated pointwise (Good 2, Partial 1, Poor 0), since position matters"
        " most where the gap is small. Intervals are over users. A judge that is named is asked first, in both"
        " orders.",
        examples=(
            "robustness position -p movies", "robustness position -p movies --protocol arena --aspect satisfaction",
            "robustness position -p movies --rater rules --counts",
            "robustness position -p movies --judge ollama:llama3.1:8b --sample 100",
        ),
        section="Judge", words="order bias first list swap consistency position",
    ),
    Report(
        "robustness adversarial", "Test whether a judge can tell a user's own list from one made for somebody else.",
        "robustness:adversarial",
        (
            RATER.but(help="Show all raters on the pairs that R judged. Default with --judge: that judge."),
            BY_SYSTEM, WHERE,
        ),
        about="The judge compares a user's own list with another user's list by the same system, in one call per"
        " pair, without knowing which is which (SAER; Liu et al., SIGIR 2026). The order is random and recorded. N"
        " users are drawn, equally many from each system, and each gives two pairs: one as published, and one in"
        " which the foreign list contains no item that the user already has, since such items give it away; both"
        " lists are cut to equal length.\n\nTo compare people, import their labels for the lists foreign:SYSTEM and"
        " own:SYSTEM (foreign-unseen:, own-unseen:) of a user. The same seed draws the same pairs. Leaderboards and"
        " agreement leave them out.",
        examples=(
            "robustness adversarial -p movies --judge rules",
            "robustness adversarial -p movies --judge ollama:llama3.1:8b --sample 50 --by-system",
            "robustness adversarial -p movies --rater rules",
        ),
        section="Judge", words="foreign list somebody else own list detection",
    ),
    Report(
        "robustness ablation", "Compare prompts on the same adversarial pairs: accuracy and cost.", "robustness:ablation",
        (RATERS.but(help="Compare these raters, who have already judged the pairs; no judge is asked."), WHERE),
        about="The answers to each prompt belong to a rater called “JUDGE PROMPT”. Two prompts are compared on the"
        " pairs answered with both: the difference of the shares correct with its interval over users, and its test"
        " by sign flips of the users' means, Holm-adjusted. In the paper (Liu et al., SIGIR 2026), the three prompts"
        " got 74, 88 and 91 % of the pairs right. A budget applies to each prompt.",
        examples=(
            "robustness ablation -p movies --judge ollama:llama3.1:8b --prompts generic,overspecified,saer",
            'robustness ablation -p movies --raters "ollama:llama3.1:8b generic,ollama:llama3.1:8b saer"',
        ),
        section="Judge", words="prompts compare generic overspecified rubric",
    ),
    Report(
        "robustness injected", "Plant known faults into real lists, and measure how many a judge finds.",
        "robustness:injected",
        (
            RATER.but(help="Show all raters on the lists that R judged. Default with --judge: that judge."),
            BY_SYSTEM, WHERE,
        ),
        about="N users are drawn, equally many from each system. For each user, one fault of every kind that the"
        " user's history allows is planted at a random rank, each in a separate copy of the list: a variant of"
        " another item, an item the user has, a refill that comes too early, a second durable good, an item that is"
        " off-category. The judge sees each copy as an ordinary list. The issues are those of SAER (Liu et al.,"
        " SIGIR 2026).\n\nThe built-in rules judge the same lists, as a baseline. The same seed plants the same"
        " faults. Leaderboards, agreement and flags leave these lists out.",
        examples=(
            "robustness injected -p shop --judge rules",
            "robustness injected -p shop --judge ollama:llama3.1:8b --sample 50 --by-system",
            "robustness injected -p shop --rater rules",
        ),
        section="Judge", words="planted faults flags false alarms detection",
    ),
    Report(
        "compare", "Show what changed between two raters, case by case. The two may be runs, prompts, judges or people.",
        "changes:compare",
        (
            *(Option(name, str, "A rater, or run:ID for the verdicts of one run.", metavar=metavar, argument=True,
                     required=True) for name, metavar in (("first", "RATER_A"), ("second", "RATER_B"))),
            PROTOCOL.but(help="pointwise, pairwise, ... Default: all that both judged."),
            ASPECT,
            TRUTH.but(help="Count the changes towards this rater and away from it. Default: the people with the most"
                " labels on these cases."),
            BY.but(help=f"“system”: one row for each system or pair of systems. {BY.help}"),
            OVER,
            own("table", str, "summary: how many verdicts changed, in which direction, and a test; transitions: how"
                " often each label became each other label; cases: each case that changed.", "summary",
                choices=("summary", "transitions", "cases")),
            WHERE, *OCCASIONS,
        ),
        about="“Up” means milder for labels, towards A for pairs, higher for scores. The test is McNemar's exact"
        " test for two labels and Stuart and Maxwell's for more; for scores, and where users have several cases, the"
        " signs of the users' mean changes are flipped. The 95 % interval of the mean difference is over users.",
        examples=(
            "compare -p movies rules-v1 rules-v2",
            "compare -p movies run:14 run:15 --table cases --format csv -o changed.csv",
            "compare -p shop rules anna --context home --from 2024-05-01",
        ),
        own_by=("system",),
        words="change changed transitions before after prompt diff versions two raters",
    ),
    Report(
        "agreement", "Show how well raters agree on the cases that both judged.", "agreement:agreement",
        (
            PROTOCOL.but(help="pointwise, pairwise, ...; arena is compared with people's pairwise labels."),
            ASPECT, RATERS, READERS, TRUTH,
            own("stat", tuple,
                f"{', '.join(STATISTICS)}; all. Default: qwk and percent, and concurrence for pairs against people; pearson"
                " and spearman for scores without labels and for metrics.", metavar="NAME,..."),
            own("level", tuple, "dataset; user, pair: the mean over users, over user-item pairs; system: the order"
                " of the systems by one rater and by the other.", ("dataset",),
                choices=("dataset", "user", "pair", "system"), metavar="NAME,..."),
            own("missing_truth", float, "Use this value where the truth is missing.", metavar="X"),
            own("missing_judge", float, "Use this value where a verdict failed.", metavar="X"),
            own("as_published", bool, "As Zhang et al. count explanations: a missing truth as 3, a failed verdict as 0."),
            own("confusion", bool, "Show how often the raters gave each combination of labels, with shares."),
            own("by_label", bool, "Show precision, recall and F1 of each label, the rater in the column Against as"
                " the reference, and their averages."),
            own("together", bool, "Show how well all people, or all of --raters, agree as a group, even if not everyone"
                f" judged every case. --stat: {', '.join(MANY_RATERS)}; all."),
            own("ensembles", bool, "Compare the mean of every subset of 1 to K raters (at most 15) with --truth:"
                " lowest, mean and highest correlation by size, the best and the worst set."),
            own("benchmark", bool, "Compare one judge with people, as SAER reports it. --raters names the judge and"
                " the annotators, --truth their consensus on lists and on pairs (A,B). Default: those in the data."),
            FINE, *CASES[:1],
            BY.but(help=f"system: one row for each system or pair of systems. {BY.help}"),
            OVER, WHERE, *OCCASIONS,
        ),
        about="Missing and failed verdicts are left out and counted. “people” is the human ceiling: the same"
        " statistic between people. Intervals are over users.",
        examples=(
            "agreement -p movies --protocol pointwise --raters rules,anna,ben",
            "agreement -p movies --truth user --stat pearson --level dataset,user,system",
            "agreement -p movies --truth user --raters qwen,llama,rules --ensembles",
            "agreement -p shop --protocol pointwise --by segment --context home",
            "agreement -p shop --together --stat alpha_ordinal,ac1",
            "agreement -p movies --benchmark --raters rules,anna,ben --truth people,people-pairs",
        ),
        own_by=("system",), words="kappa correlation human ceiling people confusion trust",
    ),
    Report(
        "gate", "Check bounds, and that nothing got worse, in CI.", "gate:gate",
        (
            own("rater", str, "The rater that must meet the bounds, or run:ID for one of its runs.", metavar="R",
                required=True),
            TRUTH.but(help="The rater to measure agreement with."),
            own("at_least", tuple, "NAME: qwk, kappa, percent, ... (as in agreement --stat; needs --truth), win_rate"
                " (needs --systems), failure_rate. Repeatable.", metavar="NAME=X", repeated=True),
            own("at_most", tuple, "An upper bound, written the same way. Repeatable.", metavar="NAME=X",
                repeated=True),
            own("certain", bool, "The whole interval must meet a bound, not only the figure. If some bounds are not"
                " met, the others count as met only after Holm's correction."),
            own("against", str, "The rater of an earlier run, or run:ID: check that nothing got worse. The same"
                " lists are compared case by case, other lists of one occasion with each other, and lists of other"
                " times user by user. Give the rater itself to compare its newest run with the run before, or new"
                " lists with those they replaced.", metavar="R"),
            own("stat", tuple, "With --against: the figures that must not get worse. Default: failure_rate, with"
                " --truth also qwk (pearson for scores without labels), with --systems also win_rate.",
                metavar="NAME,..."),
            own("systems", tuple, "For win_rate: A's rate of wins over B; a tie counts half.", metavar="A,B"),
            PROTOCOL.but(help="Only this protocol; arena is compared with people's pairwise labels."),
            ASPECT.but(help="Only this aspect. Default: all; each must meet the bounds."),
            own("level", float, "Confidence level of the intervals.", LEVEL, {"gt": 0, "lt": 1}, metavar="L"),
            WHERE,
        ),
        about="Exit 0 if every bound is met and nothing got worse, 3 if not, 1 if a change cannot be measured. A"
        " bound on an undefined figure is not met. With --against, a figure got worse if the interval of its change"
        " excludes zero in the bad direction, after Holm's correction for all figures and aspects of the table. The"
        " interval leaves the same users out of both runs (the jackknife; Efron and Stein 1981). The table also"
        " shows which models were served then and now.",
        examples=(
            "gate -p movies --rater qwen --truth people --at-least qwk=0.6 --at-most failure_rate=0.02",
            "gate -p movies --rater qwen-june --against qwen-may --truth people",
            "gate -p movies --rater qwen --systems new,old --at-least win_rate=0.5 --certain",
        ),
        formats=("junit",), written="gate:written", ends="gate:ends",
        words="bound ci regression check served model exit code",
    ),
    Report(
        "passport", "Print one page about a judge: trust, preferences, cost.", "passport:passport",
        (Option("rater", str, "The judge.", metavar="RATER", argument=True, required=True), WHERE),
        about="The page shows agreement with people, position bias, adversarial pairs, consistency when asked again,"
        " failures by reason, preference for long texts and popular items (in total, and beyond people's own),"
        " price, latency, prompts and the served model. For a figure that was not measured, it names the command"
        " that measures it. JSON, CSV and LaTeX contain the same figures as one table with one row per figure.",
        examples=("passport -p movies rules", "passport -p movies ollama:llama3.1:8b -o passport.html"),
        written="passport:page", words="trust calibration confidence reliability of a judge",
    ),
    Report(
        "trend", "Show each system's figures over time.", "trend:trend",
        (
            own("over", str,
                "Days, ISO weeks or months (UTC) in which lists were served, or the imports in which they came.", "day",
                choices=PERIODS),
            own("systems", tuple,
                "Only these systems, and pairs of two of them; with one system, all its pairs. Default: all.",
                flag="--systems,--system", metavar="A,B,..."),
            PROTOCOL.but(help="Only this protocol. Default: all."),
            RATER.but(help="Only this rater. Default: all but metrics."),
            READERS,
            ASPECT.but(help="Only this aspect. Default: overall, where a rater gave it."),
            own("metrics", tuple, "Offline metrics to show; “none” for none. Default: ndcg, where events are held out.",
                metavar="A,B,..."),
            K.but(help="How many items of a list count in metrics."), CONTEXTS,
            own("from_", str, "The first period: 2026-03, 2026-W10, 2026-03-31; by import, its number.", "",
                metavar="PERIOD"),
            own("to", str, "The last period, written the same way.", "", metavar="PERIOD"),
            WHERE,
        ),
        about="The judged figures of each system, with flags, offline metrics and live outcomes. A line compares"
        " like with like: pairs are shown as the win rate of one system against another, and with more than two"
        " systems as ratings (Bradley and Terry's) of the periods in which all of them met; labels as the share of"
        " the best label, scores as their mean. Lists are dated by served_at; those without one are counted and left"
        " out (by import they are shown). Experiments appear on the day their result was recorded. A note marks each"
        " period in which another model or prompt version answered than before.",
        examples=(
            "trend -p shop --over week",
            "trend -p shop --protocol pairwise --systems new,old --format csv -o trend.csv",
        ),
        words="time day week month import drift history over",
    ),
    Report(
        "flags", "Show which issues are flagged in each system's lists.", "flags:flags",
        (
            PROTOCOL.but(help="Only this protocol, such as pointwise. Default: all that judge single lists."),
            RATERS.but(help="Only these raters. Default: all that were asked for flags."),
            own("of", str, "What a share counts: lists with a flag, or flagged items among those shown.", "lists",
                choices=("lists", "items")),
            own("issue", str,
                "Only this kind of issue; “any” counts all kinds together. Default: “any” and each kind; by rank, “any”.",
                metavar="NAME"),
            own("agreement", bool,
                "How often raters flag the same items: precision, recall, F1, kappa, and the same issue."),
            TRUTH.but(help="--agreement: compare everyone with this rater."),
            SYSTEMS,
            BY.but(help=f"“system” (the default); “rank”: the share of items at each place of the lists. {BY.help}"),
            OVER, WHERE, *OCCASIONS,
        ),
        about="By rater, and beside people: by kind of issue the share of lists, of items, or of the items at each"
        " rank, with 95 % intervals over users. Failed verdicts are not part of n. With --agreement: which items two"
        " raters flag, and for which issue.",
        examples=(
            "flags -p shop", "flags -p shop --of items --raters rules,anna --by segment",
            "flags -p shop --by rank --issue off-category", "flags -p shop --agreement --truth anna --format json",
        ),
        own_by=("system", "rank"), words="flagged issues items wrong",
    ),
    Report(
        "biases", "Show whether raters favour longer, more popular or more uniform lists and texts.", "biases:biases",
        (
            RATER.but(help="Only this rater. Default: all but metrics."),
            own("truth", tuple,
                "Also the slope beyond this rater's, on the same cases; of several (A,B) beyond their mean.", metavar="T"),
            PROTOCOL.but(help="pointwise, pairwise, ... Default: all."),
            ASPECT.but(help="Only this aspect. Default: overall, of texts all."),
            K, WHERE,
        ),
        about="Each row is the slope of a rating on one covariate within users: how many points the rating rises"
        " with one standard deviation more. With --truth also the slope beyond the truth's, as the"
        " semantic-similarity bias of SAER (Liu et al., SIGIR 2026) and length-controlled judging (Dubois et al."
        " 2024) ask for.",
        examples=("biases -p movies --rater rules --truth people", "biases -p movies --protocol pairwise"),
        words="length popularity homogeneity diversity bias slope verbosity",
    ),
    Report(
        "metrics", "Show offline metrics against held-out events.", "metrics:metrics",
        (
            K,
            own("metrics", tuple,
                "Only these metrics, in this order. Default: all but title_ild, near_duplicates, category_coverage.",
                metavar="A,B,..."),
            own("table", str, "pairs: the difference of each two systems, with its test.", "means",
                choices=("means", "pairs")),
            own("relevant_from", float, "An event is relevant if its value is at least X; one without a value is."
                " Default: judged above 0 (qrels), or above 0 and at least the user's mean.", metavar="X"),
            own("gain", str,
                "The gain of ndcg: linear, the held-out value, or exp, 2^value - 1. Default: 1 for a relevant item.",
                choices=("linear", "exp")),
            *CASES,
        ),
        about="One row per system and metric, with intervals over users. MAP divides by all relevant items, map_min"
        " by at most K of them. AUC uses all scored candidates of the file, regardless of K. Two systems are"
        " compared by sign flips of the users' means, with Holm's correction over the pairs of one metric.",
        examples=(
            "metrics -p movies --k 10", "metrics -p movies --metrics auc,ndcg --format csv -o metrics.csv",
            "metrics -p movies --metrics ndcg --table pairs",
            "metrics -p trec --metrics ndcg,map,err --relevant-from 2 --gain exp",
            "metrics -p shop --metrics ndcg --by activity --from 2024-05-01",
        ),
        of_lists=True, words="offline ndcg recall auc diversity coverage held-out",
    ),
    Report(
        "plan", "Compute how many cases it takes to show a difference.", "planning:plan",
        (
            PROTOCOL.but(help="pairwise, arena: win rates; pointwise, explanation: shares of the best label.",
                default=SAER[1]),
            own("difference", tuple,
                "The difference to detect: of the win rate from one half (0.05: 55 %), or between two shares.",
                tuple(map(str, DIFFERENCES)), metavar="D,..."),
            own("ties", float, "Share of true ties among pairs judged alike in both orders.", bounds=_SHARE, metavar="T"),
            own("consistency", float, "Share of pairs judged alike in both orders; the rest are ties.",
                bounds=_SHARE, metavar="C"),
            own("share", float, "The second system's share of the label. Default: 0.5.", bounds=_SHARE, metavar="S"),
            own("correlation", float, "The correlation of one user's labels for the two systems. Default: 0.",
                bounds={"ge": -1, "le": 1}, metavar="R"),
            own("cases_per_user", float, "Cases of each user. Default: 1.", bounds={"ge": 1}, metavar="M"),
            own("icc", float, "Intraclass correlation of one user's cases. Default: 0.", bounds=_SHARE, metavar="R"),
            own("power", float, "The probability of detecting the difference.", POWER, {"gt": 0, "lt": 1}, metavar="P"),
            own("alpha", float, "Two-sided significance level.", ALPHA, {"gt": 0, "lt": 1}, metavar="A"),
            own("systems", tuple, "In a project: only these two systems. --share is that of B.", metavar="A,B"),
            RATER.but(help="In a project: only this rater."),
            ASPECT.but(help="In a project: this aspect.", default=OVERALL),
            WHERE.but(help=f"In a project. {WHERE.help}"),
        ),
        about="With a project, the values that you leave out are measured from its verdicts: ties, position"
        " consistency, shares, and the correlation of one user's cases; and you see what its cases could have shown."
        " The plan is for the test that the leaderboard uses, of the users' means, by its normal formula with the"
        " design effect.",
        examples=(
            "plan --difference 0.05 --ties 0.2 --consistency 0.8",
            "plan -p movies --systems new,old --rater rules --power 0.9",
            "plan --protocol pointwise --share 0.5 --difference 0.1",
        ),
        section="Judge", alone=True, words="sample size power how many users",
    ),
    Report(
        "estimate", "Estimate people's verdict from a few labels and a judge.", "estimates:estimate",
        (
            RATER.but(help="The judge with many verdicts.", required=True, metavar="JUDGE"),
            TRUTH.but(help="The person with a few labels.", required=True, metavar="PERSON"),
            PROTOCOL.but(required=True), ASPECT,
            own("system", str, "Only this system. For pairs, count the wins of this system.", metavar="S"),
            own("measure", str, "Default: win_rate for pairs of lists, share of each match label, mean of scores.",
                choices=("win_rate", "share", "mean")),
            own("labelled_users", int,
                "Use the labels of N users drawn at random and hide the rest, to see what fewer labels would have shown.",
                bounds={"ge": 1}, metavar="N"),
            SEED, WHERE,
        ),
        about="Three estimates with 95 % intervals: from the labels alone, from the judge alone, and from both by"
        " prediction-powered inference (PPI++; Angelopoulos, Duchi and Zrnic 2023). The last one is valid however"
        " bad the judge is, if the labelled cases are a random sample of the judged ones; a better judge makes its"
        " interval narrower. Saved is how many labels the judge replaces.",
        examples=(
            "estimate -p movies --rater qwen --truth anna --protocol pairwise",
            "estimate -p movies --rater qwen --truth anna --protocol pointwise --labelled-users 20",
        ),
        words="ppi prediction powered few labels",
    ),
    Report(
        "cost", "Show the cost of a judged case by judge and prompt.", "costs:cost",
        (
            own("human_price", float, "Price of one case judged by a person, for comparison.", bounds={"gt": 0},
                metavar="USD"),
            TRUTH.but(help="Show each set of judges instead, with its cost and its agreement with this rater."),
            own("rule", str, "With --truth: how a set of judges is combined. Default: majority.",
                choices=("majority", "mean", "dawid-skene")),
            RATERS.but(help="Only these judges; with --truth at most 8. Default: all judges."),
            PROTOCOL.but(help="Only this protocol."), ASPECT.but(help="With --truth: only this aspect."),
            own("stat", str, "With --truth: the statistic of agreement. Default: qwk; pearson for means.", metavar="NAME"),
            WHERE,
        ),
        about="Calls, dollars, and the ratio to a person's price. Unknown prices are shown as unknown. Cases"
        " answered from earlier replies are left out and counted. With --truth, the table compares sets of judges,"
        " the cheapest first: cost, agreement with that rater, how often a set answers, and whether another set is"
        " both better and cheaper.",
        examples=(
            "cost -p movies --human-price 0.111", "cost -p movies --truth people --rule dawid-skene --aspect overall",
        ),
        words="price dollars tokens jury ensemble",
    ),
    Report(
        "outcome show", "Show live experiments with lift and p, and how often each rater predicted the winner.",
        "outcomes:outcomes",
        (
            own("name", str, "Only this experiment.", metavar="EXPERIMENT"),
            own("judges", bool, "Show the log: one row per experiment and rater, with the running hit rate."),
            ASPECT.but(help="Use the raters' verdicts on this aspect.", default=OVERALL),
            own("alpha", float, "An experiment with p below this counts as decided.", ALPHA, {"gt": 0, "lt": 1},
                metavar="A"),
            WHERE.but(help=f"Predictions alone. {WHERE.help}"),
        ),
        about="A rater of pairs predicts the winner by its win rate (ties count half), a rater of lists or texts by"
        " the difference of mean values. Only decided experiments count (p below --alpha). The hit rate has Clopper"
        " and Pearson's interval.",
        examples=("outcome show -p shop", "outcome show -p shop --judges --format csv -o log.csv"),
        words="a/b test live experiment online clicks lift",
    ),
    Report(
        "cases list", "List the cases of a project with the number of verdicts on each.", "listings:cases",
        (LIMIT,),
        examples=("cases list -p movies --limit 20",),
        section="Data",
    ),
    *(
        Report(name, summary, f"listings:{listed}", (), examples=(f"{name} -p movies",), section=section)
        for name, summary, listed, section in _LISTINGS
    ),
    Report(
        "verdicts list", "List the verdicts of a project, with the reasons to look at each.", "verdict_list:verdicts",
        (
            own("filter", str, "As in the app: 'flag:any judge:qwen why:swap conf<.6 \"free text\"'.", "", metavar="TEXT"),
            own("sort", str, "confidence: lowest first; attention: only the verdicts that need a look.", "id",
                choices=("id", "label", "confidence", "case", "attention")),
            LIMIT.but(default=1000),
        ),
        about="An export of verdicts writes all of them in full.",
        examples=(
            "verdicts list -p movies --filter 'why:swap conf<.6' --sort confidence",
            "verdicts list -p movies --filter 'flag:any \"two sequels\"' --plain",
        ),
        section="People",
    ),
    Report(
        "verdicts log", "List all actions of readers on the verdicts of a project.", "listings:triage_log",
        (),
        about="Entries are never changed or removed.",
        examples=("verdicts log -p movies --format csv -o triage.csv",),
        section="People",
    ),
)  # fmt: skip
REPORTS: dict[str, Report] = {report.name: report for report in _DECLARED}
