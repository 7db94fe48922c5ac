"""The topic of a figure: its question, its raters, and the default truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.domain.occasions import EVERY_OCCASION, OccasionFilter
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import REFERENCES
from recjudge_tui.domain.selection import EVERY_CASE, CaseSelection
from recjudge_tui.errors import UsageError
from recjudge_tui.shapes import FEWEST_CASES
from recjudge_tui.store.data.catalogue import check_systems
from recjudge_tui.store.database import Database
from recjudge_tui.store.occasions import check_contexts
from recjudge_tui.store.raters.raters import rater_row

if TYPE_CHECKING:
    from recjudge_tui.reports.common.table import Table


class Topic(NamedTuple):
    """One question: about `aspect`, under `protocol`."""

    protocol: str
    aspect: str

    def text(self) -> str:
        return f"{self.protocol} {self.aspect}"


class Choice(NamedTuple):
    """The value chosen among `values`; empty if there are none."""

    value: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class FigureOptions:
    """The user's choices; the figure chooses whatever is empty.

    `strict`: a value that does not exist is an error; otherwise the figure chooses another. `systems` and `raters`: those
    in the figure, all if empty.
    """

    protocol: str = ""
    aspect: str = ""
    rater: str = ""
    truth: str = ""
    method: str = ""
    stat: str = ""
    level: str = ""
    metric: str = ""
    over: str = ""
    of: str = ""
    system: str = ""
    show: str = ""
    stage: str = ""
    strict: bool = True
    occasions: OccasionFilter = EVERY_OCCASION
    systems: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()


class FigureContext(NamedTuple):
    """The input of a figure: the project's topics, the chosen one, and its raters. `raters` begin with the judges.

    `people` begin with the best truth: the users, then a consensus, then annotators. Within a kind, whoever answered
    most comes first, so that a few adjudicated cases do not become the truth. `named`: the only raters, if
    the user named some.
    """

    db: Database
    project_id: int
    topics: tuple[Topic, ...]
    topic: Topic
    raters: tuple[str, ...]
    people: tuple[str, ...]
    selection: CaseSelection = EVERY_CASE
    named: tuple[str, ...] = ()

    def report(self, name: str, **options: Any) -> Table:
        """A declared report about the topic, on the lists of the figure."""
        from recjudge_tui.project import Project
        from recjudge_tui.reports.declare import table_of

        project, occasions = Project.numbered(self.db, self.project_id), self.selection.occasions
        return table_of(
            project, name, protocol=self.topic.protocol, aspect=self.topic.aspect, systems=self.selection.systems,
            contexts=occasions.contexts, served_from=occasions.start, served_to=occasions.end, **options,
        )  # fmt: skip


def project_topics(db: Database, project_id: int) -> tuple[Topic, ...]:
    """The questions that people and judges answered: `overall` first, then those with the most raters.

    A rater counts from `FEWEST_CASES` verdicts on, or with as many as anybody gave, so that somebody's first labels do not
    change the order; a reader's overrides never do. Metrics do not answer questions; in a project with metrics only, they
    are the topics.
    """
    from recjudge_tui.reports.common.scales import is_reader
    from recjudge_tui.store.verdicts.ratings import count_up_to, project_questions, project_raters

    raters = project_raters(db, project_id)
    questions = project_questions(db, project_id)
    judged = [q for q in questions if raters[q.rater].kind != "metric" and not is_reader(raters[q.rater])]
    counts: dict[Topic, list[int]] = {}
    for question in judged or questions:
        count = count_up_to(db, project_id, question, FEWEST_CASES)
        counts.setdefault(Topic(question.protocol, question.aspect), []).append(count)
    raters_of = {topic: of_raters.count(max(of_raters)) for topic, of_raters in counts.items()}
    return tuple(sorted(counts, key=lambda t: (t.aspect != OVERALL, -raters_of[t], t)))


def chosen_topic(topics: Sequence[Topic], options: FigureOptions, protocols: Iterable[str]) -> Topic:
    """The first topic of the given protocol and aspect, and of one of `protocols`. Raises UsageError."""
    from recjudge_tui.shapes import protocols_meeting

    protocols_meeting(options.protocol or None)
    if not topics:
        raise UsageError("there are no verdicts yet", next_step="Import labels or start a run.")
    fitting = tuple(protocols)
    if options.protocol and options.protocol not in fitting:
        raise UsageError(
            f"this figure cannot be drawn of {options.protocol}",
            f"It can be drawn of {' and '.join(fitting)}.",
        )
    judged = [t for t in topics if t.protocol in fitting and options.protocol in ("", t.protocol)]
    if not judged:
        wanted = options.protocol or " or ".join(fitting)
        raise UsageError(f"there are no verdicts on {wanted} here", next_step="Import labels or start a run.")
    chosen = next((topic for topic in judged if options.aspect in ("", topic.aspect)), None)
    if chosen is None:
        known = ", ".join(dict.fromkeys(topic.aspect for topic in judged))
        raise UsageError(f"there are no verdicts on an aspect “{options.aspect}”", f"Available: {known}.")
    return chosen


def figure_context(
    db: Database,
    project_id: int,
    topics: tuple[Topic, ...],
    topic: Topic,
    options: FigureOptions,
) -> FigureContext:
    """The raters that answered a question, and the cases to take. Raises NotFoundError for an unknown context, system or
    rater."""
    from recjudge_tui.reports.common.scales import speaks_for_people
    from recjudge_tui.shapes import rank_of, under_protocol
    from recjudge_tui.store.verdicts.ratings import project_questions, project_raters, verdict_counts

    check_contexts(db, project_id, options.occasions)
    check_systems(db, project_id, options.systems)
    for name in options.raters:
        rater_row(db, project_id, name)
    raters = project_raters(db, project_id)
    questions = under_protocol(project_questions(db, project_id), raters, topic.protocol)
    names = {question.rater for question in questions if question.aspect == topic.aspect}
    names &= set(options.raters) or names
    ranked = sorted(names, key=lambda name: rank_of(raters[name]))
    people = [name for name in ranked if speaks_for_people(raters[name])]
    answers = verdict_counts(db, project_id, topic.aspect, people)
    people.sort(key=lambda name: (REFERENCES.index(raters[name].kind), -answers.get(name, 0)))
    selection = CaseSelection(options.occasions, systems=options.systems)
    return FigureContext(
        db, project_id, topics, topic, tuple(ranked), tuple(people), selection, options.raters
    )


def choice(
    kind: str, wanted: str, values: Iterable[str], options: FigureOptions, default: str = ""
) -> Choice:
    """The wanted value, else the default, else the first of `values`.

    With strict options, raises UsageError for a value that does not exist; `kind` names it in the message.
    """
    known = tuple(values)
    if wanted and wanted not in known and options.strict:
        raise UsageError(f"no {kind} “{wanted}” for this figure", f"Available: {', '.join(known) or 'none'}.")
    if wanted and wanted in known:
        return Choice(wanted, known)
    return Choice(default if default in known else known[0] if known else "", known)


def judge_and_truth(context: FigureContext, options: FigureOptions) -> dict[str, Choice]:
    """A rater that is not a person, and a person or consensus as its reference."""
    judges = [name for name in context.raters if name not in context.people]
    return {
        "rater": choice("rater", options.rater, judges, options),
        "truth": choice("truth", options.truth, context.people, options),
    }


def topic_terms(topics: Sequence[Topic], topic: Topic) -> tuple[Term, ...]:
    """The terms of a filter for the verdicts on a topic, under every protocol that asks the same question."""
    from recjudge_tui.shapes import protocols_meeting

    judged = {t.protocol for t in topics}
    protocols = [name for name in protocols_meeting(topic.protocol) or () if name in judged]
    terms = [Term("protocol", ":", name) for name in protocols]
    if len({t.aspect for t in topics if t.protocol in protocols}) > 1:
        terms.append(Term("aspect", ":", topic.aspect))
    return tuple(terms)


def verdict_filter(db: Database, project_id: int, topic: Topic, *raters: str, system: str = "") -> str:
    """The filter for the verdicts of these raters on a topic, optionally on one system only."""
    terms = [
        *topic_terms(project_topics(db, project_id), topic),
        *(whole_term("judge", name) for name in raters),
    ]
    if system:
        terms.append(whole_term("system", system))
    return VerdictFilter(tuple(terms)).text()


def chosen_values(choices: Mapping[str, Choice]) -> dict[str, str]:
    return {name: choice.value for name, choice in choices.items()}
