"""The single figures of a question, drawn large: what each is made of, and which cases stand behind a part of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from recjudge_tui.errors import RecjudgeError
from recjudge_tui.model.filters import Term, VerdictFilter
from recjudge_tui.reports.table import Row, Table
from recjudge_tui.store.database import Database
from recjudge_tui.tui.figure_text import LEVEL_NAMES, STAT_NAMES, Cell, figure
from recjudge_tui.tui.figures import Pick, Topic, about, topics_of
from recjudge_tui.tui.heat_grid import ABOVE, BELOW, confusion_grid, shaded, whole
from recjudge_tui.tui.look import glyphs, number
from recjudge_tui.tui.plots import Axes, Mark

if TYPE_CHECKING:
    from recjudge_tui.reports.leaderboard import LeaderboardOptions

VIEWS = {
    "confusion": "confusion",
    "duels": "Q matrix",
    "metric": "Q and metric",
    "ensembles": "ensembles",
    "sets": "label sets",
}
_NO_TRUTH = (
    "no person judged this, so that nothing can stand as the truth; labels come in by i on the projects"
)
_OF_PAIRS = ("duels", "metric")


class Picture(NamedTuple):
    """One figure. Either `grid` (heads and rows of cells) or `marks`, each with its row of the report; else neither.

    `picks` are what can be chosen about it, `chosen` their values. `notes` are the report's.
    """

    view: str
    title: str
    picks: tuple[Pick, ...]
    notes: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    grid: tuple[tuple[str, tuple[Cell, ...]], ...] = ()
    marks: tuple[Mark, ...] = ()
    rows: tuple[Row, ...] = ()
    axes: Axes = Axes("", "")
    topic: Topic = Topic("", "")

    @property
    def chosen(self) -> dict[str, str]:
        return {pick.name: pick.value for pick in self.picks}


class Behind(NamedTuple):
    """The cases behind a part of a figure: a filter, and which cases at all (None: every one) with their name."""

    filter_text: str
    cases: tuple[int, ...] | None = None
    name: str = ""


class Asked(NamedTuple):
    """What a figure is asked about: the project's topics, the one chosen, and who answered.

    `people` begin with whoever is the best truth: the users, then a consensus, then annotators.
    """

    db: Database
    project_id: int
    topics: tuple[Topic, ...]
    topic: Topic
    raters: tuple[str, ...]
    people: tuple[str, ...]


def picture(db: Database, project_id: int, topic: Topic, view: str, picked: Mapping[str, str]) -> Picture:
    """The figure `view` of VIEWS about a topic. What was picked and is not there any more gives way to the first."""
    from recjudge_tui.reports.scales import PAIR_PROTOCOLS

    topics = topics_of(db, project_id)
    at = picked.get("topic", "")
    topic = topics[int(at)] if at.isdigit() and int(at) < len(topics) else topic
    asked = _asked(db, project_id, topics, topic)
    if view in _OF_PAIRS and topic.protocol not in PAIR_PROTOCOLS:
        return Picture(view, VIEWS[view], _picks(asked, ()), (_no_pairs(asked),), topic=topic)
    make = {
        "confusion": _confusion,
        "duels": _duels,
        "metric": _against_metric,
        "ensembles": _ensembles,
        "sets": _label_sets,
    }[view]
    try:
        made = make(asked, picked)
    except RecjudgeError as error:
        made = Picture(view, VIEWS[view], _picks(asked, ()), _parts(error))
    return made._replace(topic=topic)


def _parts(error: RecjudgeError) -> tuple[str, ...]:
    return tuple(part for part in (error.title, error.cause, error.next_step) if part)


def _no_pairs(asked: Asked) -> str:
    from recjudge_tui.reports.scales import PAIR_PROTOCOLS

    named = dict.fromkeys(topic.protocol for topic in asked.topics if topic.protocol in PAIR_PROTOCOLS)
    there = f"choose one about {' or '.join(named)}" if named else "this project has none"
    return f"Q counts wins between two lists, and {asked.topic.protocol} judges one thing at a time: {there}"


def _asked(db: Database, project_id: int, topics: tuple[Topic, ...], topic: Topic) -> Asked:
    from recjudge_tui.reports.scales import asked, is_people, rater_rank
    from recjudge_tui.store.ratings import project_questions, project_raters

    raters = project_raters(db, project_id)
    found = asked(project_questions(db, project_id), raters, topic.protocol)
    names = {question.rater for question in found if question.aspect == topic.aspect}
    ranked = sorted(names, key=lambda name: rater_rank(raters[name]))
    people = [name for name in ranked if is_people(raters[name]) or raters[name].kind == "consensus"]
    people.sort(key=lambda name: ("ground_truth", "consensus", "annotator").index(raters[name].kind))
    return Asked(db, project_id, topics, topic, tuple(ranked), tuple(people))


def _picks(asked: Asked, more: Sequence[Pick]) -> tuple[Pick, ...]:
    topics = [(str(at), topic.words()) for at, topic in enumerate(asked.topics)]
    at = str(asked.topics.index(asked.topic)) if asked.topic in asked.topics else "0"
    return (Pick("topic", "question", topics, at), *more)


def _pick(name: str, label: str, values: Sequence[str], picked: Mapping[str, str], usual: str = "") -> Pick:
    value = picked.get(name, "")
    chosen = value if value in values else usual or (values[0] if values else "")
    return Pick(name, label, [(value, value) for value in values], chosen)


# ---- who gave which label where the other gave which


def _confusion(asked: Asked, picked: Mapping[str, str]) -> Picture:
    from recjudge_tui.reports.confusion import confusion_table
    from recjudge_tui.reports.pairing import AgreementOptions

    usual = asked.people[0] if asked.people else ""
    one = _pick("rater_a", "rater", asked.raters, picked)
    others = [name for name in asked.raters if name != one.value]
    other = _pick("rater_b", "against", others, picked, usual if usual in others else "")
    picks = _picks(asked, (one, other))
    if not others:
        return Picture("confusion", "Confusion", picks, ("a confusion table needs a second rater",))
    options = AgreementOptions(
        protocol=asked.topic.protocol, aspect=asked.topic.aspect, raters=(one.value, other.value)
    )
    table = confusion_table(asked.db, asked.project_id, options)
    if not table.rows:
        return Picture("confusion", "Confusion", picks, table.notes)
    first = table.rows[0]
    title = f"{first['rater_a']} (down) against {first['rater_b']} (across), n={number(whole(first['n']))}"
    heads, grid = confusion_grid(table)
    return Picture("confusion", title, picks, table.notes, heads, grid, rows=table.rows)


# ---- how many labels a verdict may stand for


def _label_sets(asked: Asked, picked: Mapping[str, str]) -> Picture:
    from recjudge_tui.reports.label_sets import found_sets, set_rows
    from recjudge_tui.tui.label_sets import COVERAGE_NOTE, set_grid

    judges = [name for name in asked.raters if name not in asked.people]
    one, truth = (
        _pick("rater_a", "rater", judges, picked),
        _pick("rater_b", "against", asked.people, picked),
    )
    picks = _picks(asked, (one, truth))
    if not judges or not asked.people:
        return Picture("sets", VIEWS["sets"], picks, (_NO_TRUTH,))
    topic = asked.topic
    found = found_sets(asked.db, asked.project_id, topic.protocol, topic.aspect, one.value, truth.value)
    rows = set_rows(found, one.value, truth.value)
    heads, grid = set_grid(rows)
    title = f"Labels in the sets of {one.value} (down), verdict (across), n={number(whole(rows[0]['n']))}"
    return Picture("sets", title, picks, (COVERAGE_NOTE,), heads, grid, rows=tuple(rows))


# ---- each system against each


def _duels(asked: Asked, picked: Mapping[str, str]) -> Picture:
    from recjudge_tui.reports.arena import arena_table

    table = arena_table(asked.db, asked.project_id, _ranking(asked), "matrix")
    picks = _judges(asked, table, picked, ())
    rows = [row for row in table.rows if row["rater"] == picks[1].value] if len(picks) > 1 else []
    if not rows:
        return Picture("duels", "Q matrix", picks, table.notes)
    systems = list(dict.fromkeys(str(row["system"]) for row in rows))
    found = {(str(row["system"]), str(row["opponent"])): row for row in rows}
    itself = Cell(Text(glyphs().dot, "dim", justify="right"), None)
    grid = tuple((a, tuple(itself if a == b else _duel(found.get((a, b))) for b in systems)) for a in systems)
    title = f"Q of the system down against the one across, judged by {picks[1].value}"
    return Picture("duels", title, picks, table.notes, tuple(systems), grid, rows=tuple(rows))


def _ranking(asked: Asked) -> LeaderboardOptions:
    from recjudge_tui.reports.leaderboard import LeaderboardOptions

    return LeaderboardOptions(asked.topic.protocol, aspect=asked.topic.aspect, method="q")


def _judges(asked: Asked, table: Table, picked: Mapping[str, str], more: Sequence[Pick]) -> tuple[Pick, ...]:
    """The choice among the raters of a table, after that of the question."""
    raters = list(dict.fromkeys(str(row["rater"]) for row in table.rows))
    rater = (_pick("rater", "judged by", raters, picked),) if raters else ()
    return _picks(asked, (*rater, *more))


def _duel(row: Row | None) -> Cell:
    if row is None:
        return Cell(Text(""), None)
    q = row["q"]
    if not isinstance(q, float) or q <= 0:
        return Cell(Text("0.00" if q == 0 else figure(q, glyphs()), justify="right"), row)
    # a Q of 4, or of a quarter, has the strongest shade
    away = math.log(q) / math.log(4)
    return Cell(shaded(f"{q:.2f}", ABOVE if away > 0 else BELOW, min(abs(away), 0.999)), row)


# ---- judged against measured


def _against_metric(asked: Asked, picked: Mapping[str, str]) -> Picture:
    from recjudge_tui.reports.arena import TOP_K, arena_table
    from recjudge_tui.reports.metrics import metrics_table

    board = arena_table(asked.db, asked.project_id, _ranking(asked))
    related = arena_table(asked.db, asked.project_id, _ranking(asked), "metrics")
    measured = metrics_table(asked.db, asked.project_id, TOP_K, resamples=0)
    names = list(dict.fromkeys(_measure(row) for row in measured.rows if isinstance(row["value"], float)))
    natural = next((name for row in related.rows if row["natural"] and (name := _measure(row)) in names), "")
    metric = (_pick("metric", "metric", names, picked, natural),) if names else ()
    picks = _judges(asked, board, picked, metric)
    chosen = {pick.name: pick.value for pick in picks}
    rows = _with_metric(board, measured, chosen)
    marks = [
        Mark(str(r["system"]), _real(r["measured"]), _real(r["q"]), _maybe(r["ci_low"]), _maybe(r["ci_high"]))
        for r in rows
    ]
    said = [
        row
        for row in related.rows
        if row["rater"] == chosen.get("rater") and _measure(row) == chosen.get("metric")
    ]
    notes = (*(_correlation(row) for row in said), *related.notes, *measured.notes)
    title = f"Q by {chosen.get('rater', '')} against {chosen.get('metric', 'an offline metric')}"
    axes = Axes(chosen.get("metric", ""), "Q, 95% CI")
    return Picture("metric", title, picks, notes, marks=tuple(marks), rows=tuple(rows), axes=axes)


def _with_metric(board: Table, measured: Table, chosen: Mapping[str, str]) -> list[Row]:
    """The ranked systems of the rater that have both a finite Q and the metric."""
    values = {str(r["system"]): r["value"] for r in measured.rows if _measure(r) == chosen.get("metric")}
    return [
        row | {"metric": chosen.get("metric"), "measured": values[str(row["system"])]}
        for row in board.rows
        if row["rater"] == chosen.get("rater") and row["opponent"] is None and isinstance(row["q"], float)
        and isinstance(values.get(str(row["system"])), float)
    ]  # fmt: skip


def _correlation(row: Row) -> str:
    """How far Q and the metric go together over the systems."""
    r, p = row["pearson"], row["p"]
    order = "rank the systems alike" if row["same_order"] else "do not rank the systems alike"
    note = f"; {row['note']}" if row["note"] else ""
    if not isinstance(r, float) or not isinstance(p, float):
        return f"Q and {_measure(row)} {order}; no correlation, {row['n']} systems{note}"
    return f"Pearson's r of Q and {_measure(row)} {r:.4f}, p {p:.4f}, {row['n']} systems; they {order}{note}"


def _measure(row: Row) -> str:
    return str(row["metric"]) if row["k"] is None else f"{row['metric']}@{row['k']}"


# ---- what more raters bring


def _ensembles(asked: Asked, picked: Mapping[str, str]) -> Picture:
    from recjudge_tui.reports.ensembles import ensembles_table
    from recjudge_tui.reports.pairing import AgreementOptions

    truth = _pick("truth", "truth", asked.people, picked)
    level = Pick(
        "level", "level", list(LEVEL_NAMES.items()), _in(picked.get("level"), LEVEL_NAMES, "dataset")
    )
    stats = {name: STAT_NAMES[name] for name in ("pearson", "spearman", "kendall")}
    stat = Pick("stat", "statistic", list(stats.items()), _in(picked.get("stat"), stats, "pearson"))
    picks = _picks(asked, (truth, level, stat))
    if not truth.value:
        return Picture("ensembles", "Ensembles", picks, (_NO_TRUTH,))
    options = AgreementOptions(
        protocol=asked.topic.protocol, aspect=asked.topic.aspect, truth=truth.value, stats=(stat.value,),
        levels=(level.value,),
    )  # fmt: skip
    table = ensembles_table(asked.db, asked.project_id, options)
    rows = [row for row in table.rows if isinstance(row["mean"], float)]
    marks = [
        Mark("", float(whole(row["size"])), _real(row["mean"]), _maybe(row["min"]), _maybe(row["max"]))
        for row in rows
    ]
    title = f"Means of 1 to {len(table.rows)} raters against {truth.value}: lowest, mean, highest"
    axes = Axes("raters", f"{stats[stat.value]}, {LEVEL_NAMES[level.value]}")
    return Picture("ensembles", title, picks, table.notes, marks=tuple(marks), rows=tuple(rows), axes=axes)


# ---- the cases behind


def behind(db: Database, project_id: int, shown: Picture, row: Row) -> Behind:
    """The cases behind one row of a figure."""
    topic = shown.topic
    from recjudge_tui.reports.scales import protocols_meeting
    from recjudge_tui.store.case_sets import cases_between

    topics = topics_of(db, project_id)
    meeting = [n for n in protocols_meeting(topic.protocol) or () if any(t.protocol == n for t in topics)]
    terms = about(topics, topic, tuple(meeting))
    if shown.view == "confusion":
        return _behind_cell(db, project_id, topic, row, terms)
    if shown.view == "sets":
        from recjudge_tui.reports.label_sets import cases_of, found_sets

        rater, truth = str(row["rater_a"]), str(row["rater_b"])
        found = found_sets(db, project_id, topic.protocol, topic.aspect, rater, truth)
        name = f"{rater} {row['label']}, sets of {row['labels']}"
        return Behind(_text([*terms, Term("judge", ":", rater)]), cases_of(found, row), name)
    if shown.view == "duels":
        cases = cases_between(db, project_id, str(row["system"]), str(row["opponent"]))
        name = f"{row['system']} against {row['opponent']}"
        return Behind(_text([*terms, Term("judge", ":", str(row["rater"]))]), tuple(cases), name)
    if shown.view == "metric":
        more = [Term("judge", ":", str(row["rater"])), Term("system", ":", str(row["system"]))]
        return Behind(_text([*terms, *more]))
    members = [*str(row["best"]).split(" + "), shown.chosen["truth"]]
    return Behind(_text([*terms, *(Term("judge", ":", name) for name in members)]))


def _behind_cell(db: Database, project_id: int, topic: Topic, row: Row, terms: list[Term]) -> Behind:
    from recjudge_tui.reports.confusion import cell_cases
    from recjudge_tui.reports.pairing import AgreementOptions

    options = AgreementOptions(
        protocol=topic.protocol, aspect=topic.aspect, raters=(str(row["rater_a"]), str(row["rater_b"]))
    )
    cases = tuple(cell_cases(db, project_id, row, options))
    judges = [Term("judge", ":", str(row[key])) for key in ("rater_a", "rater_b")]
    name = f"{row['rater_a']} {row['label_a']}, {row['rater_b']} {row['label_b']}"
    return Behind(_text([*terms, *judges]), cases, name)


def _text(terms: list[Term]) -> str:
    return VerdictFilter(tuple(terms)).text()


def _in(value: str | None, known: Mapping[str, str], usual: str) -> str:
    return value if value is not None and value in known else usual


def _real(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _maybe(value: object) -> float | None:
    return value if isinstance(value, float) else None
