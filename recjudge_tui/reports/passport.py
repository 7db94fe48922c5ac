"""A judge's passport: one page about one judge and its prompts."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import (
    OVERALL,
    SAER,
    compares_lists,
    offered,
    protocol_facts,
    question_of,
    with_unit,
)
from recjudge_tui.domain.run import RunSettings, sampling_of
from recjudge_tui.domain.steps import Step
from recjudge_tui.errors import UsageError
from recjudge_tui.project import Project
from recjudge_tui.reports.biases import FORMULA, RATING, biases_table
from recjudge_tui.reports.calibration import CALIBRATED, error_table, stated_confidences, strictness_table
from recjudge_tui.reports.common.estimate_cells import interval_cells, interval_columns
from recjudge_tui.reports.common.page import Page, render_page
from recjudge_tui.reports.common.scales import (
    is_judging,
    is_people,
    origin_notes,
    rater_notes,
    speaks_for_people,
)
from recjudge_tui.reports.common.table import Column, Kind, Note, Row, Screen, Table, definition, readable
from recjudge_tui.reports.common.writers.cells import UNDEFINED, shown
from recjudge_tui.reports.declare import Options, table_of
from recjudge_tui.stats.defaults import ALPHA, level_text
from recjudge_tui.stats.estimate import Estimate, join_notes
from recjudge_tui.stats.hypotheses import holm
from recjudge_tui.stats.intervals import mean_estimate, quantile_estimate, share_estimate
from recjudge_tui.stats.registry import SHARE, STATISTICS
from recjudge_tui.store.calls import (
    cached_calls,
    call_counts,
    latencies,
    repeated_answers,
)
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.raters import rater_row
from recjudge_tui.store.ratings import Rater, project_questions, project_raters
from recjudge_tui.store.runs import ServedModel, served_models, stored_runs

# ---- passport rows -----------------------------------------------------------------------------------------------


COLUMNS = (
    Column("part", "Part"),
    Column("figure", "Figure"),
    Column("protocol", "Protocol"),
    Column("aspect", "Aspect"),
    Column("against", "Against"),
    Column("value", "Value", "float"),
    Column("unit", "Unit"),
    *interval_columns(),
    Column("people", "People", "float"),
    Column("n", "n", "int"),
    Column("text", "Text"),
    Column("note", "Note"),
)
_KINDS: dict[str, Kind] = {"share": "share", "usd": "usd", "count": "int"}
BEYOND = ", beyond people"
_OWN, _FURTHER = "Judge", "Beyond people"
NOT_MEASURED = "not measured"
# the step of a row, which becomes a note
_STEP = "step"


def figure(
    part: str, name: str, estimate: Estimate, unit: str = "", *, note: str = "", **where: object
) -> Row:
    """A figure with its n and interval; if it is undefined, the estimate's note says why."""
    return {
        "part": part,
        "figure": name,
        "value": estimate.value,
        "unit": unit,
        **interval_cells(estimate),
        "n": estimate.n,
        "note": join_notes(estimate.note, note),
        **where,
    }


def text_entry(part: str, name: str, text: str, **where: object) -> Row:
    """An entry that is not a number: a name, a version."""
    return {"part": part, "figure": name, "value": None, "unit": "text", "text": text, "note": "", **where}


def missing(part: str, name: str, why: str, step: Step | None = None, **where: object) -> Row:
    """A figure that is missing, and the step that would measure it."""
    note = f"{NOT_MEASURED}: {why}"
    return {"part": part, "figure": name, "value": None, "unit": "", "note": note, _STEP: step, **where}


def sections(table: Table) -> tuple[Table, ...]:
    """The parts of a passport as tables for people: figures with their units and intervals, those of one question side
    by side, empty columns left out."""
    tables = []
    for part in dict.fromkeys(str(row["part"]) for row in table.rows):
        rows = [row for row in table.rows if row["part"] == part]
        keys = dict.fromkeys(_placed(row)[0] for row in rows)
        headings = dict.fromkeys(_placed(row)[1] for row in rows)
        lines = [_line(key, [row for row in rows if _placed(row)[0] == key]) for key in keys]
        columns = [Column("what", "Figure"), Column("of", "Of"), Column("against", "Against")]
        columns += [Column(heading, heading) for heading in headings]
        columns += [Column("people", "People", "float"), Column("n", "n", "int"), Column("note", "Note")]
        shown_ones = tuple(c for c in columns if any(line.get(c.name) not in (None, "") for line in lines))
        names = {column.name for column in shown_ones}
        kept = tuple({name: cell for name, cell in line.items() if name in names} for line in lines)
        tables.append(Table(part, shown_ones, kept))
    return tuple(tables)


_Key = tuple[str, str, str]


def _placed(row: Row) -> tuple[_Key, str]:
    """The line of a figure in its part (name, question, reference) and its column."""
    name, against = str(row["figure"]), str(row.get("against") or "")
    of = _question(str(row.get("protocol") or ""), str(row.get("aspect") or ""))
    if name in STATISTICS:
        return ("", of, against), STATISTICS[name].label
    if str(row["part"]) == "Preferences":
        return (name.removesuffix(BEYOND), of, ""), _FURTHER if name.endswith(BEYOND) else _OWN
    return (name, of, against), "Value"


def _question(protocol: str, aspect: str) -> str:
    if aspect in ("", OVERALL):
        return protocol
    return aspect if protocol in with_unit("explanation") else f"{protocol} · {aspect}"


def _line(key: _Key, rows: list[Row]) -> Row:
    line: Row = dict(zip(("what", "of", "against"), key, strict=True))
    for row in rows:
        line[_placed(row)[1]] = _amount(row)
    line["people"] = next((row["people"] for row in rows if row.get("people") is not None), None)
    line["n"] = next((row["n"] for row in rows if row.get("n") is not None), None)
    return line | {"note": join_notes(*(str(row["note"]).removeprefix(f"{NOT_MEASURED}: ") for row in rows))}


def _amount(row: Row) -> str:
    """`0.57 (0.49 to 0.63)` in the figure's unit, a name, or that it was not measured."""
    if row.get("text"):
        return str(row["text"])
    value, low, high = (row.get(name) for name in ("value", "ci_low", "ci_high"))
    if value is None:
        return NOT_MEASURED if str(row["note"]).startswith(NOT_MEASURED) else UNDEFINED
    unit = str(row.get("unit") or "")
    if low is None or high is None:
        return _in_unit(value, unit)
    ends = [_in_unit(end, unit).removesuffix(" %") for end in (low, high)]
    return f"{_in_unit(value, unit)} ({ends[0]} to {ends[1]})"


def _in_unit(value: object, unit: str) -> str:
    if unit == "seconds" and isinstance(value, float):
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:,.1f} s"
    return shown(value, Column("value", "", _KINDS.get(unit, "float"), decimals=2))


# ---- passport parts ----------------------------------------------------------------------------------------------


JUDGE, AGREEMENT, POSITION = "Judge", "Agreement with people", "Position"
ADVERSARIAL, CONSISTENCY, FAILURES = "Adversarial pairs", "Self-consistency", "Failures"
CONFIDENCE, STRICTNESS = "Confidence", "Strictness"
PREFERENCES, PRICE = "Preferences", "Price and latency"
_PREFERENCES = {
    "texts": "prefers longer texts", "length": "prefers longer lists", "popularity": "prefers popular items",
    "homogeneity": "prefers uniform lists",
}  # fmt: skip
_CONFIDENCE = {
    "ece": "calibration error", "overconfidence": "overconfidence", "brier": "Brier score", "accuracy": "right",
}  # fmt: skip


@dataclass(frozen=True)
class PassportSource:
    """The subject of a passport: the rater, its judge, its runs and its protocols."""

    project: Project
    rater: Rater
    judge: JudgeSpec
    runs: list[StoredRow]
    protocols: tuple[str, ...]

    def again(self, protocol: str, more: str = "", name: str = "") -> Step:
        """Judge once more: with `more` options, as another rater where one rater gives only one verdict on a case."""
        words = " ".join(
            f"{ADDRESS_OPTIONS[option].flag} {word}"
            for option, given in self.judge.words.items()
            for word in given
        )
        rater = f"--name {shlex.quote(name or self.rater.name)}"
        about = {
            "protocol": protocol,
            "judge": self.judge.spec,
            "more": " ".join(filter(None, (words, rater, more))),
        }
        return Step("judge", about)

    def repeated(self, protocol: str) -> Step:
        return self.again(protocol, "--sample 50 --repeats 3", f"{self.rater.name} repeated")

    def fresh(self, protocol: str) -> Step:
        return self.again(protocol, "--no-cache", f"{self.rater.name} again")


def identity_rows(of: PassportSource) -> Iterator[Row]:
    """Judge, prompts, settings and served models, one row each."""
    yield text_entry(JUDGE, "judge", of.judge.spec)
    for run in of.runs:
        prompt = f"{run['prompt']} (SHA-256 {run['prompt_digest'][:12]})"
        yield text_entry(JUDGE, "prompt", prompt, protocol=run["protocol"])
    for run in of.runs:
        yield text_entry(JUDGE, "asked with", _settings(run), protocol=run["protocol"])
    served = served_models(of.project.db, of.project.id, of.rater.name, {run["protocol"] for run in of.runs})
    protocol = {run["id"]: run["protocol"] for run in of.runs}
    for model in served:
        at = f"run {model.run_id}, {model.created_at[:10]}"
        named = _served(model)
        if named:
            yield text_entry(JUDGE, "served model", f"{named} ({at})", protocol=protocol[model.run_id])
        else:
            why = "neither a reply nor the server named a model"
            yield missing(JUDGE, "served model", f"{why} ({at})", protocol=protocol[model.run_id])
    known = {(model.name, model.digest, model.models) for model in served if model.replies and _served(model)}
    if len(known) > 1:
        yield text_entry(JUDGE, "served model changed", f"{len(known)} different models answered these runs")


def _settings(run: StoredRow) -> str:
    settings = RunSettings.model_validate_json(run["settings"])
    sampling = sampling_of(settings, 0)
    text = f"temperature {sampling.temperature:g}, seed {settings.seed}, top {settings.top_k}, history {settings.history}"
    repeats = f", {settings.repeats} repeats" if settings.repeats > 1 else ""
    single = ", aspects one by one" if settings.aspects == "single" else ""
    return text + repeats + single


def _served(model_row: ServedModel) -> str:
    digest = f" {model_row.digest[:19]}" if model_row.digest else ""
    replied = [model for model in model_row.models if model != model_row.name]
    named = f"{model_row.name}{digest}"
    return named + (f", replies name {', '.join(replied)}" if replied and named else ", ".join(replied))


def agreement_rows(of: PassportSource) -> Iterator[Row]:
    """The usual statistics against every person and consensus, by protocol and aspect, with the human ceiling."""
    raters = project_raters(of.project.db, of.project.id)
    people = [name for name, r in raters.items() if speaks_for_people(r)]
    met: set[str] = set()
    if not of.protocols:
        why = "it only judged adversarial pairs"
        yield missing(AGREEMENT, "agreement", why, of.again(SAER[0]))
    if people and of.protocols:
        for row in table_of(of.project, "agreement", raters=(of.rater.name, *people)).rows:
            if row["rater_a"] == of.rater.name and str(row["protocol"]) in _scales(of.protocols):
                met.add(str(row["protocol"]))
                where = {
                    name: row[name] for name in ("protocol", "aspect", "value", "ci_low", "ci_high", "n")
                }
                yield (
                    {"part": AGREEMENT, "figure": row["stat"], "against": row["rater_b"]}
                    | where
                    | {
                        "unit": "share" if STATISTICS[str(row["stat"])].bounds == SHARE else "",
                        "people": row["ceiling"],
                        "note": row["note"] or "",
                    }
                )
    for protocol in of.protocols:
        if not _scales((protocol,)) & met:
            why = "no person judged these cases"
            yield missing(AGREEMENT, "agreement", why, Step("import labels"), protocol=protocol)


def strictness_rows(of: PassportSource) -> Iterator[Row]:
    """By how much it rates lists and texts higher than the annotators do, on the same cases."""
    raters = project_raters(of.project.db, of.project.id)
    annotators = [name for name, rater in raters.items() if rater.kind == "annotator"]
    alone = [protocol for protocol in of.protocols if not compares_lists(protocol)]
    table = strictness_table(of.project, (of.rater.name,), annotators, alone)
    for row in table.rows:
        if row["rater"] == of.rater.name and row["figure"] == "bias" and row["value"] is not None:
            kept = {name: row[name] for name in ("protocol", "aspect", "value", "ci_low", "ci_high", "n")}
            yield {"part": STRICTNESS, "figure": "milder by", "unit": ""} | kept | {
                "against": row["against"], "note": row["note"] or "below 0: stricter",
            }  # fmt: skip


def _scales(protocols: tuple[str, ...]) -> set[str]:
    """The protocols under which agreement may be reported: their own, or the one whose question they answer."""
    return {*protocols, *map(question_of, protocols)}


def position_rows(of: PassportSource) -> Iterator[Row]:
    """All pairs of systems together: position consistency, true ties, and Set 1 minus Set 2, by protocol and aspect."""
    of_pairs = [protocol for protocol in of.protocols if compares_lists(protocol)]
    if not of_pairs:
        why = "it judged no pair of lists"
        yield missing(POSITION, "position consistency", why, of.again(SAER[1]))
    answered: list[Row] = []
    for protocol in of_pairs:
        asked = {"protocol": protocol, "rater": of.rater.name, "gap": False}
        rows = table_of(of.project, "robustness position", **asked).rows
        # the row about all systems is the first of its aspect
        answered += {row["aspect"]: row | {"protocol": protocol} for row in reversed(rows)}.values()
    adjusted = holm([p if isinstance(p := row["p"], float) else None for row in answered])
    for row, p in zip(answered, adjusted, strict=True):
        where: Row = {
            "protocol": row["protocol"],
            "aspect": row["aspect"],
            "n": row["pairs"],
            "unit": "share",
        }
        if row["consistency"] is None:
            why = "no pair was answered in both orders"
            again = of.again(str(row["protocol"]), "--swap", f"{of.rater.name} swapped")
            yield missing(POSITION, "position consistency", why, again, **where)
            continue
        ends = {"ci_low": row["ci_low"], "ci_high": row["ci_high"], "note": row["note"]}
        yield {"part": POSITION, "figure": "position consistency", "value": row["consistency"]} | ends | where
        ends = {"ci_low": row["true_low"], "ci_high": row["true_high"], "note": ""}
        yield {"part": POSITION, "figure": "true ties", "value": row["true_share"]} | ends | where
        note = "calls that chose Set 1 minus calls that chose Set 2"
        if p is not None and p < ALPHA:
            note += f": favours Set {1 if float(str(row['favour'])) > 0 else 2}"
        ends = {"ci_low": row["favour_low"], "ci_high": row["favour_high"], "note": note}
        yield {"part": POSITION, "figure": "favours Set 1 by", "value": row["favour"]} | ends | where


def adversarial_rows(of: PassportSource) -> Iterator[Row]:
    """Own list against a foreign one: correct, wrong and tie, as published and without hints."""
    rows = [
        row
        for row in table_of(of.project, "robustness adversarial", rater=of.rater.name).rows
        if row["rater"] == of.rater.name and row["system"] is None
    ]
    if not rows:
        why = "it judged no list of another user"
        yield missing(ADVERSARIAL, "correct", why, Step("robustness", {"judge": of.judge.spec}))
    for row in rows:
        failed = row["failed"]
        lists = (
            ""
            if row["lists"] == "published"
            else "without items the user already has, both lists of equal length"
        )
        note = "; ".join(
            part for part in (lists, f"{failed} failed" if failed else "", str(row["note"])) if part
        )
        kept = {name: row[name] for name in ("value", "ci_low", "ci_high", "n") if name in row}
        yield (
            {"part": ADVERSARIAL, "figure": row["outcome"], "value": row["share"], "unit": "share"}
            | kept
            | {
                "protocol": row["lists"],
                "note": note,
            }
        )


def consistency_rows(of: PassportSource) -> Iterator[Row]:
    """Repeats of one question: the chance that two answers are equal, mean over questions, interval over users.

    A question with m answers, c_l of them with label l, has the value sum c_l (c_l - 1) / (m (m - 1)).
    """
    answers = repeated_answers(of.project.db, of.project.id, of.runs)
    for protocol in dict.fromkeys(run["protocol"] for run in of.runs):
        values: dict[int, Counter[float]] = defaultdict(Counter)
        users: dict[int, str] = {}
        alike = [answer for answer in answers if answer.protocol == protocol]
        for answer in alike:
            values[answer.question][answer.value] += 1
            users[answer.question] = answer.user_id
        shares = {q: _equal_pairs(counts) for q, counts in values.items() if sum(counts.values()) > 1}
        if not shares:
            if protocol in offered():
                why, again = "no call was asked twice", of.repeated(protocol)
                yield missing(CONSISTENCY, "equal answers", why, again, protocol=protocol)
            continue
        owners = np.array([users[question] for question in shares])
        consistency = mean_estimate(list(shares.values()), owners, (0.0, 1.0))
        others = sorted({answer.rater for answer in alike} - {of.rater.name})
        note = f"same judge and prompt, as {', '.join(others)}" if others else ""
        yield figure(CONSISTENCY, "equal answers", consistency, "share", protocol=protocol, note=note)


def _equal_pairs(counts: Counter[float]) -> float:
    m = sum(counts.values())
    return sum(c * (c - 1) for c in counts.values()) / (m * (m - 1))


def confidence_rows(of: PassportSource) -> Iterator[Row]:
    """How far the judge's stated confidence can be believed: against the labels of each person."""
    raters = project_raters(of.project.db, of.project.id)
    questions = project_questions(of.project.db, of.project.id)
    answered = {q for q in questions if q.rater == of.rater.name and protocol_facts(q.protocol).labels}
    met = False
    for name in (name for name, rater in raters.items() if speaks_for_people(rater)):
        if not any(q._replace(rater=of.rater.name) in answered for q in questions if q.rater == name):
            continue
        project = of.project
        for row in error_table(stated_confidences(project, of.rater.name, name)).rows:
            if row["value"] is None:
                continue
            met = True
            after = ", calibrated" if row["stage"] == CALIBRATED else ""
            yield {
                "part": CONFIDENCE, "figure": _CONFIDENCE[str(row["stat"])] + after, "against": name,
                "unit": "share" if row["stat"] == "accuracy" else "",
            } | {key: row[key] for key in ("protocol", "aspect", "value", "ci_low", "ci_high", "n", "note")}  # fmt: skip
    if not met:
        why = "no verdict that a person labelled has a confidence"
        again = of.repeated(of.runs[-1]["protocol"])
        yield missing(CONFIDENCE, "calibration error", why, again)


def failure_rows(of: PassportSource) -> Iterator[Row]:
    """The share of failed calls, and of each reason; answers reused from earlier runs are left out."""
    counts = call_counts(of.project.db, of.rater.id)
    reused = cached_calls(of.project.db, of.rater.id)
    note = f"{reused:,} answers from earlier runs left out" if reused else ""
    if not counts:
        why = f"all {reused:,} answers came from earlier runs" if reused else "no call has ended yet"
        again = of.fresh(of.runs[-1]["protocol"])
        yield missing(FAILURES, "failed calls", why, again if reused else None)
        return
    calls = np.array([count.calls for count in counts])
    users = np.repeat([count.user_id for count in counts], calls)
    kinds = np.repeat([count.error_kind for count in counts], calls)
    yield figure(FAILURES, "failed calls", share_estimate(kinds != "", users), "share", note=note)
    for kind, _ in Counter(kind for kind in kinds.tolist() if kind).most_common():
        share = share_estimate(kinds == kind, users)
        yield figure(FAILURES, f"of them {kind}", share, "share")


def preference_rows(of: PassportSource) -> Iterator[Row]:
    """The judge's own preferences, and by how much they exceed those of people on the same cases."""
    if not of.protocols:
        why = "it only judged adversarial pairs"
        yield missing(PREFERENCES, "prefers popular items", why, of.again(SAER[0]))
        return
    raters = project_raters(of.project.db, of.project.id)
    people = [name for name, rater in raters.items() if is_people(rater)]
    rows = biases_table(of.project.db, of.project.id, (of.rater.name,), people).rows
    beyond = {
        (row["protocol"], row["aspect"], row["covariate"]): row for row in rows if row["figure"] != RATING
    }
    for row in rows:
        if row["figure"] != RATING:
            continue
        of_texts = protocol_facts(str(row["protocol"])).unit == "explanation"
        name = _PREFERENCES["texts" if of_texts else str(row["covariate"])]
        where = {key: row[key] for key in ("protocol", "aspect")}
        cells = ("value", "ci_low", "ci_high", "n", "note")
        yield {"part": PREFERENCES, "figure": name, "unit": ""} | where | {key: row[key] for key in cells}
        further = beyond.get((row["protocol"], row["aspect"], row["covariate"]))
        if further is not None:
            yield (
                {"part": PREFERENCES, "figure": name + BEYOND, "unit": "", "against": further["truth"]}
                | where
                | {key: further[key] for key in cells}
            )
        elif row["value"] is not None:
            yield missing(
                PREFERENCES, name + BEYOND, "no people judged these", Step("import labels"), **where
            )


def price_rows(of: PassportSource) -> Iterator[Row]:
    """Dollars for 1,000 judged cases by protocol and prompt; seconds per call, median and 95th percentile."""
    costs = table_of(of.project, "cost").rows
    for row in costs:
        if row["rater"] != of.rater.name:
            continue
        figures = {name: row[name] for name in ("cost_per_case", "ci_low", "ci_high")}
        value, low, high = (v * 1000 if isinstance(v, float) else None for v in figures.values())
        where: dict[str, Any] = {"protocol": row["protocol"]}
        if value is None:
            yield missing(PRICE, "price of 1,000 cases", str(row["note"]), _price_step(of, row), **where)
            continue
        cases = row["cases"] if isinstance(row["cases"], int) else 0
        note = str(row["note"] or "")
        yield figure(
            PRICE, "price of 1,000 cases", Estimate(value, low, high, cases, note=note), "usd", **where
        )
    seconds = latencies(of.project.db, of.rater.id)
    for name, p in (("latency, median", 0.5), ("latency, 95th percentile", 0.95)):
        if seconds:
            note = "the interval lies between two ordered calls; concurrency was that of the runs"
            yield figure(PRICE, name, quantile_estimate(seconds, p), "seconds", note=note)
        else:
            again = of.fresh(of.runs[-1]["protocol"])
            yield missing(PRICE, name, "no call was timed", again)


def _price_step(of: PassportSource, row: Row) -> Step:
    return Step("price") if "price" in str(row["note"]) else of.fresh(str(row["protocol"]))


def judged_protocols(db: Database, project_id: int, rater: str) -> tuple[str, ...]:
    """The protocols in which a rater gave verdicts, except on adversarial pairs."""
    return tuple(dict.fromkeys(q.protocol for q in project_questions(db, project_id) if q.rater == rater))


# ---- passport ----------------------------------------------------------------------------------------------------


_PARTS = (
    identity_rows,
    agreement_rows,
    strictness_rows,
    position_rows,
    adversarial_rows,
    consistency_rows,
    confidence_rows,
    failure_rows,
    preference_rows,
    price_rows,
)


def passport(project: Project, choose: Options) -> Table:
    """One row per figure: the judge's identity, agreement with people, position, adversarial pairs, self-consistency,
    confidence, failures by reason, preferences, price and latency.

    `unit` says what a value is: share, usd, seconds, text (then it is in `text`), or nothing. A figure that was not measured
    is None, and a note carries the step that would measure it. Raises NotFoundError for an unknown rater, UsageError for one
    without runs: a person, a consensus, a metric.
    """
    db, rater = project.db, choose.rater
    row = rater_row(db, project.id, rater)
    runs = stored_runs(db, rater_id=row["id"])
    raters = project_raters(db, project.id)
    if not runs:
        judges = [name for name, rater_of in raters.items() if is_judging(rater_of)]
        raise UsageError(
            f"“{rater}” has no passport because it has no runs",
            f"It is of the kind {row['kind']}.",
            f"Judges: {', '.join(judges) or 'none yet'}.",
        )
    judge = JudgeSpec.model_validate_json(runs[-1]["judge"])
    source = PassportSource(project, raters[rater], judge, runs, judged_protocols(db, project.id, rater))
    found: list[Row] = [row for part in _PARTS for row in part(source)]
    steps = [
        Note(f"{row['figure']} ({row.get('protocol') or row['part']}) was not measured", "data", step)
        for row in found
        if isinstance(step := row.pop(_STEP, None), Step)
    ]
    compared = {rater, *(str(row.get("against")) for row in found)}
    questions = [question for question in project_questions(db, project.id) if question.rater == rater]
    notes = [
        *rater_notes(raters[name] for name in compared if name in raters),
        *origin_notes(db, project.id, questions),
        *steps,
        definition(f"intervals are {level_text()}, over users"),
        definition(FORMULA),
    ]
    table = Table(f"Passport of {rater}", COLUMNS, tuple(found), tuple(notes), {"judge": judge.spec})
    return replace(table, answer=_answer(rater, found))


def _answer(rater: str, rows: list[Row]) -> str:
    """How far it agrees with people beside people among themselves, and whether position matters."""
    known = [row for row in rows if row["part"] == AGREEMENT and isinstance(row["value"], float)]
    said = []
    if known:
        row = known[0]
        people = row.get("people")
        beside = f"; people reach {people:.2f}" if isinstance(people, float) else ""
        said.append(
            f"{STATISTICS[str(row['figure'])].label} with {row['against']} {row['value']:.2f}{beside}"
        )
    by_name = {row["figure"]: row["value"] for row in reversed(rows) if isinstance(row["value"], float)}
    if "position consistency" in by_name:
        said.append(
            f"{100 * float(str(by_name['position consistency'])):.0f} % of pairs judged alike in both orders"
        )
    if "failed calls" in by_name:
        said.append(f"{100 * float(str(by_name['failed calls'])):.1f} % of calls failed")
    return f"{rater}: {'; '.join(said)}." if said else f"Nothing about {rater} was measured yet."


def page(table: Table, fmt: str) -> str | None:
    """A passport as people read it, a table for each part; None for the formats of data."""
    if fmt not in ("text", "md", "html"):
        return None
    shown, _ = readable(table, whole=True, notes="all")
    lead = (*((table.answer,) if table.answer else ()), *shown.notes)
    return render_page(
        Page(table.title, lead, sections(table), table.settings), fmt, Screen(width=100)
    ).text.rstrip("\n")
