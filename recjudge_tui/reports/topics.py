"""The questions of a project and who answered them: what figures, the home screen and the screen of agreement open on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from recjudge_tui.domain.filters import Term, VerdictFilter, whole_term
from recjudge_tui.domain.protocols import OVERALL
from recjudge_tui.domain.roles import READERS, REFERENCES

if TYPE_CHECKING:
    from recjudge_tui.project import Project


class Topic(NamedTuple):
    """One question: about `aspect`, under `protocol`."""

    protocol: str
    aspect: str

    def text(self) -> str:
        return f"{self.protocol} {self.aspect}"


@dataclass(frozen=True)
class TopicRaters:
    """One of a project's topics and the raters that answered it, judges first. `people` begin with the best truth:
    the users, then a consensus, then annotators. Within a kind, whoever answered most comes first, so that a few
    adjudicated cases do not become the truth. `named`: the only raters, if the user named some."""

    project: Project
    topics: tuple[Topic, ...]
    topic: Topic
    raters: tuple[str, ...]
    people: tuple[str, ...]
    named: tuple[str, ...] = ()


def topics(project: Project) -> tuple[Topic, ...]:
    """The questions that people and judges answered: `overall` first, then those with the most raters. A rater counts
    from `FEWEST_CASES` verdicts on, or with as many as anybody gave, so that somebody's first labels do not change
    the order; a reader's overrides never do. Metrics do not answer questions; in a project with metrics only, they
    are the topics."""
    from recjudge_tui.shapes import FEWEST_CASES
    from recjudge_tui.store.ratings import count_up_to, project_questions, project_raters

    raters = project_raters(project.db, project.id)
    questions = project_questions(project.db, project.id)
    judged = [q for q in questions if raters[q.rater].kind not in ("metric", *READERS)]
    counts: dict[Topic, list[int]] = {}
    for question in judged or questions:
        count = count_up_to(project.db, project.id, question, FEWEST_CASES)
        counts.setdefault(Topic(question.protocol, question.aspect), []).append(count)
    raters_of = {topic: of_raters.count(max(of_raters)) for topic, of_raters in counts.items()}
    return tuple(sorted(counts, key=lambda t: (t.aspect != OVERALL, -raters_of[t], t)))


def asked(
    project: Project, topic: Topic, known: tuple[Topic, ...] | None = None, named: tuple[str, ...] = ()
) -> TopicRaters:
    """A topic with its raters; `known`: the project's topics. Raises NotFoundError for an unknown rater."""
    from recjudge_tui.shapes import rank_of, under_protocol
    from recjudge_tui.store.raters import rater_row
    from recjudge_tui.store.ratings import project_questions, project_raters, verdict_counts

    for name in named:
        rater_row(project.db, project.id, name)
    raters = project_raters(project.db, project.id)
    questions = under_protocol(project_questions(project.db, project.id), raters, topic.protocol)
    names = {question.rater for question in questions if question.aspect == topic.aspect}
    ranked = sorted(names & set(named or names), key=lambda name: rank_of(raters[name]))
    people = [name for name in ranked if raters[name].kind in REFERENCES]
    answers = verdict_counts(project.db, project.id, topic.aspect, people)
    people.sort(key=lambda name: (REFERENCES.index(raters[name].kind), -answers.get(name, 0)))
    known = topics(project) if known is None else known
    return TopicRaters(project, known, topic, tuple(ranked), tuple(people), named)


def topic_terms(known: Sequence[Topic], topic: Topic) -> tuple[Term, ...]:
    """The terms of a filter for the verdicts on a topic, under every protocol that asks the same question."""
    from recjudge_tui.shapes import protocols_meeting

    judged = {t.protocol for t in known}
    protocols = [name for name in protocols_meeting(topic.protocol) or () if name in judged]
    terms = [Term("protocol", ":", name) for name in protocols]
    if len({t.aspect for t in known if t.protocol in protocols}) > 1:
        terms.append(Term("aspect", ":", topic.aspect))
    return tuple(terms)


def topic_filter(known: Sequence[Topic], topic: Topic, *raters: str, more: Sequence[Term] = ()) -> str:
    """The filter for the verdicts of these raters on a topic."""
    judges = (whole_term("judge", name) for name in dict.fromkeys(raters))
    return VerdictFilter((*topic_terms(known, topic), *judges, *more)).text()
