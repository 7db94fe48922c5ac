"""Several judges and prompts beside each other: agreement with people, flips, cost and time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.text import money, quantity, short
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.common.rows import real, seen_first
from recjudge_tui.reports.common.table import Note, Row, Table, columns, definitions
from recjudge_tui.reports.declare import table_of
from recjudge_tui.reports.sanity import lines_of_run
from recjudge_tui.reports.topics import Topic, asked
from recjudge_tui.reports.words import figure_text
from recjudge_tui.shapes import grouped
from recjudge_tui.stats.estimate import Estimate, undefined
from recjudge_tui.stats.registry import label_of
from recjudge_tui.store.runs import run_progress, run_row
from recjudge_tui.store.verdicts import flip_counts

_COLUMNS = columns(
    "protocol", "judge|Judge", "prompt", "rater", "run|(Run)", "state|State", "done|Judged|int", "failed", "stat",
    "value|Agreement|float", "ci_*", "n|(n)|int", "flips|Flips|share", "cost|Cost|usd",
    "seconds|Time|seconds", "note",
)  # fmt: skip


def experiment(project: Project, runs: Sequence[int], truth: str = "") -> Table:
    """One row per run, in their order. `truth`: whom the raters are compared with; empty: the best reference of the
    protocol. Raises NotFoundError for an unknown rater."""
    flips = {(of.rater, of.protocol): of for of in flip_counts(project.db, project.id)}
    rows: list[Row] = []
    notes: list[Note] = []
    for run_id in runs:
        row, progress = run_row(project.db, run_id), run_progress(project.db, run_id)
        flipped = flips.get((row["rater"], row["protocol"]))
        rows.append({
            "protocol": row["protocol"], "judge": JudgeSpec.model_validate_json(row["judge"]).spec,
            "prompt": row["prompt"], "rater": row["rater"], "run": str(run_id), "state": progress.state,
            "done": progress.done, "failed": progress.failed, "flips": None if flipped is None else flipped.share,
            "cost": progress.cost_usd, "seconds": float(row["seconds"]),
            **_agreement(project, row["rater"], row["protocol"], truth),
        })  # fmt: skip
        notes += [Note(line, "warning") for line in lines_of_run(project.db, run_id)]
    spent = sum(real(row, "cost") for row in rows if row["cost"] is not None)
    table = Table("Judges and prompts", _COLUMNS, tuple(rows), tuple(notes), answer=_answer(rows, spent))
    return seen_first(table, "protocol judge prompt stat value ci_low ci_high flips cost seconds failed")


def _agreement(project: Project, rater: str, protocol: str, truth: str) -> Row:
    """The declared figure of the rater beside the truth, overall or on the first aspect."""
    person = truth
    if not person:
        known = asked(project, Topic(protocol, OVERALL))
        person = next((name for name in known.people if name != rater), "")
    if not person or person == rater:
        return {"note": "" if person else "no person judged these cases"}
    try:
        found = table_of(project, "agreement", protocol=protocol, raters=(rater, person), truth=person)
    except RecjudgeError as error:
        return {"note": error.title}
    if not found.rows:
        return {"note": f"no case judged by {person} too"}
    cells = ("stat", "value", "ci_low", "ci_high", "n", "note")
    return {name: cell for name, cell in found.rows[0].items() if name in cells}


def _answer(rows: Sequence[Row], spent: float) -> str:
    """Of each protocol who agrees most with people, as a figure and no claim, and what all cost."""
    cost = f" All cost {money(spent)}." if spent else ""
    parts = []
    for protocol, alike in grouped((str(row["protocol"]), row) for row in rows).items():
        known = [row for row in alike if isinstance(row.get("value"), float)]
        known.sort(key=lambda row: (-real(row, "value"), str(row["rater"])))
        if not known:
            continue
        first, *others = known
        text = f"{protocol}: {first['rater']} with {first['prompt']} agrees most with people"
        text += f" ({label_of(str(first['stat']))} {figure_text(first, 'value')})"
        if others:
            low, top = first.get("ci_low"), real(others[0], "value")
            unsure = "" if isinstance(low, float) and low > top else ", within its interval"
            text += f", next {others[0]['rater']} with {others[0]['prompt']} ({short(top)}{unsure})"
        parts.append(text)
    if not parts:
        return f"{quantity(len(rows), 'run')}; none can be compared with people yet.{cost}"
    return f"{'; '.join(parts)}.{cost}"


_TUNED = columns(
    "prompt", "rater?", "added|Added", "stat", "value|Agreement|float", "ci_*", "change|Change|float",
    "change_*|(Change)|ci", "p", "p_holm", "word|Verdict", "cost|Cost a case|usd",
    "note",
)  # fmt: skip
_ABOUT_TUNED = definitions("""\
agreement with the labels on the users who test, who taught nothing; change: the paired change against the prompt as it was
p: sign flips of the users' mean changes in distance from the label, Holm's correction over the candidates""")


class PromptTrial(NamedTuple):
    """A prompt on the users who test it. `added` to the prompt as it was: examples or rules, in words. `change` to that
    prompt, None for itself; `word`: whether it is better, worse, or not shown to be better."""

    prompt: str
    rater: str
    added: str
    run: int
    stat: str
    agreement: Estimate
    change: Estimate | None = None
    p: float | None = None
    p_holm: float | None = None
    word: str = ""

    @property
    def rank(self) -> float:
        """Higher for higher agreement."""
        return -2.0 if self.agreement.value is None else self.agreement.value


def tuned(project: Project, trials: Sequence[PromptTrial], truth: str, stored: str) -> Table:
    """The prompt as it was, then the candidates beside it; `stored`: the name of the one that was kept."""
    rows: list[Row] = []
    for trial in trials:
        progress, change = run_progress(project.db, trial.run), trial.change or undefined("-")
        cost = None if progress.cost_usd is None or not progress.done else progress.cost_usd / progress.done
        rows.append({
            "prompt": trial.prompt, "rater": trial.rater, "added": trial.added, "stat": trial.stat,
            "value": trial.agreement.value, **trial.agreement.ends(), "change": change.value,
            **change.ends("change"), "p": trial.p, "p_holm": trial.p_holm, "word": trial.word, "cost": cost,
            "note": trial.agreement.note,
        })  # fmt: skip
    best = max(trials[1:], key=lambda trial: trial.rank)
    answer = f"{stored} is {best.word}: agreement with {truth} {figure_text({'value': best.agreement.value}, 'value')}"
    answer += f", {trials[0].prompt} {figure_text({'value': trials[0].agreement.value}, 'value')}."
    settings = {"truth": truth, "stored": stored}
    table = Table("Tuned prompts", _TUNED, tuple(rows), _ABOUT_TUNED, settings, answer=answer)
    first = "prompt added value ci_low ci_high change change_low change_high p_holm word cost"
    return seen_first(table, first)
