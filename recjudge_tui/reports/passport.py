"""A judge's passport: one page about one judge and its prompts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from recjudge_tui.domain import protocols as facts
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.roles import FIRST_HAND, REFERENCES, RUN_RATERS
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.domain.selection import CaseSelection
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports import words as say
from recjudge_tui.reports.biases import FORMULA, RATING
from recjudge_tui.reports.calibration import CALIBRATED, error_table, stated_confidences, strictness_table
from recjudge_tui.reports.common.rows import cells_of, readable, real, whole
from recjudge_tui.reports.common.table import (
    Column,
    Kind,
    Note,
    Page,
    Row,
    Screen,
    Table,
    columns,
    definitions,
    render,
)
from recjudge_tui.reports.common.writers.cells import UNDEFINED, shown
from recjudge_tui.reports.declare import Options, on_cases
from recjudge_tui.reports.robustness import OUTCOMES
from recjudge_tui.reports.runs import model_text
from recjudge_tui.shapes import grouped
from recjudge_tui.stats.defaults import ALPHA, level_text
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.stats.intervals import mean_estimate, quantile_estimate, share_estimate
from recjudge_tui.stats.registry import SHARE, STATISTICS, label_of
from recjudge_tui.steps import Step
from recjudge_tui.store.calls import call_counts, latencies, repeated_answers
from recjudge_tui.store.database import StoredRow
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Rater, project_questions, project_raters
from recjudge_tui.store.runs import served_models, stored_runs

COLUMNS = columns(
    "part|Part", "figure protocol aspect", "against|Against", "value", "unit|Unit", "ci_*",
    "people|People|float", "n", "text|Text", "note",
)  # fmt: skip
_KINDS: dict[str, Kind] = {"share": "share", "usd": "usd", "count": "int"}
BEYOND = ", beyond people"
NOT_MEASURED = "not measured"
# the step of a row, which becomes a note
_STEP = "step"


def _row(name: object, unit: str = "", source: Row | Estimate | None = None, /, **more: object) -> Row:
    """A figure: the cells of an estimate or of a row of its own report, and `more`; a note is joined to an estimate's, which
    says why it is undefined."""
    row: Row = {"figure": name, "value": None, "unit": unit, "note": ""}
    if isinstance(source, Estimate):
        note = join_notes(source.note, str(more.get("note", "")))
        return row | more | source.cells | {"note": note}
    cells = ("protocol", "aspect", "value", "ci_low", "ci_high", "n", "note")
    return row | {key: source[key] for key in cells if source and key in source} | more


def _missing(name: str, why: str, step: Step | None = None, **where: object) -> Row:
    """A figure that is missing, and the step that would measure it."""
    return _row(name, note=f"{NOT_MEASURED}: {why}", **{_STEP: step}, **where)


# ---- as people read it -----------------------------------------------------------------------------------------------

_READ = columns("figure|Figure", "of|Of", "against|Against", "value|Value", "people|People|float", "n note")
# what is read first of the parts but agreement
_FIRST = (
    "position consistency", "correct", "planted faults detected", "equal answers", "calibration error", "failed calls",
    "price of 1,000 cases", "latency, median",
)  # fmt: skip


def _read(row: Row) -> Row:
    """A figure by its name with its question, its reference, and its interval in its own unit."""
    name, of, aspect = (str(row.get(key) or "") for key in ("figure", "protocol", "aspect"))
    if aspect not in ("", facts.OVERALL):
        of = aspect if of in facts.with_unit("explanation") else f"{of} · {aspect}"
    return {
        "figure": label_of(name) if name in STATISTICS else name, "of": of, "against": row.get("against") or "",
        "value": _amount(row), "people": row.get("people"), "n": row.get("n"),
        "note": str(row["note"]).removeprefix(f"{NOT_MEASURED}: "),
    }  # fmt: skip


def _amount(row: Row) -> str:
    """`0.57 (0.49 to 0.63)` in the figure's unit, a name, or that it was not measured."""
    if row.get("text"):
        return str(row["text"])
    unit = str(row.get("unit") or "")
    cells = (row.get(name) for name in ("value", "ci_low", "ci_high"))
    value, low, high = (None if cell is None else _in_unit(cell, unit) for cell in cells)
    if value is None:
        return NOT_MEASURED if str(row["note"]).startswith(NOT_MEASURED) else UNDEFINED
    return value if low is None else f"{value} ({low.removesuffix(' %')} to {str(high).removesuffix(' %')})"


def _in_unit(value: object, unit: str) -> str:
    if unit == "seconds" and isinstance(value, float):
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:,.1f} s"
    return shown(value, Column("value", "", _KINDS.get(unit, "float"), decimals=2))


def _agreements(of: PassportSource, found: Sequence[Row]) -> list[Row]:
    """Of each question the first statistic beside the users, else a consensus, else a person."""
    kinds = ("ground_truth", "consensus")
    known = [row for row in found if row["part"] == AGREEMENT and isinstance(row["value"], float)]
    place = {name: kinds.index(rater.kind) if rater.kind in kinds else 2 for name, rater in of.raters.items()}
    question = itemgetter("protocol", "aspect")
    best: dict[object, Row] = {}
    for row in sorted(known, key=lambda row: place[str(row["against"])]):
        best.setdefault(question(row), row)
    return [best[key] for key in dict.fromkeys(map(question, known))]


def _brief(of: PassportSource, found: Sequence[Row]) -> Table:
    """A line for each question that people answered too, and for each other part; what was not measured shares one."""
    lines: dict[tuple[object, ...], Row] = {}
    for row in (*_agreements(of, found), *(row for row in found if row["figure"] in _FIRST)):
        line = _read(row)
        key = (line["figure"], line["value"] if line["value"] == NOT_MEASURED else line["of"])
        if key in lines:
            lines[key]["of"] = ", ".join(filter(None, (str(lines[key]["of"]), str(line["of"]))))
        lines.setdefault(key, line)
    return Table(f"Passport of {of.rater.name}", _READ[:-1], cells_of(_READ[:-1], lines.values()))


# ---- passport parts ----------------------------------------------------------------------------------------------


AGREEMENT = "Agreement with people"
_PREFERENCES = {
    "texts": "prefers longer texts", "length": "prefers longer lists", "popularity": "prefers popular items",
    "homogeneity": "prefers uniform lists",
}  # fmt: skip
_CONFIDENCE = {
    "ece": "calibration error", "overconfidence": "overconfidence", "brier": "Brier score", "accuracy": "right",
}  # fmt: skip


@dataclass(frozen=True)
class PassportSource:
    """The subject of a passport: the rater, its judge, its runs and its protocols, on these cases."""

    project: Project
    cases: CaseSelection
    rater: Rater
    judge: JudgeSpec
    runs: list[StoredRow]
    protocols: tuple[str, ...]
    raters: Mapping[str, Rater]

    def mine(self, report: str, **options: object) -> list[Row]:
        """The rows of a report that are about the rater."""
        rows = on_cases(self.project, report, self.cases, **options).rows
        return [row for row in rows if row.get("rater", row.get("rater_a")) == self.rater.name]

    def counts(self, user: str) -> bool:
        return self.cases.users is None or user in self.cases.users

    def again(self, protocol: str, as_: str = "", **options: str) -> Step:
        """Judge once more with these options, as another rater where one rater gives only one verdict on a case."""
        words = [(option, word) for option, given in self.judge.words.items() for word in given]
        name = ("name", f"{self.rater.name} {as_}".rstrip())
        about = {"protocol": protocol, "judge": self.judge.spec}
        return Step("judge", about, (*words, name, *options.items()))

    def repeated(self, protocol: str) -> Step:
        return self.again(protocol, "repeated", sample="50", repeats="3")

    def fresh(self, protocol: str) -> Step:
        return self.again(protocol, "again", use_cache="")


def identity_rows(of: PassportSource) -> Iterator[Row]:
    """Judge, prompts, settings and served models, one row each."""
    yield _row("judge", "text", text=of.judge.spec)
    for run in of.runs:
        prompt = f"{run['prompt']} (SHA-256 {run['prompt_digest'][:12]})"
        yield _row("prompt", "text", text=prompt, protocol=run["protocol"])
    for run in of.runs:
        yield _row("asked with", "text", text=_settings(run), protocol=run["protocol"])
    protocol = {run["id"]: run["protocol"] for run in of.runs}
    served = served_models(of.project.db, of.project.id, of.rater.name, set(protocol.values()))
    for model in served:
        at, where = f"(run {model.run_id}, {model.created_at[:10]})", {"protocol": protocol[model.run_id]}
        if model.name or model.models:
            yield _row("served model", "text", text=f"{model_text(model)} {at}", **where)
        else:
            yield _missing("served model", f"neither a reply nor the server named a model {at}", **where)
    replied = (model for model in served if model.replies and (model.name or model.models))
    known = {(model.name, model.digest, model.models) for model in replied}
    if len(known) > 1:
        text = f"{len(known)} different models answered these runs"
        yield _row("served model changed", "text", text=text)


def _settings(run: StoredRow) -> str:
    settings = RunSettings.model_validate_json(run["settings"])
    sampling = sampling_of(settings, 0)
    text = f"temperature {sampling.temperature:g}, seed {settings.seed}, top {settings.top_k}, history {settings.history}"
    text += f", {settings.repeats} repeats" if settings.repeats > 1 else ""
    text += ", aspects one by one" if settings.aspects == "single" else ""
    return text + (f", users where {one_line(settings.where, 60)}" if settings.where else "")


def agreement_rows(of: PassportSource) -> Iterator[Row]:
    """The usual statistics against every person and consensus, by protocol and aspect, with the human ceiling."""
    people = [name for name, rater in of.raters.items() if rater.kind in REFERENCES]
    met: set[str] = set()
    if not of.protocols:
        yield _missing("agreement", "it only judged adversarial pairs", of.again(facts.SAER[0]))
    if people and of.protocols:
        for row in of.mine("agreement", raters=(of.rater.name, *people)):
            if str(row["protocol"]) in _scales(of.protocols):
                met.add(str(row["protocol"]))
                unit = "share" if STATISTICS[str(row["stat"])].bounds == SHARE else ""
                beside = {"against": row["rater_b"], "people": row["ceiling"], "note": row["note"] or ""}
                yield _row(row["stat"], unit, row, **beside)
    for protocol in of.protocols:
        if not _scales((protocol,)) & met:
            why = "no person judged these cases"
            yield _missing("agreement", why, Step("import labels"), protocol=protocol)


def strictness_rows(of: PassportSource) -> Iterator[Row]:
    """By how much it rates lists and texts higher than the annotators do, on the same cases."""
    annotators = [name for name, rater in of.raters.items() if rater.kind == "annotator"]
    alone = [protocol for protocol in of.protocols if not facts.compares_lists(protocol)]
    table = strictness_table(of.project, (of.rater.name,), annotators, alone, of.cases)
    for row in table.rows:
        if row["rater"] == of.rater.name and row["figure"] == "bias" and row["value"] is not None:
            note = row["note"] or "below 0: stricter"
            yield _row("milder by", "", row, against=row["against"], note=note)


def _scales(protocols: tuple[str, ...]) -> set[str]:
    """The protocols under which agreement may be reported: their own, or the one whose question they answer."""
    return {*protocols, *map(facts.question_of, protocols)}


def position_rows(of: PassportSource) -> Iterator[Row]:
    """All pairs of systems together: position consistency, true ties, and Set 1 minus Set 2, by protocol and aspect."""
    answered: list[Row] = []
    for protocol in filter(facts.compares_lists, of.protocols):
        rows = of.mine("robustness position", protocol=protocol, rater=of.rater.name, gap=False)
        # the row about all systems is the first of its aspect
        answered += {row["aspect"]: row | {"protocol": protocol} for row in reversed(rows)}.values()
    if not answered:
        yield _missing("position consistency", "it judged no pair of lists", of.again(facts.SAER[1]))
    for row in say.adjusted(answered, holm, "p_holm"):
        where, p = {"protocol": row["protocol"], "aspect": row["aspect"], "n": row["pairs"]}, row["p_holm"]
        if row["consistency"] is None:
            why = "no pair was answered in both orders"
            again = of.again(str(row["protocol"]), "swapped", swap="")
            yield _missing("position consistency", why, again, **where)
            continue
        note = "calls that chose Set 1 minus calls that chose Set 2"
        if isinstance(p, float) and p < ALPHA:
            note += f": favours Set {1 if real(row, 'favour') > 0 else 2}"
        for name, value, ends, about in (
            ("position consistency", "consistency", "ci", row["note"]),
            ("true ties", "true_share", "true", ""),
            ("favours Set 1 by", "favour", "favour", note),
        ):
            cells = {"value": row[value], "ci_low": row[f"{ends}_low"], "ci_high": row[f"{ends}_high"]}
            yield _row(name, "share", note=about, **cells, **where)


def adversarial_rows(of: PassportSource) -> Iterator[Row]:
    """Own list against a foreign one: correct, wrong and tie, as published and without hints."""
    rows = [row for row in of.mine("robustness adversarial", rater=of.rater.name) if row["system"] is None]
    if not rows:
        step = Step("robustness", {"judge": of.judge.spec})
        yield _missing("correct", "it judged no list of another user", step)
    unseen = "without items the user already has, both lists of equal length"
    for row in rows:
        lists = "" if row["lists"] == "published" else unseen
        note = join_notes(lists, f"{row['failed']} failed" if row["failed"] else "", str(row["note"]))
        about = {"value": row["share"], "protocol": row["lists"], "note": note}
        yield _row(row["outcome"], "share", row, **about)


def planted_rows(of: PassportSource) -> Iterator[Row]:
    """Faults planted into real lists: flagged for their issue or another one, missed, and false alarms."""
    rows = of.mine("robustness injected", rater=of.rater.name)
    if not rows:
        why = "it judged no list with a planted fault"
        yield _missing("planted faults detected", why, Step("planted", {"judge": of.judge.spec}))
    # those of all faults together come first
    for row in rows[: len(OUTCOMES)]:
        yield _row(f"planted faults {row['outcome']}", "share", row, value=row["share"])


def consistency_rows(of: PassportSource) -> Iterator[Row]:
    """Repeats of one question: the chance that two answers are equal, mean over questions, interval over users. A
    question with m answers, c_l of them with label l, has the value sum c_l (c_l - 1) / (m (m - 1))."""
    answers = repeated_answers(of.project.db, of.project.id, of.runs)
    for protocol in dict.fromkeys(run["protocol"] for run in of.runs):
        values: dict[tuple[int, str], Counter[float]] = defaultdict(Counter)
        raters = {of.rater.name}
        for rater, asked, user, question, value in answers:
            if asked == protocol and of.counts(user):
                values[question, user][value] += 1
                raters.add(rater)
        twice = [(user, counts) for (_, user), counts in values.items() if counts.total() > 1]
        shares = [sum(c * (c - 1) for c in n.values()) / (n.total() * (n.total() - 1)) for _, n in twice]
        if not shares:
            if protocol in facts.offered():
                why = "no call was asked twice"
                yield _missing("equal answers", why, of.repeated(protocol), protocol=protocol)
            continue
        consistency = mean_estimate(shares, np.array([user for user, _ in twice]), (0.0, 1.0))
        others = sorted(raters - {of.rater.name})
        note = f"same judge and prompt, as {', '.join(others)}" if others else ""
        yield _row("equal answers", "share", consistency, protocol=protocol, note=note)


def confidence_rows(of: PassportSource) -> Iterator[Row]:
    """How far the judge's stated confidence can be believed: against the labels of each person."""
    questions = project_questions(of.project.db, of.project.id)
    answered = {q for q in questions if q.rater == of.rater.name and facts.protocol_facts(q.protocol).labels}
    met = False
    for name in (name for name, rater in of.raters.items() if rater.kind in REFERENCES):
        if not any(q._replace(rater=of.rater.name) in answered for q in questions if q.rater == name):
            continue
        for row in error_table(stated_confidences(of.project, of.rater.name, name, cases=of.cases)).rows:
            if row["value"] is not None:
                met = True
                what = _CONFIDENCE[str(row["stat"])] + (", calibrated" if row["stage"] == CALIBRATED else "")
                yield _row(what, "share" if row["stat"] == "accuracy" else "", row, against=name)
    if not met:
        why = "no verdict that a person labelled has a confidence"
        yield _missing("calibration error", why, of.repeated(of.runs[-1]["protocol"]))


def failure_rows(of: PassportSource) -> Iterator[Row]:
    """The share of failed calls, and of each reason; answers reused from earlier runs are left out."""
    found = [count for count in call_counts(of.project.db, of.rater.id) if of.counts(count[0])]
    counts, reused = [count[:3] for count in found if count[2]], sum(count[3] for count in found)
    note = f"{reused:,} answers from earlier runs left out" if reused else ""
    if not counts:
        why = f"all {reused:,} answers came from earlier runs" if reused else "no call has ended yet"
        again = of.fresh(of.runs[-1]["protocol"])
        yield _missing("failed calls", why, again if reused else None)
        return
    calls = [number for *_, number in counts]
    users, kinds = (np.repeat([count[at] for count in counts], calls) for at in (0, 1))
    yield _row("failed calls", "share", share_estimate(kinds != "", users), note=note)
    for kind, _ in Counter(kind for kind in kinds.tolist() if kind).most_common():
        yield _row(f"of them {kind}", "share", share_estimate(kinds == kind, users))


def preference_rows(of: PassportSource) -> Iterator[Row]:
    """The judge's own preferences, and by how much they exceed those of people on the same cases."""
    if not of.protocols:
        yield _missing("prefers popular items", "it only judged adversarial pairs", of.again(facts.SAER[0]))
        return
    people = [name for name, rater in of.raters.items() if rater.kind in FIRST_HAND]
    rows = on_cases(of.project, "biases", of.cases, rater=of.rater.name, truth=tuple(people)).rows
    key = itemgetter("protocol", "aspect", "covariate")
    beyond = {key(row): row for row in rows if row["figure"] != RATING}
    for row in (row for row in rows if row["figure"] == RATING):
        of_texts = facts.protocol_facts(str(row["protocol"])).unit == "explanation"
        name = _PREFERENCES["texts" if of_texts else str(row["covariate"])]
        yield _row(name, "", row)
        if (further := beyond.get(key(row))) is not None:
            yield _row(name + BEYOND, "", further, against=further["truth"])
        elif row["value"] is not None:
            where = {"protocol": row["protocol"], "aspect": row["aspect"]}
            yield _missing(name + BEYOND, "no people judged these", Step("import labels"), **where)


def price_rows(of: PassportSource) -> Iterator[Row]:
    """Dollars for 1,000 judged cases by protocol and prompt; seconds per call, median and 95th percentile."""
    name = "price of 1,000 cases"
    for row in of.mine("cost"):
        cells = (row[cell] for cell in ("cost_per_case", "ci_low", "ci_high"))
        value, low, high = (cell * 1000 if isinstance(cell, float) else None for cell in cells)
        protocol, note = str(row["protocol"]), str(row["note"] or "")
        if value is None:
            step = Step("price") if "price" in note else of.fresh(protocol)
            yield _missing(name, note, step, protocol=protocol)
        else:
            price = Estimate(value, low, high, whole(row, "cases"), note=note)
            yield _row(name, "usd", price, protocol=protocol)
    seconds = [spent for user, spent in latencies(of.project.db, of.rater.id) if of.counts(user)]
    for name, p in (("latency, median", 0.5), ("latency, 95th percentile", 0.95)):
        if seconds:
            note = "the interval lies between two ordered calls; concurrency was that of the runs"
            yield _row(name, "seconds", quantile_estimate(seconds, p), note=note)
        else:
            yield _missing(name, "no call was timed", of.fresh(of.runs[-1]["protocol"]))


_PARTS = {
    "Judge": identity_rows, AGREEMENT: agreement_rows, "Strictness": strictness_rows, "Position": position_rows,
    "Adversarial pairs": adversarial_rows, "Planted faults": planted_rows, "Self-consistency": consistency_rows,
    "Confidence": confidence_rows, "Failures": failure_rows, "Preferences": preference_rows,
    "Price and latency": price_rows,
}  # fmt: skip


def passport(project: Project, choose: Options) -> Table:
    """One row per figure: the judge's identity, agreement with people, position, adversarial pairs, self-consistency,
    confidence, failures by reason, preferences, price and latency. `unit` says what a value is: share, usd, seconds,
    text (then it is in `text`), or nothing. A figure that was not measured is None, and a note carries the step that
    would measure it. Raises NotFoundError for an unknown rater, UsageError for one without runs: a person, a consensus,
    a metric."""
    db, rater = project.db, choose.rater
    row = rater_row(db, project.id, rater)
    runs = stored_runs(db, rater_id=row["id"])
    raters = project_raters(db, project.id)
    if not runs:
        judges = ", ".join(name for name, known in raters.items() if known.kind in RUN_RATERS)
        reason = f"“{rater}” has no passport because it has no runs"
        raise UsageError(reason, f"It is of the kind {row['kind']}.", f"Judges: {judges or 'none yet'}.")
    judge = JudgeSpec.model_validate_json(runs[-1]["judge"])
    questions = [question for question in project_questions(db, project.id) if question.rater == rater]
    protocols = tuple(dict.fromkeys(question.protocol for question in questions))
    source = PassportSource(project, choose.cases, raters[rater], judge, runs, protocols, raters)
    found: list[Row] = [{"part": part} | row for part, rows in _PARTS.items() for row in rows(source)]
    steps = []
    for figure in found:
        if isinstance(step := figure.pop(_STEP, None), Step):
            name = f"{figure['figure']} ({figure.get('protocol') or figure['part']})"
            steps.append(Note(f"{name} was not measured", "data", step))
    compared = {rater, *(str(row.get("against")) for row in found)}
    notes = say.rater_notes(raters[name] for name in compared if name in raters)
    notes += [*say.origin_notes(project, questions), *steps]
    notes += definitions(f"intervals are {level_text()}, over users\n{FORMULA}")
    table = Table(f"Passport of {rater}", COLUMNS, tuple(found), tuple(notes), {"judge": judge.spec})
    return replace(table, answer=_answer(source, found), brief=_brief(source, found))


def _answer(of: PassportSource, rows: list[Row]) -> str:
    """How far it agrees with people beside people among themselves, and whether position matters."""
    rater, said = of.rater.name, []
    for row in _agreements(of, rows)[:1]:
        people = row.get("people")
        beside = f"; people reach {people:.2f}" if isinstance(people, float) else ""
        said.append(f"{label_of(str(row['figure']))} with {row['against']} {row['value']:.2f}{beside}")
    by_name = {row["figure"]: row for row in reversed(rows) if isinstance(row["value"], float)}
    if alike := by_name.get("position consistency"):
        said.append(f"{100 * real(alike, 'value'):.0f} % of pairs judged alike in both orders")
    if failed := by_name.get("failed calls"):
        said.append(f"{100 * real(failed, 'value'):.1f} % of calls failed")
    return f"{rater}: {'; '.join(said)}." if said else f"Nothing about {rater} was measured yet."


def page(table: Table, fmt: str, whole: bool) -> str | None:
    """A passport with a table for each part; None for the formats of data, and for a text of which only what is read
    first is wanted."""
    if fmt not in ("text", "md", "html") or (fmt == "text" and not whole):
        return None
    notes = readable(table, whole=True, notes="all")[0].notes
    parts = []
    for part, found in grouped((str(row["part"]), _read(row)) for row in table.rows).items():
        filled = tuple(c for c in _READ if any(line[c.name] not in (None, "") for line in found))
        parts.append(Table(part, filled, cells_of(filled, found)))
    lead = tuple(filter(None, (table.answer, *notes)))
    made = Page(table.title, lead, tuple(parts), table.settings)
    return render(made, fmt, Screen(width=100)).text.rstrip("\n")
