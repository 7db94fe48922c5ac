"""Every figure, declared once: what it shows, its options, what it fits, and its marks from the table of a report.

The keys of the app, `export --figure`, the docs' table and the pictures of the HTML report derive from FIGURES.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from recjudge_tui.domain.occasions import EVERY_OCCASION, OVER, OccasionFilter, Over, period_order
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.protocols import ProtocolFacts, compares_lists, offered, protocol_facts
from recjudge_tui.domain.selection import CaseSelection, Selection
from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import RecjudgeError, UsageError, check_known
from recjudge_tui.project import Project
from recjudge_tui.reports import figures as of
from recjudge_tui.reports.agreement import cell_cases
from recjudge_tui.reports.calibration import GIVEN, STAGES, error_table, reliability_table, stated_confidences
from recjudge_tui.reports.common import segments
from recjudge_tui.reports.common.table import Row, Table, columns
from recjudge_tui.reports.declare import REPORTS, Options, checked, on_cases, table_of
from recjudge_tui.reports.figures.marks import (
    CI,
    INTERVAL,
    LEVEL_NAMES,
    METHOD_NAMES,
    UNDEFINED,
    Bars,
    Behind,
    Choice,
    Figure,
    Forest,
    Grid,
    GridCell,
    Lines,
    Mark,
    Marks,
    Reference,
    Scatter,
    n_text,
    name_text,
    named,
    real,
    whole,
)
from recjudge_tui.reports.flags import flagged_cases
from recjudge_tui.reports.leaderboard import methods_of
from recjudge_tui.reports.rater_pairs import People, label_sets, pair_estimates
from recjudge_tui.reports.topics import Topic, TopicRaters, asked, topics
from recjudge_tui.reports.trend import FLAGS, WIN_RATE
from recjudge_tui.reports.words import categories, combined_notes, rater_notes, statistic_of
from recjudge_tui.shapes import ANY_ISSUE, meet, protocols_meeting
from recjudge_tui.stats.defaults import ALPHA, BINS, EVEN
from recjudge_tui.stats.estimate import join_notes, undefined
from recjudge_tui.stats.registry import CORRELATIONS, STATISTICS, label_of
from recjudge_tui.store.answers import cases_by_run
from recjudge_tui.store.cases import case_periods, cases_between, check_contexts, has_dated_cases
from recjudge_tui.store.data import check_systems, known_systems
from recjudge_tui.store.ratings import project_raters, run_verdicts


class _NoRowsError(Exception):
    """The table of a figure has no rows."""

    def __init__(self, table: Table) -> None:
        self.table = table


class About:
    """What a figure is drawn of: a question and its raters, the cases to take, and the choices made so far. `strict`: a
    value that does not exist is an error; otherwise the figure chooses another."""

    def __init__(
        self, empty: Figure, question: TopicRaters, given: Mapping[str, str], *, strict: bool
    ) -> None:
        self.project, self.topic, self.named = question.project, question.topic, question.named
        self.raters, self.people = question.raters, question.people
        self.empty, self.cases = empty, empty.cases
        self.choices: dict[str, Choice] = {}
        self.given, self._strict = given, strict

    def choose(self, name: str, values: Iterable[str], default: str = "") -> str:
        """The wanted value of an option, else the default, else the first of `values`."""
        known, wanted = tuple(values), self.given.get(name, "")
        if wanted and wanted not in known and self._strict:
            there = f"Available: {', '.join(known) or 'none'}."
            raise UsageError(f"no {name} “{wanted}” for this figure", there)
        value = wanted if wanted in known else default if default in known else known[0] if known else ""
        self.choices[name] = Choice(value, known)
        return value

    def need(self) -> None:
        """Raises RecjudgeError if one of the choices has no value that the figure cannot do without."""
        lacking = next((n for n, choice in self.choices.items() if n in _LACKING and not choice.value), "")
        if lacking and self.named:
            who = "person judged" if lacking == "truth" else "judge answered"
            raise RecjudgeError(f"of the raters named, no {who} this", next_step="Name one that did.")
        if lacking:
            raise RecjudgeError(*_LACKING[lacking])

    def options(self, report: str, **options: Any) -> tuple[dict[str, Any], Options]:
        """The options of a declared report about the topic, and as its functions take them."""
        declared = REPORTS[report]
        about = {"protocol": self.topic.protocol, "aspect": self.topic.aspect}
        given = {name: value for name, value in about.items() if declared.option(name)} | options
        return given, Options(checked(declared, given), self.cases)

    def report(self, name: str, **options: Any) -> Table:
        """A declared report about the topic, on the cases of the figure."""
        self.need()
        given, occasions = self.options(name, **options)[0], self.cases.occasions
        return table_of(
            self.project, name, systems=self.cases.systems, context=occasions.contexts,
            from_=occasions.start, to=occasions.end, **given,
        )  # fmt: skip

    def filled(self, table: Table, rows: Iterable[Row] | None = None, *notes: str) -> Table:
        """The table with only these rows and with notes in front of its own; ends the drawing if there are no rows."""
        kept = table.rows if rows is None else tuple(rows)
        table = replace(table, rows=kept, notes=(*notes, *table.notes))
        table = segments.about_cases(table, self.cases)
        # a declared report has the notes on systems and occasions already
        table = replace(table, notes=tuple(dict.fromkeys(table.notes)))
        if not table.rows:
            raise _NoRowsError(table)
        return table

    def mark(self, row: Row, name: object, group: object = "", x: float = 0.0) -> Mark:
        """The mark of a row with its interval; the numbers are those of the report."""
        value, low, high = (real(row[key]) for key in (self.empty.value, "ci_low", "ci_high"))
        return Mark(str(name), value, low, high, str(group), x, whole(row["n"]), str(row["note"] or ""), row)

    def figure(
        self, title: str, drawn: str, table: Table, marks: Marks, n: str = "", *said: str, **more: Any
    ) -> Figure:
        """The figure of a `filled` table. Its caption: what is `drawn`, of which question, `n`, the interval if any mark has
        one, what is `said`, what the raters are, and which cases count; `more`: fields of `Figure`."""
        systems, occasions = self.cases.systems, self.cases.occasions
        beside = [*_about_raters(self, table.rows), *([segments.systems_note(systems)] if systems else [])]
        beside += [segments.occasions_note(occasions)] if occasions != EVERY_OCCASION else []
        has_ends = any(row.get("ci_low") is not None for row in table.rows)
        over = f"; {INTERVAL} over users; failed verdicts are not in n" if has_ends else ""
        parts = (f"{drawn}: {self.topic.text()}, {n}{over}", *said, *beside)
        caption = " ".join(f"{part[:1].upper()}{part[1:].rstrip('.')}." for part in filter(None, parts))
        return replace(
            self.empty, title=title, caption=caption, table=table, marks=marks, notes=table.notes, choices=self.choices,
            **more,
        )  # fmt: skip


_LACKING = {
    "truth": ("no person judged this, so there is no truth for a comparison", "", "Import labels."),
    "rater": ("only people judged this", "", "Start a run."),
    "metric": ("no offline metric can be computed for these lists",),
}


@dataclass(frozen=True)
class FigureKind:
    """One figure. `draw` chooses its options and makes its marks; `value` is the column that is drawn; `who`, `what` and
    `says` are those of `Figure`. `cases`: the ids of the cases behind a mark, where a filter does not say it. `suits`:
    whether it fits a protocol, and `lacks` the message for one that it does not fit. An option without a flag is only in
    the app, because a file shows all its values."""

    title: str
    about: str
    options: tuple[Option, ...]
    draw: Callable[[About], Figure]
    value: str
    who: str
    says: tuple[str, ...] = ("n", "failed")
    what: str = ""
    cases: Callable[[Project, Figure, Row], Iterable[int]] | None = None
    suits: Callable[[ProtocolFacts], bool] = lambda _: True
    lacks: str = ""

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols that the figure fits."""
        return tuple(name for name in offered() if self.suits(protocol_facts(name)))


# ---- systems ---------------------------------------------------------------------------------------------------------

EVERYONE = "everyone"
_FORMULAS = {
    "q": "Q = (wins + ties) / (losses + ties)",
    "winrate": "win rate = (wins + ties / 2) / n",
    "bt": "Bradley and Terry's rating, mean 1000",
    "mean": "mean score",
}
_COUNTS = ("wins", "ties", "position_ties", "losses", "n", "failed")


def _leaderboard(about: About) -> Figure:
    topic = about.topic
    chosen = about.choose("rater", (EVERYONE, *about.raters))
    method = about.choose("method", [name for name in methods_of(topic.protocol) if name != "share"])
    raters = about.named if chosen == EVERYONE else (chosen,)
    table = about.report("leaderboard", raters=raters, method=method)
    # rows against one opponent belong to the Q matrix
    table = about.filled(table, (row for row in table.rows if row.get("opponent") is None))
    by = "" if chosen == EVERYONE else f" by {name_text(chosen)}"
    unit = "pairs of lists" if compares_lists(topic.protocol) else "cases"
    # systems in the order of the first rater, each with its raters
    systems = list(dict.fromkeys(row["system"] for row in table.rows))
    rows = sorted(table.rows, key=lambda row: systems.index(row["system"]))
    found = tuple(about.mark(row, row["system"], row["rater"]) for row in rows)
    # Q is a ratio, and 0 is not on a logarithmic scale
    ratios = method == "q" and all(mark.value is None or mark.value > 0 for mark in found)
    what = METHOD_NAMES[method]
    marks = Forest(found, what, EVEN.get(method), ratios)
    title = f"Leaderboard: {topic.text()}, {what}{by}, {CI}"
    says = _COUNTS if method == "winrate" else ("win_rate", *_COUNTS)
    drawn, n = f"systems judged{by}", n_text(table.rows, f"{unit} per system")
    return about.figure(title, drawn, table, marks, n, _FORMULAS[method], what=what, says=says)


def _label_shares(about: About) -> Figure:
    rater, topic = about.choose("rater", about.raters), about.topic
    table = about.filled(about.report("leaderboard", rater=rater, method="share"))
    bars = tuple(about.mark(row, row["system"], row["label"]) for row in table.rows)
    title = f"Shares of labels by system: {rater}, {topic.text()}"
    what, n = f"shares of the labels that {name_text(rater)} gave", n_text(table.rows, "verdicts per system")
    kinds = [note for note in table.notes if "interval" in note.lower()]
    return about.figure(title, what, table, Bars(bars, "share of verdicts"), n, *kinds)


# a grid of more systems cannot be read: the first and the last of the ranking, or those next to a chosen one
_MOST, _ENDS, _FIRST_AND_LAST = 14, 6, "first and last"
# a Q of 4, or of a quarter, has the strongest shade
_STRONGEST = math.log(4)


def _q_matrix(about: About) -> Figure:
    rater, around = about.choose("rater", about.raters), ""
    names = sorted(known_systems(about.project.db, about.project.id))
    if len(names) > _MOST or about.given.get("system"):
        around = about.choose("system", (_FIRST_AND_LAST, *names))
    table = about.filled(about.report("leaderboard", rater=rater, table="matrix"))
    drawn = f"Q of the row's system against the column's, judged by {name_text(rater)}"
    said = [_FORMULAS["q"], f"bold: p < {ALPHA:g}, the test of the leaderboard, Holm-adjusted"]
    systems = list(dict.fromkeys(str(row["system"]) for row in table.rows))
    shown = tuple(systems) if len(systems) <= _MOST else (*systems[:_ENDS], *systems[-_ENDS:])
    if around in systems:
        start = min(max(0, systems.index(around) - _ENDS), max(0, len(systems) - 2 * _ENDS))
        shown = tuple(systems[start : start + 2 * _ENDS])
    if len(shown) < len(systems):
        between = [one_line(name, 40) for name in systems if name not in shown]
        left_out = f"{len(between)} of {len(systems)} systems are not shown: {', '.join(between)}"
        said.append(f"{len(shown)} of {len(systems)} systems are drawn")
        table = replace(table, notes=(left_out, *table.notes))
    cells = {}
    for row in table.rows:
        q, p = real(row["q"]), real(row["p_holm"])
        shade = None if q is None else math.log(q) / _STRONGEST if q > 0 else -1.0
        text, bold = UNDEFINED if q is None else f"{q:.2f}", p is not None and p < ALPHA
        place = str(row["system"]), str(row["opponent"])
        cells[place] = GridCell(shade, text, _ends(row, "{:.2f}"), bold, row)
    marks = Grid(shown, shown, cells, "system", "against", signed=True, below_title=CI)
    title = f"Q of the system down against the one across, judged by {rater}"
    return about.figure(title, drawn, table, marks, n_text(table.rows, "pairs of lists per cell"), *said)


def _q_metric(about: About) -> Figure:
    rater = about.choose("rater", about.raters)
    related = about.report("leaderboard", rater=rater, table="metrics")
    names = {str(row["metric"]): _metric_name(row) for row in related.rows}
    measured: dict[str, dict[str, float]] = {}
    for fact in cast(list[dict[str, Any]], related.facts["measured"]):
        measured.setdefault(names[fact["metric"]], {})[fact["system"]] = fact["value"]
    # the whole order of a list says more than one number about its pairs
    usual = next((name for name in measured if name.casefold().startswith("ndcg")), "")
    natural = next((_metric_name(row) for row in related.rows if row["natural"]), "")
    metric = about.choose("metric", measured, usual or natural)
    board, values = about.report("leaderboard", rater=rater, method="q"), measured[metric]
    ranked = (row for row in board.rows if row["opponent"] is None and isinstance(row["q"], float))
    found_in = ((row, values.get(str(row["system"]))) for row in ranked)
    rows = tuple({**row, "metric": metric, "measured": x} for row, x in found_in if x is not None)
    said = [_correlation(row) for row in related.rows if _metric_name(row) == metric]
    heads = (*board.columns, *columns("metric", "measured|Measured|float|4"))
    table = about.filled(Table("Q and metric", heads, rows, related.notes, board.settings), None, *said)
    found = tuple(about.mark(row, row["system"], x=values[str(row["system"])]) for row in rows)
    even = Reference(1.0, about="Q = 1, as many wins as losses")
    marks = Scatter(found, metric, "Q", CI, even, doublings=True)
    what = f"Q of each system by {name_text(rater)} and its {metric}"
    n = n_text(rows, "pairs of lists per system")
    return about.figure(f"Q by {rater} against {metric}", what, table, marks, n, *said)


def _correlation(row: Row) -> str:
    """How well Q and the metric agree across systems."""
    r, p = row["pearson"], row["p"]
    order = "rank the systems alike" if row["same_order"] else "do not rank the systems alike"
    note, name = f"; {row['note']}" if row["note"] else "", _metric_name(row)
    if not isinstance(r, float) or not isinstance(p, float):
        return f"Q and {name} {order}; no correlation, {quantity(whole(row['n']), 'system')}{note}"
    return f"Pearson's r of Q and {name} {r:.4f}, p {p:.4f}, {row['n']} systems; they {order}{note}"


def _metric_name(row: Row) -> str:
    return str(row["metric"]) if row["k"] is None else f"{row['metric']}@{row['k']}"


def _flags(about: About) -> Figure:
    rater, topic = about.choose("rater", about.raters), about.topic
    of, show = about.choose("of", ("lists", "items")), about.choose("show", ("table", "intervals", "ranks"))
    by_rank = show == "ranks"
    options = {"of": of, "by": "rank" if by_rank else "system"}
    # all raters, so that the shares of people stand beside those of a judge
    table = about.report("flags", raters=about.named, **options)
    if not any(row["rater"] == rater for row in table.rows):
        table = about.report("flags", raters=(rater,), **options)
    table = about.filled(table, (row for row in table.rows if row["rater"] == rater))
    rows, unit, by = table.rows, "items" if by_rank else of, "rank" if by_rank else "issue"
    marks: Marks
    if by_rank:
        ranks = sorted({whole(row["rank"]) for row in rows})
        line = (about.mark(r, r["rank"], r["system"], ranks.index(whole(r["rank"]))) for r in rows)
        marks = Lines(tuple(line), "rank", "share of items flagged", CI, tuple(map(str, ranks)), band=CI)
    elif show == "intervals":
        issues = list(dict.fromkeys(row["issue"] for row in rows))
        ordered = sorted(rows, key=lambda row: issues.index(row["issue"]))
        marks = Forest(tuple(about.mark(r, r["issue"], r["system"]) for r in ordered), f"share of {of}")
    else:
        cells = {}
        for row in rows:
            share, place = real(row["share"]), (str(row["issue"]), str(row["system"]))
            text = UNDEFINED if share is None else f"{share:.1%}"
            cells[place] = GridCell(share, text, _ends(row, "{:.1%}"), row=row)
        down, across = (tuple(dict.fromkeys(names)) for names in zip(*cells, strict=True))
        marks = Grid(down, across, cells, "issue", "system", below_title=CI)
    at_rank = f"{{system}}, {ANY_ISSUE} issue at rank {{rank}}, flagged by {{rater}}"
    title = f"Flagged {unit} by system: {rater}, {topic.text()}"
    drawn = f"share of {unit} that {name_text(rater)} flagged, by system and {by}"
    n = n_text(rows, f"{unit} per share")
    return about.figure(title, drawn, table, marks, n, who=at_rank if by_rank else about.empty.who,
                        what=f"share of {unit}")  # fmt: skip


def _flagged(project: Project, figure: Figure, row: Row) -> Iterable[int]:
    """The lists in which the rater flagged this issue."""
    # the rater may not know an issue that only others flag
    selection = Selection(str(row["protocol"]), raters=(str(row["rater"]),), cases=figure.cases)
    return flagged_cases(project, selection, row, figure.chosen("of")) if row["count"] else ()


def _trend(about: About) -> Figure:
    rater, topic = about.choose("rater", about.raters), about.topic
    usual = "day" if has_dated_cases(about.project.db, about.project.id) else "import"
    over = about.choose("over", OVER, usual)
    about.need()
    table = on_cases(
        about.project, "trend", replace(about.cases, systems=()), over=over, protocol=topic.protocol, rater=rater,
        aspect=topic.aspect, metrics=("none",), systems=about.cases.systems,
    )  # fmt: skip
    mine = [row for row in table.rows if row["rater"] == rater]
    rows = [r for r in mine if r["system"] is not None and r["opponent"] is None and r["figure"] != FLAGS]
    if rows and not any(row["value"] is not None for row in rows):
        # in no period all systems met, so there are no ratings; each two systems have a line
        pairs = (row for row in mine if row["figure"] == WIN_RATE)
        rows = [{**row, "system": f"{row['system']} vs {row['opponent']}", "opponent": None} for row in pairs]
    figures = list(dict.fromkeys(row["figure"] for row in rows))
    # the periods from which on another model or prompt answers
    changes = [c for c in cast(list[dict[str, str]], table.settings["changes"]) if c["rater"] == rater]
    said = [f"{change['period']}: {change['change']}" for change in changes]
    table = about.filled(table, (row for row in rows if row["figure"] == figures[0]), *said)
    figure = str(figures[0]).replace("_", " ")
    periods = sorted({str(row["period"]) for row in table.rows}, key=period_order)
    found = (about.mark(r, r["period"], r["system"], periods.index(str(r["period"]))) for r in table.rows)
    even = Reference(0.5, "even", "as many wins as losses") if figures[0] == WIN_RATE else None
    at = {float(periods.index(c["period"])): c["now"] for c in changes if c["period"] in periods}
    marks = Lines(tuple(found), over, figure, CI, tuple(periods), band=CI, level=even, changes=at)
    title = f"Trend by {over}: {topic.text()}, {figure} by {rater}, {CI}"
    drawn = f"{figure} by {over}, judged by {name_text(rater)}"
    n = n_text(table.rows, f"verdicts per system and {over}")
    others = "The other categories are in the table of the trend" if len(figures) > 1 else ""
    return about.figure(title, drawn, table, marks, n, others, "; ".join(said), what=figure)


def _period_cases(project: Project, figure: Figure, row: Row) -> Iterator[int]:
    periods = case_periods(project.db, project.id, cast(Over, figure.chosen("over")))
    return (case for case, period in periods.items() if period == row["period"])


# ---- raters ----------------------------------------------------------------------------------------------------------


def _confusion(about: About) -> Figure:
    rater = about.choose("rater", about.raters)
    others = [name for name in about.raters if name != rater]
    truth = about.choose("truth", others, about.people[0] if about.people else "")
    if not truth:
        raise RecjudgeError("a confusion table needs a second rater")
    table = about.filled(about.report("agreement", raters=(rater, truth), confusion=True))
    rows = table.rows
    # the report uses the later rater of a pair as the reference, independent of the user's order
    rater, truth, n = str(rows[0]["rater_a"]), str(rows[0]["rater_b"]), whole(rows[0]["n"])
    labels = tuple(dict.fromkeys(str(row["label_a"]) for row in rows))
    across, down = (
        tuple(sum(whole(row["count"]) for row in rows if row[key] == label) for label in labels)
        for key in ("label_a", "label_b")
    )
    totals, cells = dict(zip(labels, across, strict=True)), {}
    for row in rows:
        a, b, count = str(row["label_a"]), str(row["label_b"]), whole(row["count"])
        share = count / totals[a] if totals[a] else None
        cells[a, b] = GridCell(share, f"{count:,}", "" if share is None else f"{share:.0%}", a == b, row)
    marks = Grid(labels, labels, cells, rater, truth, False, across, down, "share of the row")
    title = f"{rater} (down) against {truth} (across), n={n:,}"
    what = f"labels of {name_text(rater)} by label of {name_text(truth)}"
    are = "each cell: the count and its share of the row"
    return about.figure(title, what, table, marks, f"n = {n:,} cases that both judged", are)


def _cell_cases(project: Project, figure: Figure, row: Row) -> list[int]:
    about = About(figure, TopicRaters(project, figure.topics, figure.topic, (), ()), {}, strict=False)
    raters = (str(row["rater_a"]), str(row["rater_b"]))
    return cell_cases(project, row, about.options("agreement", raters=raters, confusion=True)[1])


def _ensembles(about: About) -> Figure:
    truth, level = about.choose("truth", about.people), about.choose("level", LEVEL_NAMES)
    stat = about.choose("stat", CORRELATIONS)
    members = tuple(name for name in about.named if name != truth)
    options = {"truth": truth, "stat": (stat,), "level": (level,), "raters": members}
    table = about.filled(about.report("agreement", ensembles=True, **options))
    rows, y = table.rows, f"{label_of(stat)}, {LEVEL_NAMES[level]}"
    spread = [row for row in rows if row["q1"] is not None and whole(row["subsets"]) > 1]
    texts = (f"{row['size']}: {row['q1']:.2f}, {row['median']:.2f}, {row['q3']:.2f}" for row in spread)
    quartiles = "; ".join(texts)
    found = tuple(
        Mark(str(row["size"]), mean, real(row["min"]), real(row["max"]), "mean", at, whole(row["n"]), row=row,
             details=(f"{mean:.3f}", f"{whole(row['subsets'])} sets"))
        for at, row in enumerate(row for row in rows if row["mean"] is not None)
        if (mean := real(row["mean"])) is not None
    )  # fmt: skip
    ends, ticks = "lowest to highest set", tuple(mark.name for mark in found)
    title = f"Means of 1 to {len(rows)} raters against {truth}: lowest, mean, highest"
    marks = Lines(found, "raters", y, ends, ticks, band=ends)
    what = f"{y} of the mean of 1 to {len(rows)} raters with {name_text(truth)}"
    line = "line: mean over all sets of that size"
    band = f"{line}; band: lowest to highest set, which is no confidence interval"
    said = f"quartiles by number of raters: {quartiles}"
    return about.figure(title, what, table, marks, n_text(rows), band, said)


def _runs(about: About) -> Figure:
    topic, facts = about.topic, protocol_facts(about.topic.protocol)
    ordered = topic not in categories(about.project)
    able = ((name, stat) for name, stat in STATISTICS.items() if facts.of_pairs or not stat.directed)
    fitting = (name for name, stat in able if stat.correlation or facts.labels or not ordered)
    truth = about.choose("truth", about.people)
    stat = about.choose("stat", fitting, statistic_of(about.project, *topic))
    about.need()
    table = _runs_table(about, truth, stat)
    lacking = (row for row in table.rows if row["value"] is None)
    none = (f"run {row['run']} ({row['rater']}) has no value: {row['note']}" for row in lacking)
    table = about.filled(table, None, *none)
    top = next((top for row in table.rows if (top := real(row["ceiling"])) is not None), None)
    details = [(str(row["started"])[:10], f"n={whole(row['n']):,}") for row in table.rows]
    at_runs = (about.mark(row, row["run"], row["rater"], at) for at, row in enumerate(table.rows))
    found = tuple(replace(mark, details=lines) for mark, lines in zip(at_runs, details, strict=True))
    level = None if top is None else Reference(top, "people", f"agreement between people, {top:.3f}")
    ticks = tuple(mark.name for mark in found)
    marks = Lines(found, "run", label_of(stat), CI, ticks, joined=True, level=level)
    title = f"{label_of(stat)} of each run with {truth}, {CI}"
    what, people = f"{label_of(stat)} with {name_text(truth, 40)}", level.about if level else ""
    n, line = n_text(table.rows, "cases per run"), people and f"dashed line: {people}"
    return about.figure(title, f"{what} of each run", table, marks, n, line, what=what)


def _runs_table(about: About, truth: str, stat: str) -> Table:
    """One row per run of the question, oldest first: the statistic of its own verdicts with `truth`, even if a later run of
    its rater judged the same cases; undefined if they share no case."""

    (protocol, aspect), db = about.topic, about.project.db
    judged = cases_by_run(db, about.project.id, protocol, aspect)
    judged = [run for run in judged if not about.named or run.rater in about.named]
    met = meet(about.project, Selection(protocol, aspect, readers=True, cases=about.cases), truth)
    meetings = {m.a.rater: m for m in met.meetings if m.a.protocol == protocol}
    labels, people, known = label_sets(met), People(met), met.ratings.raters
    rows: list[Row] = []
    for run in judged:
        estimate, top = undefined(f"{run.rater} and {truth} share no question"), None
        if (meeting := meetings.get(run.rater)) is not None:
            own = run_verdicts(db, run.id, aspect, met.ratings.cases)
            of_run = replace(met.ratings, verdicts={**met.ratings.verdicts, meeting.a: own})
            within = np.isin(met.ratings.cases.ids, run.cases)
            both = replace(met, ratings=of_run).pairs(meeting, within).complete
            if both.n:
                estimate = pair_estimates(both, labels[meeting], (stat,))[stat]
                estimate = replace(estimate, note=join_notes(estimate.note, both.seen.words()))
            else:
                why = "no case that both judged" if run.cases else "no verdict is from this run"
                estimate = undefined(why)
            every = met.pairs(meeting).complete
            ceiling = people.ceiling(meeting, every, labels[meeting], (stat,), "dataset").people
            top = ceiling[stat].value if stat in ceiling else None
        rows.append({
            "run": str(run.id), "started": run.started, "rater": run.rater, "truth": truth, "protocol": protocol,
            "aspect": aspect, "stat": stat, **estimate.cells, "ceiling": top, "verdicts": len(run.cases),
        })  # fmt: skip
    notes = rater_notes(known[name] for name in (truth, *(run.rater for run in judged)) if name in known)
    heads = columns(
        "run|Run", "started|Started|time", "rater", "truth|Against", "protocol aspect", "stat|Statistic", "value",
        "ci_*", "ceiling|(People)|float", "n", "verdicts|(Verdicts)|int", "note",
    )  # fmt: skip
    notes = notes if rows else [f"no run has judged {protocol} {aspect} yet"]
    settings = {"protocol": protocol, "truth": truth}
    return Table("Agreement over runs", heads, tuple(rows), tuple(notes), settings)


def _run_cases(project: Project, figure: Figure, row: Row) -> Iterable[int]:
    runs = cases_by_run(project.db, project.id, *figure.topic)
    return next((run.cases for run in runs if str(run.id) == row["run"]), ())


def _calibration(about: About) -> Figure:
    judges = [name for name in about.raters if name not in about.people]
    rater, truth = about.choose("rater", judges), about.choose("truth", about.people)
    front, topic = about.choose("stage", STAGES), about.topic
    about.need()
    stated = stated_confidences(about.project, rater, truth, **topic._asdict(), cases=about.cases)
    errors = []
    for row in error_table(stated).rows:
        if row["stat"] == "ece" and (value := real(row["value"])) is not None:
            ends = f"{_ends(row, ' [{:.3f}', ', {:.3f}]')}, n = {whole(row['n']):,}"
            errors.append(f"{row['stage']}: expected calibration error {value:.3f}{ends}")
    table = about.filled(reliability_table(stated), None, *errors)
    n = sum(whole(row["n"]) for row in table.rows if row["stage"] == GIVEN)
    bins = [(real(row["low"]) or 0.0, real(row["high"]) or 0.0) for row in table.rows]
    sure = (about.mark(row, "", row["stage"], real(row["confidence"]) or 0.0) for row in table.rows)
    found = tuple(replace(mark, bin=ends) for mark, ends in zip(sure, bins, strict=True))
    marks = Lines(
        found, "confidence (mean of the bin)", "share right", CI, diagonal="perfect calibration", counts="verdicts",
        front=front,
    )  # fmt: skip
    what = f"how often {name_text(rater)} gives the label of {name_text(truth)} at each confidence"
    how = f"up to {BINS} bins; calibrated (isotonic) by labels of other users"
    title = f"Calibration of {rater} against {truth}, n={n}"
    return about.figure(title, what, table, marks, f"n = {n:,} labelled verdicts", how, *errors)


def _bin_cases(project: Project, figure: Figure, row: Row) -> Iterator[int]:
    rater, truth = (figure.chosen(name) for name in ("rater", "truth"))
    for group in stated_confidences(project, rater, truth, **figure.topic._asdict(), cases=figure.cases):
        confidence = group.confidence if row["stage"] == GIVEN else group.calibrated
        known = ~np.isnan(group.truth) & ~np.isnan(confidence)
        # equal bins; the last one includes 1
        place = np.minimum((confidence[known] * BINS).astype(np.int64), BINS - 1)
        yield from group.case[known][place == round((real(row["low"]) or 0.0) * BINS)].tolist()


def _ends(row: Row, low: str, high: str = "") -> str:
    """`[0.12, 0.34]`; empty without an interval."""
    first, last = real(row["ci_low"]), real(row["ci_high"])
    if first is None or last is None:
        return ""
    return low.format(first) + high.format(last) if high else f"[{low.format(first)}, {low.format(last)}]"


# ---- the declarations ------------------------------------------------------------------------------------------------

_PAIRS: dict[str, Any] = {
    "suits": lambda facts: facts.of_pairs,
    "lacks": "this figure counts wins between two lists, and {} judges one thing at a time",
}
# the order is that of the keys on the screen of figures
FIGURES: dict[str, FigureKind] = {
    "confusion": FigureKind(
        "confusion", "the labels of one rater by the labels of another",
        (of.JUDGE.but(label="rater"), of.AGAINST.but(label="against")), _confusion, "count",
        "{rater_a} {label_a}, {rater_b} {label_b}", ("share", "n"), cases=_cell_cases,
    ),
    "q-matrix": FigureKind(
        "Q matrix", "each system against each, with intervals", (of.JUDGE, of.SYSTEM), _q_matrix, "q",
        "{system} against {opponent}, judged by {rater}", (*_COUNTS, "p", "p_holm"), "Q",
        lambda project, _, row: cases_between(project.db, project.id, str(row["system"]), str(row["opponent"])), **_PAIRS,
    ),
    "q-metric": FigureKind(
        "Q and metric", "Q of each system against an offline metric", (of.JUDGE, of.METRIC), _q_metric, "q", "{system}",
        ("metric", "measured", "n"), "Q", **_PAIRS,
    ),
    "ensembles": FigureKind(
        "ensembles", "correlation of the mean of 1 to K raters with a truth", (of.AGAINST, of.STAT, of.LEVEL), _ensembles,
        "mean", "{size} of the raters, {subsets} sets", ("n", "max", "best", "min", "worst", "q1", "median", "q3"), "mean",
    ),
    "runs": FigureKind(
        "runs", "agreement of each run with a truth, in time order", (of.AGAINST, of.STAT), _runs, "value",
        "run {run}, {rater}, {started:.16}", ("n", "verdicts"), cases=_run_cases,
    ),
    "calibration": FigureKind(
        "calibration", "how often a judge is right at each confidence",
        (of.JUDGE.but(label="rater"), of.AGAINST, of.STAGE), _calibration, "accuracy",
        "confidence {low:.2f} to {high:.2f} {stage}", ("confidence", "n", "gap"), "right in", _bin_cases,
    ),
    "label-shares": FigureKind(
        "label shares", "labels of each system as stacked bars", (of.JUDGE,), _label_shares, "share",
        "{system} by {rater}", what="{label}", suits=lambda facts: bool(facts.labels) and not facts.of_pairs,
        lacks="this figure counts labels of single lists or texts, and {} gives no such labels",
    ),
    "leaderboard": FigureKind(
        "leaderboard", "systems ranked, with intervals", (of.JUDGE, of.METHOD.but(label="ranking")), _leaderboard, "score",
        "{system}, judged by {rater}",
    ),
    "trend": FigureKind(
        "trend", "how each system is judged over time", (of.JUDGE, of.OVER), _trend, "value",
        "{system}, {period}, judged by {rater}", cases=_period_cases,
    ),
    "flags": FigureKind(
        "flags", "what is flagged in the lists of each system", (of.JUDGE.but(label="flagged by"), of.OF, of.SHOW), _flags,
        "share", "{system}, {issue}, flagged by {rater}", ("count", "n", "people", "people_n"), cases=_flagged,
        suits=lambda facts: facts.unit == "list",
        lacks="this figure counts flagged items of single lists, and {} judges no single lists",
    ),
}  # fmt: skip


def options_of(name: str) -> tuple[Option, ...]:
    """The options of a figure on the command line. Raises UsageError for an unknown figure."""
    check_known("figure", [name], FIGURES)
    return (*of.COMMON, *(option for option in FIGURES[name].options if option.flag))


def figure(
    project: Project, name: str, given: Mapping[str, str] | None = None, *, occasions: OccasionFilter = EVERY_OCCASION,
    systems: tuple[str, ...] = (), raters: tuple[str, ...] = (), strict: bool = True,
) -> Figure:  # fmt: skip
    """One of FIGURES about a project, of these occasions, systems and raters (empty: all), with these values of its
    options. With `strict`, values that do not fit raise UsageError or NotFoundError, and a figure without numbers raises
    RecjudgeError. Otherwise such a figure has no rows, and its notes say why."""
    known, given = options_of(name), given or {}
    listed = [option.name for option in known]
    if strict and (unknown := [option for option in given if option not in (*listed, of.STAGE.name)]):
        raise UsageError(f"the figure {name} has no option {unknown[0]}", f"It has {', '.join(listed)}.")
    kind, every = FIGURES[name], topics(project)
    topic = Topic(given.get("protocol", ""), given.get("aspect", ""))
    if strict:
        topic = _chosen(every, topic, kind.protocols)
    cases = CaseSelection(occasions, systems=systems)
    empty = Figure(
        name, topic, kind.title, cases=cases, topics=every, value=kind.value, who=kind.who, what=kind.what, says=kind.says
    )  # fmt: skip
    if topic.protocol and topic.protocol not in kind.protocols:
        judged = dict.fromkeys(t.protocol for t in every if t.protocol in kind.protocols)
        advice = f"choose one about {' or '.join(judged)}" if judged else "this project has none"
        return replace(empty, notes=(f"{kind.lacks.format(topic.protocol)}: {advice}",))
    about = None
    try:
        check_contexts(project.db, project.id, occasions)
        check_systems(project.db, project.id, systems)
        about = About(empty, asked(project, topic, every, raters), given, strict=strict)
        return kind.draw(about)
    except _NoRowsError as nothing:
        said = nothing.table.notes
        if strict:
            why = "; ".join(said) or "There is nothing to draw."
            raise RecjudgeError(f"no figure “{name}” of {topic.text()}", why) from nothing
    except RecjudgeError as error:
        if strict:
            raise
        said = tuple(part for part in (error.title, error.cause, error.next_step) if part)
    return replace(empty, choices=about.choices if about else {}, notes=said)


def _about_raters(about: About, rows: Iterable[Row]) -> list[str]:
    """Sentences for the caption about the raters in a figure."""
    keys = ("rater", "rater_a", "rater_b", "truth")
    raters = project_raters(about.project.db, about.project.id)
    shown = {about.choices[key].value for key in keys if key in about.choices}
    shown |= {str(row[key]) for row in rows for key in keys if key in row}
    return combined_notes(raters[name] for name in shown if name in raters)


def _chosen(every: Sequence[Topic], wanted: Topic, protocols: tuple[str, ...]) -> Topic:
    """The first topic of the wanted protocol and aspect, and of one of `protocols`. Raises UsageError."""
    protocol, aspect = wanted
    protocols_meeting(protocol or None)
    if not every:
        raise UsageError("there are no verdicts yet", next_step="Import labels or start a run.")
    if protocol and protocol not in protocols:
        others = f"It can be drawn of {' and '.join(protocols)}."
        raise UsageError(f"this figure cannot be drawn of {protocol}", others)
    judged = [t for t in every if t.protocol in protocols and protocol in ("", t.protocol)]
    if not judged:
        of = protocol or " or ".join(protocols)
        raise UsageError(f"there are no verdicts on {of} here", next_step="Import labels or start a run.")
    found = next((topic for topic in judged if aspect in ("", topic.aspect)), None)
    if found is None:
        known = ", ".join(dict.fromkeys(topic.aspect for topic in judged))
        raise UsageError(f"there are no verdicts on an aspect “{aspect}”", f"Available: {known}.")
    return found


def behind(project: Project, drawn: Figure, row: Row) -> Behind:
    """The cases behind the mark of a row, on the occasions of the figure."""
    cases = FIGURES[drawn.name].cases
    if cases is None or (drawn.name == "flags" and not row["count"]):
        return Behind(drawn.filter_of(row), None if cases is None else ())
    return Behind(drawn.filter_of(row), tuple(cases(project, drawn, row)), named(drawn.who, row))
