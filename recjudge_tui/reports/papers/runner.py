"""A paper from its TOML: every printed figure beside the one recomputed, and the same figures of a project's own raters.

A table of the TOML has its printed `rows`: the names of `about`, then the texts of `figures`. `across`: the one of `about`
whose values head columns; `within`: the one whose values share a cell. Its `rules` say how a figure is recomputed; the first
that fits a printed figure (`where`, `figures`) counts:

- `compute`: an expression of the printed figures of the row, by name, and of `_Names`; `cut`: the paper cuts digits off;
- `report` with `options`: the rows that `keep` keeps are figures. Their place is `place`, their names and expressions are
  `values`, all in the row's cells; `on` is the project of the paper's data. Of the options, @all, @judges, @people,
  @consensus and @users are the raters of a project in that role, @k is the cutoff;
- `open`: the printed figures do not determine it; `impossible`: nothing is printed or released that would give it.

`fault`: why a figure is known to differ. `tolerance`: the difference that counts as agreement. `own` changes a rule for a
project's own raters, `only` limits it to them or to the paper. `rules_of`: also the rules of that table.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from recjudge_tui.domain.domains import dataset_of
from recjudge_tui.domain.protocols import MISSING_JUDGE, MISSING_TRUTH, ZHANG_ASPECTS
from recjudge_tui.domain.roles import REFERENCES, RUN_RATERS
from recjudge_tui.domain.selection import Selection
from recjudge_tui.errors import NotFoundError, RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import real, titled
from recjudge_tui.reports.common.table import Column, Note, Page, Row, Table, columns, definition
from recjudge_tui.reports.declare import table_of
from recjudge_tui.shapes import meet, pairs
from recjudge_tui.stats.agreement import Association, association, group_mean
from recjudge_tui.stats.defaults import LEVEL, TOP_K
from recjudge_tui.stats.planning import Arm, lift, two_proportions
from recjudge_tui.stats.ranking import ranks
from recjudge_tui.store.imports import imported_layouts
from recjudge_tui.store.ratings import project_questions, project_raters

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLLOWS, DIFFERS, OPEN, AS_PRINTED, NOT_COMPARED = (
    "follows", "does not follow", "not determined", "as printed", "not compared",
)  # fmt: skip
CUT = "truncated after the last printed decimal, not rounded"
LEVELS = ("dataset", "user", "pair")
_NUMBER = re.compile(r"[-+]?\d+(?:\.(\d+))?")
Where = tuple[str, ...]
# which figure it is: its table, its place there, its column, and the project of the own rater it is about
Key = tuple[int, Where, str, str]


class Missing(NamedTuple):
    """Data of the paper that are not at hand: the result of their figures, and what to do."""

    result: str
    why: str


class Own(NamedTuple):
    """A project whose raters are shown in the paper's tables: these, or without any all that judge. `baseline`: the
    system that stands for the paper's; empty: the one of its name. `k`: the cutoff of offline metrics. `all_named`: each
    of `raters` must stand in a table."""

    project: Project
    raters: tuple[str, ...] = ()
    baseline: str = ""
    k: int = TOP_K
    all_named: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure of table `at` of the paper. `printed`: its text, empty for one that the paper does not have; `project`: that
    of the own rater it is about. `fault`: why it is known to differ."""

    at: int
    where: Where
    name: str
    printed: str = ""
    value: float | None = None
    result: str = NOT_COMPARED
    why: str = ""
    fault: str = ""
    n: int | None = None
    groups: int | None = None
    undefined: int | None = None
    project: str = ""

    @property
    def key(self) -> Key:
        return self.at, self.where, self.name, self.project

    @property
    def published(self) -> float:
        """The first number of the text, in the unit that is printed."""
        return float(_number(self.printed)[0])

    @property
    def decimals(self) -> int:
        return len(_number(self.printed)[1] or "")

    @property
    def unit(self) -> str:
        sign = self.printed[_number(self.printed).end() :][:1]
        return sign if sign in ("%", "×", "$") else ""


def _number(text: str) -> re.Match[str]:
    number = _NUMBER.search(text)
    if number is None:
        raise ValueError(f"“{text}” has no number")
    return number


def paper_toml(name: str) -> dict[str, Any]:
    """A paper as shipped, by the name of its file."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def printed_figures(paper: Mapping[str, Any]) -> list[Figure]:
    """Every figure as printed."""
    return [
        Figure(at, tuple(row[: len(table["about"])]), name, text)
        for at, table in enumerate(paper["tables"])
        for row in table["rows"]
        for name, text in zip(table["figures"], row[len(table["about"]) :], strict=True)
    ]


# ---- whether a printed figure follows ----------------------------------------------------------------------------------


def follows(
    printed: str, value: float, spread: float = 0.0, *, cut: bool = False, tolerance: float = 0.0
) -> tuple[str, str]:
    """The result for a printed figure and the recomputed value, and the rule by which it follows, unless that is
    rounding. It follows if it is the value rounded to its decimals (a half either way), cut to them (with `cut`), or if
    something within `spread`, what the rounding of its inputs allows, rounds to it. “< .05” follows from anything
    below."""
    figure = Figure(0, (), "", printed)
    target, decimals = figure.published, figure.decimals
    if printed.startswith("<"):
        return (FOLLOWS if value < target else DIFFERS), ""
    if target in (rounded(value, decimals), rounded(value, decimals, ROUND_HALF_EVEN)):
        return FOLLOWS, ""
    if cut and target == rounded(value, decimals, ROUND_DOWN):
        return FOLLOWS, CUT
    low, high = value - spread, value + spread
    if rounded(low, decimals) <= target <= rounded(high, decimals):
        allowed = f"{low:.{decimals + 1}f} to {high:.{decimals + 1}f}"
        return FOLLOWS, f"within the rounding of the figures it is computed from, which allows {allowed}"
    if tolerance and abs(rounded(value, decimals) - target) <= tolerance + 1e-9:
        return f"within {tolerance:g}", ""
    return DIFFERS, ""


def rounded(value: float, decimals: int, half: str = ROUND_HALF_UP) -> float:
    """Rounded, a half away from zero as people do, unless told otherwise. A half is rarely exact in binary."""
    return float(Decimal(f"{value:.{decimals + 9}f}").quantize(Decimal(1).scaleb(-decimals), half))


# ---- expressions -------------------------------------------------------------------------------------------------------


def arm(rate: Sequence[float]) -> Arm:
    """The clicks and impressions behind a click rate in percent and its interval: n = z² r (1 - r) / half²."""
    value, low, high = (number / 100 for number in rate)
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    impressions = round(z**2 * value * (1 - value) / ((high - low) / 2) ** 2)
    return Arm(round(value * impressions), impressions)


_FUNCTIONS: dict[str, Any] = {
    "arm": arm, "lift": lift, "two_proportions": two_proportions, "round": round,
    "mean": lambda *values: sum(values) / len(values),
}  # fmt: skip


class _Names(dict[str, Any]):
    """The names of an expression about a figure: the other figures of its row; cell(table, *place, figure); association
    of two columns (table, figure, table, figure) over the systems that both have; rank(Q) among the row's rivals;
    rest(): 100 less the row's other figures of the rule; _FUNCTIONS and the paper's constants. `read` collects the
    printed figures it was computed from, `moved` is added to one of them."""

    def __init__(self, run: _Run, figure: Figure, rule: Mapping[str, Any]) -> None:
        super().__init__(_FUNCTIONS | run.paper.get("constants", {}))
        self._run, self._figure, self._rule = run, figure, rule
        self.read: dict[Key, Figure] = {}
        self.moved: Key | None = None
        self |= {"cell": self._cell, "association": self._association, "rank": self._rank, "rest": self._rest}

    def __missing__(self, name: str) -> float | None:
        figure = self._figure
        return self._of(self._run.known.get((figure.at, figure.where, name, figure.project)))

    def _of(self, figure: Figure | None) -> float | None:
        if figure is None:
            return None
        if figure.project or figure.key in self._run.exact:
            return figure.value
        self.read[figure.key] = figure
        return figure.published + (0.5 * 10.0**-figure.decimals if self.moved == figure.key else 0.0)

    def _table(self, table: str) -> list[Figure]:
        """The figures of a table of the same project as this one, else as printed."""
        every = [f for f in self._run.known.values() if self._run.table(f) == table]
        return [f for f in every if f.project == self._figure.project] or [f for f in every if f.printed]

    def _cell(self, table: str, *place: str) -> float | None:
        return self._of(next(f for f in self._table(table) if (*f.where, f.name) == place))

    def _association(self, table: str, name: str, other_table: str, other: str) -> Association:
        first, second = self._column(table, name), self._column(other_table, other)
        shared = [system for system in second if system in first]
        return association([first[system] for system in shared], [second[system] for system in shared])

    def _column(self, table: str, name: str) -> dict[str, float | None]:
        """A column of a table by system, where it agrees with this figure in all that both tables are about."""
        mine = self._run.about(self._figure)
        every = [figure for figure in self._table(table) if figure.name == name]
        found = [(figure, self._run.about(figure).items()) for figure in every]
        alike = (f for f, about in found if all(mine.get(head, value) == value for head, value in about))
        return {folded(figure.where[-1]): self._of(figure) for figure in alike}

    def _rank(self, score: float | None) -> int | None:
        here = self._figure
        group = (here.at, here.project, here.where[:-1], "Q")
        every = [f for f in self._run.known.values() if (f.at, f.project, f.where[:-1], f.name) == group]
        scores = [self._of(rival) for rival in every]
        return None if score is None else ranks(scores)[scores.index(score)]

    def _rest(self) -> Any:
        names = self._rule.get("figures") or self._run.paper["tables"][self._figure.at]["figures"]
        return 100 - sum(self[name] for name in names if name != self._figure.name)


def folded(name: str) -> str:
    """A name without case and signs, by which the paper's systems and raters are found among one's own."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def _value(expression: str, names: dict[str, Any]) -> Any:
    """The value of an expression from a paper's TOML, which ships with the program."""
    return eval(expression, {"__builtins__": {}}, names)


def _result(expression: str, names: dict[str, Any]) -> float | None:
    """A number; None where it is undefined: what it is computed from is, or the division is by 0."""
    try:
        value = _value(expression, names)
    except (TypeError, ZeroDivisionError):
        return None
    return None if value is None else float(value)


def _filled(template: str, names: dict[str, Any]) -> str:
    return re.sub(r"\{(.+?)\}", lambda found: str(_value(found[1], names)), template)


# ---- the run -----------------------------------------------------------------------------------------------------------


class _Run:
    """One reproduction: `known` are all figures so far, `exact` those that a report on data gave."""

    def __init__(
        self, paper: dict[str, Any], sources: Mapping[str, Project | Missing], own: Own | None
    ) -> None:
        self.paper, self.sources, self.own = paper, sources, own
        self.known = {figure.key: figure for figure in printed_figures(paper)}
        self.exact: set[Key] = set()
        self.reasons: list[str] = []
        self.lacking = ""
        ruled = [(at, rule) for at in range(len(paper["tables"])) for rule in self._rules(at)]
        # what the reports on the paper's data give, by rule and place
        self._given: dict[int, dict[Where, tuple[Figure, dict[str, Any]]]] = {}
        for at, rule in ruled:
            source = self.sources.get(rule.get("on", ""))
            if isinstance(source, Project) and rule.get("only") != "own":
                self._read(at, rule, source)
        for key, figure in list(self.known.items()):
            if figure.printed:
                self.known[key] = self._judged(figure)
        if own is not None:
            for at, rule in ruled:
                if "report" in rule and rule.get("only") != "paper":
                    self._read_own(own, at, rule)
            for at, rule in ruled:
                if "compute" in rule and "own" in rule:
                    self._compute_own(own, at, rule)

    def about(self, figure: Figure) -> dict[str, str]:
        return dict(zip(self.paper["tables"][figure.at]["about"], figure.where, strict=True))

    def table(self, figure: Figure) -> str:
        return str(self.paper["tables"][figure.at]["table"])

    def _rules(self, at: int) -> list[dict[str, Any]]:
        table = self.paper["tables"][at]
        others = [other for other in self.paper["tables"] if other["table"] == table.get("rules_of")]
        inherited = [rule for other in others for rule in other["rules"] if "report" not in rule]
        return [*inherited, *table.get("rules", ())]

    # printed figures

    def _judged(self, figure: Figure) -> Figure:
        """A printed figure by the first of its rules that says something."""
        place = (*map(folded, figure.where), folded(figure.name))
        about = self.about(figure)
        for rule in self._rules(figure.at):
            wanted = {name: [of] if isinstance(of, str) else of for name, of in rule.get("where", {}).items()}
            here = all(about[name] in values for name, values in wanted.items())
            if not here or rule.get("only") == "own" or figure.name not in rule.get("figures", [figure.name]):
                continue
            why = rule.get("open") or rule.get("impossible") or rule.get("why", "")
            if "compute" in rule:
                return self._compared(figure, self._computed(figure, rule), rule, why, rule.get("n"))
            if "report" not in rule:
                return replace(figure, result=OPEN if "open" in rule else AS_PRINTED, why=why)
            source = self.sources.get(rule["on"])
            # whether the templates may give these names
            may_be = (".*".join(map(re.escape, re.split(r"\{.+?\}", part))) for part in rule["place"])
            if isinstance(source, Missing) and all(map(re.fullmatch, may_be, figure.where)):
                return replace(figure, result=source.result, why=source.why)
            if place in self._given.get(id(rule), {}):
                found, cells = self._given[id(rule)][place]
                if found.value is None:
                    return replace(figure, result="undefined", why=found.why)
                self.exact.add(figure.key)
                figure = replace(figure, groups=found.groups, undefined=found.undefined)
                n = cells.get(rule.get("n", "n"))
                return self._compared(figure, (found.value, 0.0), rule, _filled(why, cells), n)
        return figure

    def _computed(self, figure: Figure, rule: Mapping[str, Any]) -> tuple[float | None, float]:
        """A value from other figures, and how much their rounding may move it."""
        names = _Names(self, figure, rule)
        value, spread = _result(rule["compute"], names), 0.0
        for key in list(names.read) if value is not None else ():
            names.moved = key
            spread += abs((_result(rule["compute"], names) or value or 0.0) - (value or 0.0))
        return value, spread

    def _compared(
        self, figure: Figure, found: tuple[float | None, float], rule: Mapping[str, Any], why: str, n: object
    ) -> Figure:
        value, spread = found
        if value is None:
            return replace(figure, result="undefined", why="a division by 0")
        allowed = {name: rule[name] for name in ("cut", "tolerance") if name in rule}
        result, how = follows(figure.printed, value, spread, **allowed)
        fault = rule.get("fault", "") if result == DIFFERS else ""
        result = OPEN if "open" in rule else result
        size = None if n is None else round(float(str(n)))
        return replace(figure, value=value, result=result, why=fault or how or why, fault=fault, n=size)

    # reports

    def _read(self, at: int, rule: Mapping[str, Any], source: Project) -> None:
        places = {tuple(map(folded, (*f.where, f.name))) for f in self.known.values() if f.at == at}
        given = self._given[id(rule)] = {}
        for figure, cells in self._rows(at, rule, source, ()):
            place = tuple(map(folded, (*figure.where, figure.name)))
            given[place] = figure, cells
            if place not in places:
                self.known[figure.key] = replace(figure, why="not in the paper")

    def _read_own(self, own: Own, at: int, rule: Mapping[str, Any]) -> None:
        changes = rule.get("own", {})
        rule = {**rule, **changes, "options": {**rule.get("options", {}), **changes.get("options", {})}}
        try:
            for figure, cells in self._rows(at, rule, own.project, own.raters):
                figure = replace(figure, project=own.project.name, why=self._about_own(figure, cells, rule))
                self.known[figure.key] = figure
        except RecjudgeError as error:
            self.reasons.append(error.title)

    def _rows(
        self, at: int, rule: Mapping[str, Any], project: Project, raters: Sequence[str]
    ) -> Iterator[tuple[Figure, dict[str, Any]]]:
        """The figures in the rows of a report on a project, of these raters or of all in their roles, with their cells."""
        options = _options(rule.get("options", {}), project, raters, self.own.k if self.own else TOP_K)
        if options is None:
            return
        rows = list(_between(_table(project, rule["report"], options).rows))
        # those who only judged adversarial pairs answered no question about systems
        judges = list(dict.fromkeys((*_raters("judges", project, raters, None), *raters)))
        common = {**_FUNCTIONS, "project": project.name, "judges": judges}
        common |= {"baseline": self._baseline(rows)} if "baseline" in rule.get("keep", "") else {}
        place, table = rule["place"], self.paper["tables"][at]
        datasets = self._datasets(at, project) if "{dataset}" in place else [""]
        compared = _raters("judges", project, raters, self.paper.get("protocol"))
        for row, dataset, judge in product(rows, datasets, compared if "{judge}" in place else [""]):
            cells = {**common, **row, "dataset": dataset, "judge": judge}
            if "keep" in rule and not _value(rule["keep"], cells):
                continue
            where = tuple(_filled(part, cells) for part in place)
            counts: dict[str, Any] = {name: row.get(name) for name in ("n", "groups")}
            for template, expression in rule["values"].items():
                name = _filled(template, cells)
                name = next((known for known in table["figures"] if folded(known) == folded(name)), name)
                value = _result(expression, cells)
                why = "" if value is not None else str(row.get("note") or "undefined")
                undefined: Any = row.get("groups_undefined")
                yield Figure(at, where, name, value=value, why=why, undefined=undefined, **counts), cells

    def _baseline(self, rows: Iterable[Row]) -> str | None:
        """The judged system that stands for the paper's baseline."""
        systems = {str(row["system"]) for row in rows}
        wanted = (self.own.baseline if self.own else "") or self.paper["baseline"]
        found = wanted if wanted in systems else None
        if self.own is None or not self.own.baseline:
            found = min((system for system in systems if folded(system) == folded(wanted)), default=None)
        if found is None:
            but = f"but: {', '.join(sorted(systems))}."
            self.lacking = f"No lists were compared with the baseline, a system called {wanted}, {but}"
        return found

    def _datasets(self, at: int, project: Project) -> list[str]:
        """The data sets of a table beside which a project's figures stand."""
        printed = list(dict.fromkeys(row[0] for row in self.paper["tables"][at]["rows"]))
        known = {dataset_of(layout) for layout in imported_layouts(project.db, project.id)}
        domains = {dataset.domain for dataset in known if dataset}
        fitting = self.paper["domains"].get(domains.pop() if len(domains) == 1 else "", printed)
        return [name for name in printed if name in fitting]

    def _about_own(self, figure: Figure, cells: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
        if figure.value is None:
            return figure.why
        said = []
        if "among" in rule:
            place = figure.at, figure.where[-1], figure.name
            printed = [f for f in self.known.values() if f.printed and (f.at, f.where[-1], f.name) == place]
            rivals = [f.published for f in printed if f.where[0] in rule["among"]]
            below = sum(figure.value > rival for rival in rivals)
            said.append(f"higher than {below} of the {len(rivals)} printed figures of models")
        if figure.groups and 2 * (figure.undefined or 0) > figure.groups:
            said.append(f"one side is constant in {figure.undefined} of {figure.groups} groups")
        return "; ".join(said)

    def _compute_own(self, own: Own, at: int, rule: Mapping[str, Any]) -> None:
        table = self.paper["tables"][at]
        source = rule["own"].get("of", table["table"])
        own_rows = [self.about(f) for f in self.known.values() if f.project and self.table(f) == source]
        places = dict.fromkeys(tuple(row[head] for head in table["about"]) for row in own_rows)
        for where, name in product(places, rule["figures"]):
            figure = Figure(at, where, name, project=own.project.name)
            if figure.key not in self.known:
                value = _result(rule["compute"], _Names(self, figure, rule))
                why = "" if value is not None else "undefined"
                self.known[figure.key] = replace(figure, value=value, why=why)


def _options(
    given: Mapping[str, Any], project: Project, raters: Sequence[str], k: int
) -> dict[str, Any] | None:
    """The options of a report, roles replaced by raters; None where a project has nobody in a role."""
    options: dict[str, Any] = {}
    for name, value in given.items():
        if value == "@k":
            options[name] = k
        elif isinstance(value, str) and value.startswith("@"):
            found = _raters(value[1:], project, raters, given.get("protocol"))
            if not found or (value == "@people" and len(found) < 2):
                return None
            options[name] = found[0] if name == "truth" else found
        else:
            options[name] = tuple(value) if isinstance(value, list) else value
    return options


_ROLES = {"people": "annotator", "consensus": "consensus", "users": "ground_truth"}


def _raters(role: str, project: Project, chosen: Sequence[str], protocol: str | None) -> tuple[str, ...]:
    """The raters of a project in a role that answered under a protocol: the `chosen` ones in it, if there are any."""
    known = project_raters(project.db, project.id)
    questions = project_questions(project.db, project.id)
    met = dict.fromkeys(q.rater for q in questions if protocol in (None, q.protocol))
    if role == "judges":
        judges = [name for name in chosen if name in known and known[name].kind not in REFERENCES]
        wanted = judges or chosen or [name for name in met if known[name].kind in RUN_RATERS]
        return tuple(name for name in met if name in wanted)
    found = sorted(name for name in met if role == "all" or known[name].kind == _ROLES[role])
    return tuple([name for name in found if name in chosen] or found)


# ---- reports -----------------------------------------------------------------------------------------------------------


def _table(project: Project, name: str, options: Mapping[str, Any]) -> Table:
    if name == "common cases":
        return common_cases(project, options["raters"], options["truth"])
    return table_of(project, name, **options)


def _between(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows, those of a board of two systems as rows of one system against the other."""
    over_all = [row for row in rows if row.get("opponent", "") is None]
    if not over_all:
        yield from rows
        return
    for row in rows:
        alike = [o for o in over_all if (o["rater"], o.get("aspect")) == (row["rater"], row.get("aspect"))]
        rivals = [other["system"] for other in alike if other["system"] != row["system"]]
        of_two = len(rivals) == 1 and row["opponent"] is None
        yield {**row, "opponent": rivals[0]} if of_two else row


def common_cases(project: Project, raters: Sequence[str], truth: str) -> Table:
    """Pearson's r of each rater with a truth, in percent, on the cases that all these raters judged: prompts with different
    examples have other cases to judge."""
    asked = Selection("explanation", raters=tuple(raters))
    met = meet(project, asked, truth, fills=(MISSING_TRUTH, MISSING_JUDGE))
    rows: list[Row] = []
    for aspect in ZHANG_ASPECTS:
        meetings = [meeting for meeting in met.meetings if meeting.aspect == aspect]
        if not meetings:
            continue
        sides = [met.side(q) for q in (*(m.a for m in meetings), meetings[0].b)]
        both = pairs(met.ratings.cases, sides).complete
        for place, meeting in enumerate(meetings):
            row: Row = {"rater": meeting.a.rater, "aspect": aspect, "n": both.n}
            for level in LEVELS:
                groups = both.groups(level)
                groups = np.zeros(both.n, dtype=np.int64) if groups is None else groups
                mean = group_mean("pearson", both.matrix[place], both.matrix[-1], groups)
                row[level] = None if mean is None else 100 * mean
            rows.append(row)
    levels = (Column(level, level.capitalize(), "float", decimals=2) for level in LEVELS)
    return Table("On common cases", columns("rater aspect", *levels, "n"), tuple(rows))


# ---- tables and rows ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reproduction:
    """A paper reproduced: `page` has its tables as it lays them out, `rows` every figure as a row."""

    page: Page
    rows: Table

    @property
    def differing(self) -> int:
        """The recomputed figures that differ without a known reason."""
        return sum(row["result"] == DIFFERS and not row["known"] for row in self.rows.rows)


def reproduce(name: str, sources: Mapping[str, Project | Missing], own: Own | None = None) -> Reproduction:
    """The figures of a paper, recomputed from `sources` (projects with its data, by the names in its TOML), and those of
    a project's own raters. Raises NotFoundError where an own rater, or all, have judged nothing that the paper
    reports."""
    paper = paper_toml(name)
    run = _Run(paper, sources, own)
    figures = list(run.known.values())
    if own is not None:
        names = {part for f in figures if f.project for part in (*f.where, f.name)}
        absent = [name for name in own.raters if not any(name in part for part in names)]
        if (absent and own.all_named) or not names:
            who = f"“{absent[0]}” has judged nothing" if absent else "no rater has judged anything"
            raise NotFoundError(
                f"{who} in the project {own.project.name} that this paper reports",
                run.lacking or "; ".join(dict.fromkeys(run.reasons)), "Ask a judge first.",
            )  # fmt: skip
    tables = [_laid_out(run, at, [f for f in figures if f.at == at]) for at in range(len(paper["tables"]))]
    tables += [] if own is None else _own_tables(run, own, figures)
    settings: dict[str, object] = {"paper": paper["source"]}
    if own is not None:
        settings |= {"project": own.project.name, "raters": list(own.raters)}
    rows = _as_rows(run, figures, settings)
    lead = tuple(filter(None, (rows.answer, run.lacking)))
    return Reproduction(Page(rows.title, lead, tuple(tables), settings), rows)


def human_benchmark(project: Project, raters: tuple[str, ...] = ()) -> Table:
    """A project's judges against its people in the figures of SAER's tables: of these raters, a consensus among them, else
    of all. Raises NotFoundError as `reproduce`."""
    found = reproduce("saer", {}, Own(project, raters)).rows
    rows: list[Row] = []
    for row in (row for row in found.rows if row["project"]):
        of = ", ".join(str(row[name]) for name in _PLACES if row[name])
        cells = {name: row[name] for name in ("table", "figure", "n", "note")}
        rows.append(cells | {"of": of, "value": row["recomputed"]})
    judges = _raters("judges", project, raters, None)
    agreed = (r for r in rows if r["figure"] == "weighted kappa" and str(r["of"]).startswith(judges))
    said = (f"{r['of']}: weighted kappa {real(r, 'value'):.2f}." for r in agreed if r["value"] is not None)
    heads = columns("table|Table", "of|Of", "figure", "value", "n note")
    title = "One judge against people, as SAER reports it"
    return Table(title, heads, tuple(rows), (), found.settings, answer=next(said, ""))


_PLACES = ("system", "label", "pair", "count of", "judge", "statement")


def of_project(project: Project) -> Reproduction:
    """The paper whose released data a project holds, with all its judges. Raises NotFoundError for other data."""
    layouts = {layout.partition(",")[0] for layout in imported_layouts(project.db, project.id)}
    own = Own(project) if _raters("judges", project, (), None) else None
    if "zhang2024" in layouts:
        return reproduce("zhang2024", {"release": project, "texts": NO_MARKUP}, own)
    if "recsys-arena" in layouts:
        return reproduce("arena", {}, own)
    known = "The papers with released data are RecSys Arena and Zhang et al. (2024)."
    raise NotFoundError(f"the project {project.name} does not contain the data of a paper", known)


NO_MARKUP = Missing("needs data", "this figure is computed from HTML, which the import turned into text")


def _laid_out(run: _Run, at: int, figures: Sequence[Figure]) -> Table:
    """One table as the paper has it: each row as published, as recomputed unless all of it follows, then own raters'."""
    table = run.paper["tables"][at]
    across, within = table.get("across", ""), table.get("within")
    heads = [name for name in table["about"] if name not in (across, within)]
    # a column's decimals and unit, for the figures that are not printed
    shown: dict[str, tuple[int, str]] = {}
    lines: dict[tuple[str, ...], Row] = {}
    behind: dict[tuple[str, ...], list[Figure]] = {}
    for figure in sorted(figures, key=lambda f: not f.printed):
        about = run.about(figure)
        column = " ".join(filter(None, (about.get(across, ""), figure.name)))
        if figure.printed:
            shown[column] = max(shown.get(column, (1, ""))[0], figure.decimals), figure.unit
        style = shown.setdefault(column, next(iter(shown.values()), (1, "")))
        said = {"published": figure.printed, "recomputed": _recomputed(figure, *style)}
        for kind, text in said.items() if figure.printed else [("own", said["recomputed"])]:
            key = (*(about[name] for name in heads), kind, figure.project)
            line = lines.setdefault(key, {**{name: about[name] for name in heads}, "figures": kind})
            line[column] = f"{line[column]} / {text}" if column in line else text
            behind.setdefault(key, []).append(figure)
    for key in [key for key in lines if key[-2] == "recomputed"]:
        results = {f.result for f in behind[key] if f.value is not None}
        if results <= {FOLLOWS} and {f.result for f in behind[key]} <= {FOLLOWS, AS_PRINTED}:
            whole = all(f.value is not None for f in behind[key])
            published = lines[(*key[:-2], "published", "")]
            published["figures"] = "both" if whole else "part" if results else "published"
        if results <= {FOLLOWS}:
            del lines[key]
    number = table["table"]
    first = next(i for i, other in enumerate(run.paper["tables"]) if other["table"] == number)
    notes = dict.fromkeys(f.why for f in figures if f.printed and f.why and f.result in (DIFFERS, OPEN))
    remarks = [text for of, text in run.paper["remarks"] if of == number and first == at]
    return Table(
        f"Table {number}: {table['title']}" if number.isdigit() else table["title"],
        tuple(Column(name, name[0].upper() + name[1:]) for name in dict.fromkeys((*heads, "figures", *shown))),
        tuple(lines.values()), (*map(Note, notes), *(Note(text.rstrip(".")) for text in remarks), _LAYOUT),
        answer=_tally(figures),
    )  # fmt: skip


_LAYOUT = definition(
    "both: every figure of the row was recomputed and is the printed one at its decimals; part: so are those that can be"
    " recomputed; ≠ a figure that differs, ≈ one that is near or not determined; own: of the project's raters"
)


def _recomputed(figure: Figure, decimals: int, unit: str) -> str:
    if figure.value is None:
        return "–"
    mark = {DIFFERS: "≠", FOLLOWS: "", NOT_COMPARED: ""}.get(figure.result, "≈")
    if figure.printed:
        decimals, unit = figure.decimals, figure.unit
    return f"{mark}{rounded(figure.value, decimals):.{decimals}f}{unit}"


def _tally(figures: Iterable[Figure]) -> str:
    """How many printed figures follow, how many do not, and the rest."""
    counts = Counter(f.result for f in figures if f.printed)
    total, following, differing = counts.total(), counts.pop(FOLLOWS, 0), counts.pop(DIFFERS, 0)
    if following == total:
        return f"all {total} figures follow" if total > 1 else "the figure follows"
    none = f"none of {total} figures was recomputed"
    said = f"{following} of {total} figures follow" if following else none
    said += f", {differing} {'differs' if differing == 1 else 'differ'}" if differing else ""
    return ", ".join([said, *(f"{count} {result}" for result, count in counts.items())])


def _own_tables(run: _Run, own: Own, figures: Sequence[Figure]) -> Iterator[Table]:
    """The paper's figures that have no printed numbers, of the own raters."""
    for section in run.paper.get("own", ()):
        if "spread" in section:
            table, name = section["spread"]
            found = [f for f in figures if f.project and run.table(f) == table and f.name == name]
            if len({f.where[1] for f in found}) > 1:
                yield titled(_spread(found, name), section["title"])
            continue
        options = _options(section["options"], own.project, own.raters, own.k)
        if options is None or (options.get("ensembles") and len(options["raters"]) < 2):
            continue
        try:
            made = _table(own.project, section["report"], options)
        except RecjudgeError:
            # nothing of this kind was judged or imported
            continue
        if made.rows:
            yield titled(made, section["title"])


def _spread(figures: Sequence[Figure], name: str) -> Table:
    """A figure of each system by each rater, with the mean and the ends."""
    by_system: dict[str, dict[str, float]] = {}
    for f in figures:
        if f.value is not None:
            by_system.setdefault(f.where[-1], {})[f.where[1]] = f.value
    raters = dict.fromkeys(f.where[1] for f in figures)
    ends = columns("mean|Mean|float", "lowest|Lowest|float", "highest|Highest|float")
    heads = (*columns("system"), *(Column(f"{name} {r}", r, "float") for r in raters), *ends)
    rows: list[Row] = []
    for system, of in by_system.items():
        spread = {"mean": sum(of.values()) / len(of), "lowest": min(of.values()), "highest": max(of.values())}
        rows.append({"system": system, **{f"{name} {r}": value for r, value in of.items()}, **spread})
    return Table(name, heads, tuple(rows))


def _as_rows(run: _Run, figures: Sequence[Figure], settings: Mapping[str, object]) -> Table:
    """Every figure as a row, the printed ones first."""
    about = dict.fromkeys(name for table in run.paper["tables"] for name in table["about"])
    heads = columns(
        "table|Table", *(Column(name, name[0].upper() + name[1:]) for name in about), "figure", "project|(Project)",
        "printed|Printed", Column("published", "As number", "float", minor=True, decimals=6, trimmed=True),
        Column("recomputed", "Computed", "float", decimals=6, trimmed=True),
        Column("difference", "Diff.", "float", minor=True, decimals=4, trimmed=True), "result|Result",
        "known|(Known)", "n", "groups|(Groups)|int", "groups_undefined|(Undefined)|int", "note",
    )  # fmt: skip
    rows: list[Row] = []
    for f in sorted(figures, key=lambda f: not f.printed):
        table = run.table(f)
        row: Row = {
            "table": f"Table {table}" if table.isdigit() else table, **run.about(f),
            "figure": f.name, "project": f.project, "result": f.result, "known": bool(f.fault), "note": f.why,
            "n": f.n, "groups": f.groups, "groups_undefined": f.undefined, "recomputed": f.value,
        }  # fmt: skip
        if f.printed:
            row |= {"printed": f.printed, "published": f.published}
        if f.printed and f.value is not None:
            for column, value in (("recomputed", f.value), ("difference", f.value - f.published)):
                row[column] = round(value, f.decimals + 2)
        rows.append(row)
    names = [column.name for column in heads]
    notes = [text if of == "text" else f"Table {of}: {text}" for of, text in run.paper["remarks"]]
    answer = _tally(figures)
    whole = tuple({name: row.get(name) for name in names} for row in rows)
    return Table(f"Reproduced: {run.paper['source']}", heads, whole, tuple(notes), settings, answer=answer)


def rebuilt_labels(labels: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """One block of `labels` as rows that an import of labels reads; each combination as often as it was given."""
    users: Counter[str] = Counter()
    for *given, count in labels["rows"]:
        alone = [] if "systems" in labels else [given.pop(0)]
        for _ in range(count):
            user = users[str(alone)]
            users[str(alone)] += 1
            for rater, value in zip(labels["raters"], given, strict=True):
                row: dict[str, object] = {
                    "rater": rater, "rater_kind": "annotator" if rater.startswith("Human") else "judge",
                    "protocol": labels["protocol"], "user_id": user, "value": value,
                }  # fmt: skip
                if alone:
                    row["system"] = alone[0]
                else:
                    row["system_a"], row["system_b"] = labels["systems"]
                    if " " in value:
                        row["value"] = ""
                        # the letters mean the systems in both orders
                        said = {"A": "system a", "B": "system b"}
                        row["verdict_1"], row["verdict_2"] = (said.get(word, word) for word in value.split())
                yield row
