"""The people beside a judge: annotators, their cases and answers, and how disagreements are settled."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from recjudge_tui.domain import annotation
from recjudge_tui.domain.made_lists import ADVERSARIAL
from recjudge_tui.domain.material import Material, UserView
from recjudge_tui.domain.prompt import AspectSpec, Example, Prompt
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.roles import REVIEWED
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.domain.run_options import SEED, Stratify
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import NotFoundError, RunError, UsageError
from recjudge_tui.people.raters import RaterSummary, combine, is_known
from recjudge_tui.protocols.registry import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.rendering import system_text, user_text
from recjudge_tui.runs.cases import Chooser, material_now, setup_of
from recjudge_tui.runs.plan import default_prompt
from recjudge_tui.runs.settings import in_words_of, settings_for
from recjudge_tui.stats.combining import Rule
from recjudge_tui.store import people as people_store
from recjudge_tui.store.cases import CaseKey, case_row, ensure_cases, judged_cases, load_material
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import get_prompt, load_shipped, prompt_by_id
from recjudge_tui.store.raters import DerivedVerdict, ensure_rater, list_raters, replace_verdicts
from recjudge_tui.store.runs import run_row

# a section about the form of the reply: from its heading to the next heading of the same rank, or to the end
_FORM = re.compile(r"^(#+)[ ]*(?:output|reply|answer|response)\b[^\n]*\n.*?(?=^\1[ ]|\Z)", re.I | re.M | re.S)
_PAIR_WORDS = {1.0: "List 1", 0.0: "Tie", -1.0: "List 2"}
_PARTS_OF_USER = ("attributes", "as_of", "history", "searches", "clicks", "browsed", "preferences")


class ShownCase(NamedTuple):
    """What the annotator sees. `material` holds the lists in the order shown, without the names of their systems.
    `issues` are the names and meanings of the flags; empty if the protocol has no flags."""

    material: Material
    guidelines: str
    questions: tuple[annotation.AspectQuestion, ...]
    issues: tuple[tuple[str, str], ...]


def shown_case(db: Database, task: people_store.Task) -> ShownCase:
    """The case of a task, in the task's order: as the task's run showed it to the judge, or else with the present data.
    Raises PromptError when the guidelines cannot be rendered."""
    chosen = protocol_named(task.protocol)
    prompt, settings = prompt_by_id(db, task.prompt_id), settings_for(chosen.name)
    material: Material | None = None
    if task.run_id is not None:
        _, settings, _, prompt = setup_of(db, run_row(db, task.run_id))
        if people_store.run_shows(db, task.run_id, task.case_id):
            material = load_material(db, task.run_id, task.case_id, settings.top_k)
            # a scored example reveals somebody's answer about another text, and not every judge is shown one
            material = material.model_copy(update={"example": None})
    else:
        prompt = in_words_of(db, task.project_id, prompt, settings)
    material = material or material_now(db, case_row(db, task.case_id), chosen.facts, settings)
    prompt = _without_own_example(prompt, material, task.case_id)
    # the user with only those fields that the prompt shows to a judge
    nothing = UserView(user_id=material.user.user_id)
    hidden = (name for name in _PARTS_OF_USER if not re.search(rf"\buser\.{name}\b", prompt.user))
    user = material.user.model_copy(update={name: getattr(nothing, name) for name in hidden})
    material = material.model_copy(update={"user": user})
    return ShownCase(
        material=material.swapped() if task.first == "b" else material,
        guidelines=guidelines(prompt, settings.top_k),
        questions=tuple(_aspect_question(prompt, spec, task.first) for spec in prompt.aspects),
        issues=tuple((issue.name, prompt.worded(issue.meaning)) for issue in prompt.issues),
    )


def _without_own_example(prompt: Prompt, material: Material, case_id: int) -> Prompt:
    """The prompt without examples made from this case (all their lines are in its text), since these reveal an answer."""

    def is_own(example: Example) -> bool:
        parts = (part if isinstance(part, (list, tuple)) else [part] for part in example.input.values())
        lines = [str(line).strip() for part in parts for line in part]
        return example.title == f"case {case_id}" or (
            bool(lines) and all(line in case_text for line in lines)
        )

    case_text = user_text(prompt, material, "") if prompt.examples else ""
    return prompt.model_copy(update={"examples": tuple(e for e in prompt.examples if not is_own(e))})


def guidelines(prompt: Prompt, top_k: int) -> str:
    """The judge's instructions, questions and meanings of answers, without the form of the reply."""
    # as published, they stand below the case, which an annotator sees by itself
    prompt = prompt.with_variables({name: "no" for name in prompt.variables if name == "published"})
    instructions = _FORM.sub("", system_text(prompt, top_k)).strip()
    facts = protocol_facts(prompt.protocol)
    names = facts.list_names
    head = f"{names[0]} and {names[1]} are List 1 and List 2 here.\n\n" if facts.of_pairs else ""
    asked = [(spec.name.replace("_", " "), prompt.worded(spec.question)) for spec in prompt.aspects]
    meant = [(label.reply, label.meaning) for label in prompt.labels]
    parts = [head + instructions]
    for heading, entries in (("# Questions", asked), ("# Answers", meant)):
        lines = [f"- {name}: {text}" for name, text in entries if text and text not in instructions]
        parts += ["\n".join([heading, *lines])] if lines else []
    return "\n\n".join(parts)


def of_lists(question: str, names: tuple[str, str]) -> str:
    """`Which list is better?` for `Which set is better?`: the annotator sees List 1 and List 2."""
    for place, name in enumerate(names, 1):
        if " " in name:
            question = re.sub(rf"\b{re.escape(name)}\b", f"List {place}", question)
            question = re.sub(
                rf"\b(which|each|either|neither) {name.split()[0]}\b", r"\1 list", question, flags=re.I
            )
    return question


def _aspect_question(prompt: Prompt, spec: AspectSpec, first: str) -> annotation.AspectQuestion:
    question = prompt.worded(spec.question)
    if first:
        question = of_lists(question, protocol_facts(prompt.protocol).list_names)
    if prompt.scale is not None:
        return annotation.AspectQuestion(spec.name, question, (), prompt.scale.low, prompt.scale.high)
    labels = prompt.labels_of(spec.name)
    names = {label.value: label.name for label in labels}
    if not first:
        replies = {label.value: label.reply for label in labels}
        keys = annotation.answer_keys(names, of_pairs=False)
        options = (annotation.AnswerOption(own, replies[v], v, names[v]) for v, own in keys.items())
        return annotation.AspectQuestion(spec.name, question, tuple(options))
    # values refer to system a; turn the sign when system b is shown first
    sign = -1.0 if first == "b" else 1.0
    turned = [
        annotation.AnswerOption(own, words, sign * value + 0.0, names[sign * value + 0.0])
        for value, own in annotation.answer_keys(names, of_pairs=True).items()
        if sign * value in names
        for by in (f"List {1 if value > 0 else 2} by {abs(value):g}" if value else "Tie",)
        for words in (_PAIR_WORDS[value] if set(names) == set(_PAIR_WORDS) else by,)
    ]
    return annotation.AspectQuestion(spec.name, question, tuple(turned))


# ---- assignment --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AssignmentRequest:
    """Which cases to assign to whom. `per_case` annotators a case, or all on a share `overlap` and one on the others; else
    two, or the only one. `prompt` (empty: of the newest run, or the default) gives the guidelines. `sample` takes one case
    per user first, judged ones before others; `seed`, `stratify` draw the users as in a run. Adversarial pairs: `sample`
    counts users."""

    protocol: str
    annotators: tuple[str, ...]
    prompt: str = ""
    sample: int | None = None
    overlap: float | None = None
    per_case: int | None = None
    seed: int = SEED
    systems: tuple[str, ...] = ()
    stratify: Stratify = "none"


@dataclass(frozen=True)
class AnnotationPlan:
    """The result of a plan. `cases` have at least one annotator, `shared` two or more. `assigned` counts the new tasks
    per annotator, `left_out` the unassigned cases per reason."""

    protocol: str
    prompt: str
    cases: int
    shared: int
    assigned: dict[str, int]
    left_out: dict[str, int]

    def lines(self) -> list[str]:
        """The plan in text, one fact per line."""
        tasks = ", ".join(f"{name} {count:,}" for name, count in self.assigned.items())
        return [
            f"{self.protocol} by {self.prompt}: {self.cases:,} cases, {self.shared:,} of them with two or more annotators",
            f"newly assigned: {tasks}",
            *(f"left out: {count:,} × {reason}" for reason, count in self.left_out.items()),
        ]


def assign(
    cases: Sequence[int],
    raters: Mapping[str, int],
    wanted: Sequence[int],
    taken: Mapping[int, Collection[int]],
    excluded: Mapping[int, Collection[int]],
    seed: int,
) -> dict[int, list[int]]:
    """The new cases of each rater, in a random order: case i gets raters until `wanted[i]` have it, counting `taken`; those
    with the fewest new cases first, ties at random; nobody gets an `excluded` case. `raters`: ids by name; neither order
    nor ids matter, so a seed gives the same in another database."""
    rng = random.Random(f"{seed} assign")
    loads: dict[int, list[int]] = {raters[name]: [] for name in sorted(raters)}
    for case, needed in zip(cases, wanted, strict=True):
        holders = taken.get(case, ())
        free = [r for r in loads if r not in holders and case not in excluded.get(r, ())]
        rng.shuffle(free)
        free.sort(key=lambda rater: len(loads[rater]))
        for rater in free[: max(needed - len(holders), 0)]:
            loads[rater].append(case)
    for name, rater in raters.items():
        random.Random(f"{seed} order {name}").shuffle(loads[rater])
    return loads


def plan_annotation(db: Database, project_id: int, request: AssignmentRequest) -> AnnotationPlan:
    """Assign cases and store the tasks in one transaction. Earlier assignments stay as they are. Raises UsageError for
    invalid names, numbers or prompts, and when nothing is left to assign; RunError when the project has no case to judge."""
    chosen = protocol_named(request.protocol)
    names = checked_annotators(request)
    load_shipped(db)
    prompt_id, version, prompt, run_id = _guidelines(db, project_id, chosen, request.prompt)
    drawn = {name: getattr(request, name) for name in ("sample", "seed", "systems", "stratify")}
    settings = settings_for(chosen.name, **drawn)
    left_out: Counter[str] = Counter()
    keys = _cases(db, project_id, chosen, settings, left_out)
    if not keys:
        reasons = ", ".join(f"{count} × {reason}" for reason, count in left_out.items())
        raise RunError("no case to judge", f"Left out: {reasons or 'nothing'}.")
    with db.transaction():
        ids = {ensure_rater(db, project_id, name, "annotator"): name for name in names}
        cases = ensure_cases(db, project_id, keys)
        taken = people_store.task_annotators(db, project_id, chosen.name, ids)
        excluded = {rater: people_store.excluded_cases(db, rater, chosen.name) for rater in ids}
        loads = _assigned(cases, ids, request, taken, excluded)
        for rater_id, load in loads.items():
            start = _last_position(db, rater_id, chosen.name)
            # the list shown first: "a" and "b" equally often (within one), in random order
            rng = random.Random(f"{request.seed} first {ids[rater_id]} {start}")
            sides = "ab" if rng.random() < 0.5 else "ba"
            firsts = [sides[place % 2] if chosen.facts.unit == "pair" else "" for place in range(len(load))]
            rng.shuffle(firsts)
            tasks = [
                (rater_id, case, start + place, first)
                for place, (case, first) in enumerate(zip(load, firsts, strict=True), 1)
            ]
            people_store.add_tasks(db, project_id, chosen.name, prompt_id, run_id, tasks)
        if not any(loads.values()):
            blocked = sorted(ids[rater] for rater, others in excluded.items() if not others.isdisjoint(cases))
            if blocked and taken.keys().isdisjoint(cases):
                raise UsageError(
                    f"{', '.join(blocked)} cannot judge these cases again",
                    "These cases are assigned to them under another protocol, and a person gives one verdict per case.",
                    "Use another name for this protocol, such as ana-arena.",
                )
            raise UsageError(
                "nothing is left to assign",
                "Every case already has its annotators.",
                "Raise the number per case, the overlap or the sample, or name other annotators.",
            )
    annotator_counts = Counter(case for load in loads.values() for case in load)
    annotator_counts.update({case: len(taken[case]) for case in cases if case in taken})
    if len(annotator_counts) < len(cases):
        left_out["no annotator is free"] += len(cases) - len(annotator_counts)
    return AnnotationPlan(
        protocol=chosen.name,
        prompt=f"{prompt.name}@{version}",
        cases=len(annotator_counts),
        shared=sum(count >= annotation.FEWEST_ANNOTATORS for count in annotator_counts.values()),
        assigned={ids[rater]: len(load) for rater, load in loads.items()},
        left_out=dict(left_out),
    )


def checked_annotators(request: AssignmentRequest) -> tuple[str, ...]:
    """The annotators' names, stripped. Raises UsageError for missing, repeated or unreadable names and invalid numbers."""
    names = tuple(name.strip() for name in request.annotators)
    overlap, per_case = request.overlap, request.per_case
    if not names or not all(names):
        raise UsageError("annotators need names", next_step="Name them: ana,ben.")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"annotator named twice: {', '.join(doubled)}")
    if odd := [line for name in names if (line := one_line(name, 60)) != name]:
        raise UsageError(f"the name “{odd[0]}” cannot be displayed", next_step="Choose another name.")
    if overlap is not None and per_case is not None:
        why = "an overlap and a number of annotators per case cannot be combined"
        raise UsageError(why, next_step="Use one of them.")
    if overlap is not None and not 0 <= overlap <= 1:
        raise UsageError(f"the overlap must be between 0 and 1, not {overlap:g}")
    if per_case is not None and per_case < 1:
        raise UsageError("a case needs at least one annotator")
    if request.sample is not None and request.sample < 1:
        raise UsageError("a sample needs at least one case")
    return names


def _guidelines(
    db: Database, project_id: int, chosen: Protocol, prompt_name: str
) -> tuple[int, int, Prompt, int | None]:
    """(id, version, prompt, run id): the prompt with the guidelines, and the newest run that used it, if any."""
    newest = None if prompt_name else people_store.newest_run(db, project_id, chosen.name)
    default = newest["prompt"] if newest is not None else default_prompt(db, project_id, chosen.name)
    prompt_id, version, stored = get_prompt(db, prompt_name or default)
    if stored.protocol != chosen.facts.prompt_protocol:
        raise UsageError(
            f"prompt “{stored.name}” is for {stored.protocol}, not for {chosen.facts.prompt_protocol}"
        )
    run = people_store.newest_run(db, project_id, chosen.name, prompt_id)
    return prompt_id, version, stored, None if run is None else run["id"]


def _cases(
    db: Database, project_id: int, chosen: Protocol, settings: RunSettings, left_out: Counter[str]
) -> list[CaseKey]:
    """The cases that a run with these settings would judge; others count in `left_out`. A sample begins with what a judge
    has judged, and takes one case of each user before a second of any."""
    choose = Chooser(db, project_id, settings, left_out)
    if chosen.name == ADVERSARIAL:
        return [key for _, keys in choose.adversarial(store=True) for key in keys]
    by_user = choose.cases(chosen.facts.unit)
    if settings.sample is not None:
        judged: set[CaseKey] = set()
        for rater in list_raters(db, project_id):
            if rater["kind"] in REVIEWED:
                judged |= judged_cases(db, rater["id"], chosen.name)
        by_user = _in_turns(by_user, judged, settings.seed)
    cases: list[CaseKey] = []
    for _, keys in choose.users(by_user, chosen.facts):
        cases += keys
        if settings.sample is not None and len(cases) >= settings.sample:
            break
    return cases[: settings.sample]


def _in_turns(
    by_user: Iterable[tuple[str, list[CaseKey]]], judged: Collection[CaseKey], seed: int
) -> list[tuple[str, list[CaseKey]]]:
    """A case of each user, then a second of each; judged cases before all others. A user's pairs are in random order."""
    keys_of: dict[str, list[CaseKey]] = {}
    for user, keys in by_user:
        keys_of.setdefault(user, []).extend(keys)
    turns: list[tuple[bool, int, str, CaseKey]] = []
    for user, keys in keys_of.items():
        random.Random(f"{seed} cases of {user}").shuffle(keys)
        keys.sort(key=lambda key: key not in judged)
        turns += [(key not in judged, turn, user, key) for turn, key in enumerate(keys)]
    turns.sort(key=lambda entry: entry[:2])
    return [(user, [key]) for _, _, user, key in turns]


def _assigned(
    cases: Sequence[int],
    ids: Mapping[int, str],
    request: AssignmentRequest,
    taken: Mapping[int, set[int]],
    excluded: Mapping[int, set[int]],
) -> dict[int, list[int]]:
    """New cases per rater id."""
    order = list(cases)
    random.Random(f"{request.seed} cases").shuffle(order)
    possible = [len(taken.get(case, set()) | ids.keys()) for case in order]
    if request.per_case is not None and request.per_case > max(possible, default=0):
        raise UsageError(
            f"{request.per_case} annotators per case need at least {request.per_case} names",
            f"You gave {len(ids)}.",
        )
    if request.per_case is not None:
        wanted = [request.per_case] * len(order)
    elif request.overlap is None:
        wanted = [min(annotation.FEWEST_ANNOTATORS, most) for most in possible]
    else:
        shared = round(request.overlap * len(order))
        wanted = [*possible[:shared], *[1] * (len(order) - shared)]
    names = {name: rater for rater, name in ids.items()}
    return assign(order, names, wanted, taken, excluded, request.seed)


def _last_position(db: Database, rater_id: int, protocol: str) -> int:
    """The highest position among the annotator's tasks, 0 without tasks."""
    return max((task.position for task in people_store.own_tasks(db, rater_id, protocol)), default=0)


# ---- adjudication ------------------------------------------------------------------------------------------------


class Ballot(NamedTuple):
    """One annotator's answers about a case, to be shown without the name. `words` has one text per question of the dispute,
    empty for a question without an answer."""

    words: tuple[str, ...]
    note: str
    rater_id: int


class Dispute(NamedTuple):
    """A case on which annotators disagree, as shown to the third person. `questions` are those with different answers."""

    case_id: int
    task: people_store.Task
    shown: ShownCase
    questions: tuple[annotation.AspectQuestion, ...]
    ballots: tuple[Ballot, ...]


class Queue(NamedTuple):
    """The number of disputed cases, and the ids of those not settled yet, in the order in which they are shown."""

    disputed: int
    left: tuple[int, ...]


def adjudicate_by_rule(db: Database, project_id: int, protocol: str, rule: Rule, name: str) -> RaterSummary:
    """Make a consensus rater by a rule. It covers each case that at least two annotators of the protocol judged. Raises
    what `combine` raises, and UsageError when fewer than two people annotate."""
    annotators = [
        each.rater for each in people_store.project_assignments(db, project_id) if each.protocol == protocol
    ]
    return combine(db, project_id, name, rule, annotators, annotation.FEWEST_ANNOTATORS, protocol=protocol)


def start_adjudication(db: Database, project_id: int, protocol: str, name: str) -> int:
    """Create the consensus rater `name` if new, with the verdicts on which all annotators agree; its id. Raises UsageError
    when the name is empty, or belongs to another kind, rule or protocol."""
    if not name.strip():
        raise UsageError("the third person needs a name", next_step="Give the rater a name.")
    recipe: dict[str, object] = {"rule": annotation.THIRD_PERSON, "protocol": protocol}
    with db.transaction():
        is_known(db, project_id, name, "consensus", recipe)
        rater_id = ensure_rater(db, project_id, name, "consensus", recipe)
        agreed = [
            DerivedVerdict(case_id, aspect, protocol, aspect_votes[0].value, aspect_votes[0].label, "")
            for case_id, aspect, aspect_votes in _shared_votes(people_store.votes(db, project_id, protocol))
            if len({vote.value for vote in aspect_votes}) == 1
        ]
        replace_verdicts(
            db, rater_id, agreed, annotation.AGREED, protocol=protocol, but=annotation.THIRD_PERSON
        )
    return rater_id


def queue_of(db: Database, project_id: int, rater_id: int, protocol: str) -> Queue:
    """The disputed cases of the protocol, and which of them the third person has not settled."""
    disputed = sorted(_disputes(people_store.votes(db, project_id, protocol)))
    settled = {
        task.case_id for task in people_store.own_tasks(db, rater_id, protocol) if task.state != "open"
    }
    return Queue(len(disputed), tuple(case for case in disputed if case not in settled))


def dispute_of(db: Database, project_id: int, rater_id: int, protocol: str, case_id: int) -> Dispute:
    """A disputed case with its ballots, in an order that depends on the case only. Raises NotFoundError when the annotators
    no longer disagree."""
    case_votes = [vote for vote in people_store.votes(db, project_id, protocol) if vote.case_id == case_id]
    aspects = _disputes(case_votes).get(case_id)
    if not aspects:
        raise NotFoundError(
            "the annotators no longer disagree on this case", next_step="Continue with the next case."
        )
    model = people_store.finished_task(db, project_id, protocol, case_id)
    rng = random.Random(f"{protocol} {case_id}")
    first = rng.choice("ab") if model.first else ""
    task = model._replace(
        id=0, rater_id=rater_id, first=first, state="open", reason="", seconds=0.0, revealed=False
    )
    shown = shown_case(db, task)
    questions = tuple(question for question in shown.questions if question.aspect in aspects)
    people = sorted({vote.rater_id for vote in case_votes})
    rng.shuffle(people)
    ballots = []
    for rater in people:
        own = {vote.aspect: vote for vote in case_votes if vote.rater_id == rater}
        words = (q.said(own[q.aspect].value) if q.aspect in own else "" for q in questions)
        ballots.append(Ballot(tuple(words), next((v.note for v in own.values() if v.note), ""), rater))
    return Dispute(case_id, task, shown, questions, tuple(ballots))


def settle(
    db: Database, dispute: Dispute, answers: annotation.CaseAnswers | None, seconds: float, reason: str = ""
) -> None:
    """Store the third person's answers on the disputed aspects; None stores that the case was skipped, for `reason`."""
    task = dispute.task
    with db.transaction():
        new = (task.rater_id, task.case_id, _last_position(db, task.rater_id, task.protocol) + 1, task.first)
        people_store.add_tasks(db, task.project_id, task.protocol, task.prompt_id, task.run_id, [new])
        task_id = people_store.own_tasks(db, task.rater_id, task.protocol)[-1].id
        if answers is None:
            people_store.skip_task(db, task_id, reason, seconds)
        else:
            people_store.submit_verdict(db, task_id, answers, seconds, annotation.THIRD_PERSON)


def ballot_authors(db: Database, dispute: Dispute) -> list[tuple[str, Ballot]]:
    """(name, ballot) of each annotator, to be shown once the case is settled."""
    names = {
        each.rater_id: each.rater for each in people_store.project_assignments(db, dispute.task.project_id)
    }
    return [(names.get(ballot.rater_id, "somebody"), ballot) for ballot in dispute.ballots]


def _shared_votes(ordered_votes: Sequence[StoredRow]) -> Iterable[tuple[int, str, list[StoredRow]]]:
    """(case, aspect, votes) for each aspect that two or more annotators judged. The votes are ordered by case and aspect."""
    for (case_id, aspect), group in groupby(ordered_votes, key=lambda vote: (vote.case_id, vote.aspect)):
        aspect_votes = list(group)
        if len(aspect_votes) >= annotation.FEWEST_ANNOTATORS:
            yield case_id, aspect, aspect_votes


def _disputes(ordered_votes: Sequence[StoredRow]) -> dict[int, set[str]]:
    """case id -> the aspects on which its annotators disagree. Cases without a disagreement have no entry."""
    disputes: dict[int, set[str]] = {}
    for case_id, aspect, aspect_votes in _shared_votes(ordered_votes):
        if len({vote.value for vote in aspect_votes}) > 1:
            disputes.setdefault(case_id, set()).add(aspect)
    return disputes
