"""The home of a project: its data, results and trust in them, what to read; in parts, fast ones first, for a screen."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, cast

from recjudge_tui.domain.filters import FLAGGED, Term, VerdictFilter, whole_term
from recjudge_tui.domain.protocols import SAER, protocol_facts, with_unit
from recjudge_tui.domain.text import one_line, short
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.project import Project
from recjudge_tui.reports.topics import Topic, asked, topic_terms, topics
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.projects import DataCounts, data_counts, project_overview, unknown_items
from recjudge_tui.store.runs import newest_runs
from recjudge_tui.store.schema import connect

# what is large is imported by the part that needs it, so that the app paints its first screen without
if TYPE_CHECKING:
    from recjudge_tui.store.verdicts import FlipCount, VerdictRow

RUNS_NAMED = 6
# from so many verdicts on, the figures of a home are computed in a process of their own
LARGE = 200_000
Remedy = Literal["import", "judge", "label", "compare"]


class Gap(NamedTuple):
    """Missing data with its consequence, and how to add it."""

    text: str
    remedy: Remedy


class Step(NamedTuple):
    """One step to a conclusion, about this protocol."""

    remedy: Remedy
    text: str
    done: bool
    protocol: str


class Totals(NamedTuple):
    """`judge`: the rater of the newest run that answered about systems, which is `run`; without one empty and None."""

    cases: int
    verdicts: int
    flagged: int
    runs: int
    run: int | None
    judge: str


class Subject(NamedTuple):
    """The project's first question (none without verdicts), the people who answered it, and the rater whose answers are
    shown: the judge of the newest run if it answered. `terms` of a filter select the question."""

    topic: Topic | None = None
    rater: str = ""
    people: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()

    def cases(self, *terms: Term) -> str:
        """The filter of the rater's verdicts on the question."""
        return VerdictFilter((*self.terms, whole_term("judge", self.rater), *terms)).text()


class Board(NamedTuple):
    """The ranking by one rater, empty without verdicts, and its `answer` in a sentence: its rows with the
    filter of their verdicts (`cases`). `figure` names the score."""

    topic: Topic | None = None
    rater: str = ""
    figure: str = ""
    lines: tuple[dict[str, Any], ...] = ()
    answer: str = ""


class PeopleAgreement(NamedTuple):
    """A judge with people, and people with each other on the same cases (`ceiling`); None where undefined. `cases`: the
    filter of those on which they disagree. `about`: what must stand beside the reference; `few` and `ceiling_few` say so
    where the cases are few. `reason`: why there is no value."""

    stat: str = ""
    judge: str = ""
    people: str = ""
    value: float | None = None
    n: int = 0
    ceiling: float | None = None
    ceiling_n: int = 0
    cases: str = ""
    about: str = ""
    interval: tuple[float | None, float | None] = (None, None)
    ceiling_interval: tuple[float | None, float | None] = (None, None)
    few: str = ""
    ceiling_few: str = ""
    reason: str = ""


class First(NamedTuple):
    """A verdict to read, why it waits for a reader, and its reasoning. A failed one stands for
    all that failed in the same way; `alike`: there are others."""

    row: VerdictRow
    reason: str
    reasoning: str
    alike: bool = False


@dataclass(frozen=True)
class Home:
    """The parts in the order in which they are read; None: not read yet."""

    totals: Totals | None = None
    runs: tuple[StoredRow, ...] | None = None
    data: DataCounts | None = None
    flips: tuple[FlipCount, ...] | None = None
    subject: Subject | None = None
    board: Board | None = None
    first: tuple[First, ...] | None = None
    waiting: int | None = None
    agreement: PeopleAgreement | None = None
    untitled: int | None = None

    def over(self, older: Home) -> Home:
        """The parts that were read, and the others from an older home."""
        read = {f.name: value for f in fields(Home) if (value := getattr(self, f.name)) is not None}
        return replace(older, **read)

    @property
    def judged(self) -> bool:
        """Whether there are verdicts, as far as is known."""
        return self.totals is None or self.totals.verdicts > 0

    @property
    def missing_part(self) -> str | None:
        """The next part to read; None if all have been read."""
        return next((name for name in _PARTS if getattr(self, name) is None), None)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The missing kinds of data, most important first, as far as the parts have been read."""
        data = self.data
        if data is None:
            return ()
        if not data.lists and not data.explanations:
            # labels alone are enough to rank systems, but there is nothing to judge
            return (Gap("no lists, no texts: nothing to judge", "import"),)
        listed = data.lists > 0
        lacking: tuple[tuple[object, str, Remedy], ...] = (
            (listed and len(data.systems) == 1, "lists of one system: pairs need two", "import"),
            (listed and not data.items_described, "no items: a judge sees ids, no titles", "import"),
            (listed and not data.events, "no events: users without a history", "import"),
            (listed and not data.held_out, "no held-out events: no nDCG", "import"),
            (not data.labels, "no labels: judges cannot be checked", "label"),
            (data.items_described and self.untitled, f"{self.untitled or 0:,} items of lists without a title", "import"),
        )  # fmt: skip
        return tuple(Gap(text, remedy) for lacks, text, remedy in lacking if lacks)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps to a conclusion; none once a judge has given verdicts, or if there are labels only."""
        if self.data is None or self.totals is None or self.totals.run is not None:
            return ()
        data, read = self.data, bool(self.data.lists or self.data.explanations)
        if data.labels and not read:
            return ()
        protocol = with_unit("explanation")[0] if data.explanations and not data.lists else SAER[1]
        return (
            Step("import", "lists or texts of your systems, then items, events and labels", read, protocol),
            Step("judge", "a model, or the built-in rules, reads them", False, protocol),
            Step("label", "you label some cases yourself, to check the judge", bool(data.labels), protocol),
            Step("compare", "which system is better, and how far to trust the result", False, protocol),
        )


def conclusion(home: Home) -> tuple[str, ...]:
    """The verdict in a sentence, and how far to trust it in another, as far as they are known."""
    of = home.agreement
    if home.board is None or not home.board.answer:
        return ()
    if of is None or of.value is None:
        return (home.board.answer,)
    low, high = of.interval
    within = "" if low is None or high is None else f" [{short(low)}, {short(high)}]"
    people = "" if of.ceiling is None else f"; people agree with each other {short(of.ceiling)}"
    who = f"{one_line(of.judge, 30)} with {one_line(of.people, 30)}"
    return home.board.answer, f"Agreement of {who}: {of.stat} {short(of.value)}{within}{people}."


def whole_home(project: Project) -> Home:
    """The home with all its parts."""
    home = Home()
    while home.missing_part is not None:
        home = with_next_part(project.db, project.id, home)
    return home


def with_next_part(db: Database, project_id: int, home: Home) -> Home:
    """The home with one more part; later ones read all verdicts. Raises NotFoundError for a deleted project."""
    if (part := home.missing_part) is None:
        return home
    read: dict[str, Any] = {part: _PARTS[part](Project.numbered(db, project_id), home)}
    return replace(home, **read)


def _totals(project: Project, _: Home) -> Totals:
    from recjudge_tui.store.verdicts import newest_judged_run

    (row,) = project_overview(project.db, project.id)
    newest = newest_judged_run(project.db, project.id) or (None, "")
    return Totals(row["cases"], row["verdicts"], row["flagged"], row["runs"], *newest)


# all that waits for a reader, of which the home shows what is to be read first
WAITING = VerdictFilter((Term("queue", ":", "all"),))


def _waiting(project: Project, _: Home) -> int:
    """How many verdicts wait for a reader."""
    from recjudge_tui.reports.verdict_list import listed_verdicts

    return len(listed_verdicts(project.db, project.id, WAITING).ids)


def _flips(project: Project, _: Home) -> tuple[FlipCount, ...]:
    from recjudge_tui.store.verdicts import flip_counts

    return flip_counts(project.db, project.id)


def _subject(project: Project, home: Home) -> Subject:
    from recjudge_tui.store.ratings import has_answered

    assert home.totals is not None
    known = topics(project) if home.totals.verdicts else ()
    about = asked(project, known[0], known) if known else None
    if about is None or not about.raters:
        return Subject()
    named = (name for name in (home.totals.judge, *about.raters) if name in about.raters)
    able = (name for name in named if has_answered(project.db, project.id, name, about.topic.aspect))
    rater = next(able, about.raters[0])
    return Subject(about.topic, rater, about.people, topic_terms(known, about.topic))


def _board(project: Project, home: Home) -> Board:
    """The ranking of the report "leaderboard"."""
    from recjudge_tui.reports.declare import table_of

    about = home.subject or Subject()
    if about.topic is None:
        return Board()
    table = table_of(project, "leaderboard", **about.topic._asdict(), rater=about.rater)
    rows: list[dict[str, Any]] = [row for row in table.rows if row.get("opponent") is None]
    kind = protocol_facts(about.topic.protocol).leaderboard
    figure = {"wins": "win rate", "means": "mean"}.get(kind, "")
    if kind == "shares":
        # the first row of each system is about its best label
        best = (next(alike) for _, alike in groupby(rows, key=lambda row: row["system"]))
        rows = [{**row, "score": row["share"], "rank": None} for row in best]
        rows.sort(key=lambda row: -1.0 if row["score"] is None else row["score"], reverse=True)
        figure = f"share of {rows[0]['label']}" if rows else ""
    lines = tuple({**row, "cases": about.cases(whole_term("system", row["system"]))} for row in rows)
    return Board(about.topic, about.rater, figure, lines, table.answer)


def _agreement(project: Project, home: Home) -> PeopleAgreement:
    """The rater's agreement with the best reference; empty if people judged none of its cases."""
    from recjudge_tui.reports.declare import table_of
    from recjudge_tui.reports.words import combined_notes, few_cases
    from recjudge_tui.stats.registry import label_of
    from recjudge_tui.store.ratings import project_raters

    about = home.subject or Subject()
    if about.topic is None:
        return PeopleAgreement()
    if not about.people or about.rater in about.people:
        only = "there is no judge: all verdicts are of people"
        unchecked = "nobody has checked the judge: no person judged its cases"
        return PeopleAgreement(reason=only if about.people else unchecked)
    person = about.people[0]
    table = table_of(project, "agreement", **about.topic._asdict(), raters=(about.rater, person))
    row: dict[str, Any] = table.rows[0] if table.rows else {"n": 0}
    if not row["n"]:
        return PeopleAgreement(reason=f"nobody has checked the judge: it has no case in common with {person}")
    cases = about.cases(whole_term("judge", person), Term("why", ":", "disagree"))
    notes = "; ".join(combined_notes([project_raters(project.db, project.id)[person]]))
    return PeopleAgreement(
        label_of(row["stat"]), about.rater, person, row["value"], row["n"], row["ceiling"], row["ceiling_n"], cases, notes,
        (row["ci_low"], row["ci_high"]), (row["ceiling_low"], row["ceiling_high"]),
        few_cases(row["n"]), few_cases(row["ceiling_n"] or 0),
        "" if row["value"] is not None else f"the judge's agreement with {person} is undefined: {row['note']}",
    )  # fmt: skip


# of so many candidates; the rest is as the queue has it
MOST_READ, _CANDIDATES = 20, 400


def _first(project: Project, home: Home) -> tuple[First, ...]:
    """The first MOST_READ cases, each once: what waits for a reader of the judge whose figures are shown, in the order of
    the queue, those about the two leading systems before the others; then what waits of other raters, and flagged lists.
    What a judge failed at in one way is one fault, and one row behind the others."""
    from recjudge_tui.reports.verdict_list import listed_verdicts
    from recjudge_tui.store.verdicts import EXPORTED, exported_rows, verdict_rows

    about = home.subject or Subject()
    judge = whole_term("judge", about.rater) if about.rater else None
    own = VerdictFilter((*about.terms, *([judge] if judge else []), Term("queue", ":", "any")))
    leading = {str(line["system"]) for line in (home.board.lines if home.board is not None else ())[:2]}

    def is_other(row: VerdictRow) -> bool:
        return not (leading <= {*row.systems} or (len(row.systems) == 1 and row.systems[0] in leading))

    found: dict[object, First] = {}
    queues = (VerdictFilter((Term("queue", ":", name),)) for name in ("any", FLAGGED))
    for chosen in (own, *queues):
        if len(found) >= MOST_READ:
            break
        queued = listed_verdicts(project.db, project.id, chosen)
        ids = queued.ids[:_CANDIDATES]
        why = {key: queued.reason(at) for at, key in enumerate(ids)}
        rows = verdict_rows(project.db, ids)
        # the order of the queue stays within both parts
        rows.sort(key=lambda row: (row.failed, is_other(row)))
        for row in rows:
            key = (row.rater, row.protocol, row.error_kind) if row.failed else row.case_id
            known = found.setdefault(key, First(row, why[row.verdict_id], ""))
            if row.failed and known.row.case_id != row.case_id:
                found[key] = known._replace(alike=True)
    shown, at = list(found.values())[:MOST_READ], EXPORTED.index("reasoning")
    said = exported_rows(project.db, [one.row.verdict_id for one in shown])
    return tuple(one._replace(reasoning=row[at] or "") for one, row in zip(shown, said, strict=True))


_PARTS: Mapping[str, Callable[[Project, Home], object]] = {
    "totals": _totals,
    "runs": lambda project, _: newest_runs(project.db, project.id, RUNS_NAMED),
    "data": lambda project, _: data_counts(project.db, project.id),
    "flips": _flips, "subject": _subject, "board": _board, "first": _first, "waiting": _waiting, "agreement": _agreement,
    "untitled": lambda project, _: unknown_items(project.db, project.id),
}  # fmt: skip


class HomeProcess:
    """Computes the missing parts of a home in a process of its own: their memory goes with it, and the keys do not wait.
    `stop`, from any thread, ends it, and whoever waits for a part."""

    def __init__(self, path: Path, project_id: int, home: Home) -> None:
        self._request = (path, project_id, replace(home, runs=()))
        self._runs = home.runs
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def next_part(self) -> Home:
        """The home with one more part. Raises RecjudgeError."""
        try:
            home: Home | RecjudgeError = pickle.load(self._stream())
        except (EOFError, ValueError, OSError, pickle.UnpicklingError) as error:
            raise RecjudgeError(
                "the figures of the home could not be computed",
                "The process that computes them ended early.",
                "Read the home again.",
            ) from error
        if isinstance(home, RecjudgeError):
            raise home
        return replace(home, runs=self._runs)

    def _stream(self) -> IO[bytes]:
        with self._lock:
            if self._stopped:
                raise EOFError
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
                with cast("IO[bytes]", self._process.stdin) as stdin:
                    pickle.dump(self._request, stdin)
            return cast("IO[bytes]", self._process.stdout)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                cast("IO[bytes]", self._process.stdout).close()


def _write_parts() -> None:
    """What `HomeProcess` starts: reads a home from the standard input, and writes it after each further part."""
    os.nice(5)
    path, project_id, home = pickle.load(sys.stdin.buffer)
    try:
        with connect(path, must_exist=True) as db:
            while home.missing_part is not None:
                home = with_next_part(db, project_id, home)
                pickle.dump(home, sys.stdout.buffer)
                sys.stdout.buffer.flush()
    except RecjudgeError as error:
        pickle.dump(error, sys.stdout.buffer)


if __name__ == "__main__":
    # by its own name, under which its classes are known to who reads them
    from recjudge_tui.reports import home

    home._write_parts()
