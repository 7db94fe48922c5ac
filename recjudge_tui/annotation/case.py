"""A case as an annotator sees it: the same material, guidelines and questions as the judge."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from recjudge_tui.domain.annotation import AnswerOption, AspectQuestion
from recjudge_tui.domain.material import Material, SlateView, UserView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.prompt import AspectSpec, Prompt
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.run import RunSettings
from recjudge_tui.protocols.base import Protocol
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.protocols.templates.rendering import system_text, user_text
from recjudge_tui.runs.plan.context import shown_user
from recjudge_tui.runs.plan.domain import in_words_of
from recjudge_tui.runs.plan.requests import setup_of
from recjudge_tui.runs.plan.settings import settings_for
from recjudge_tui.store.cases import case_row, load_material
from recjudge_tui.store.data import explanation_view, slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history
from recjudge_tui.store.people import Task, run_shows
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import run_row

# a section about the form of the reply: from its heading to the next heading of the same rank, or to the end
_FORM = re.compile(r"^(#+)[ ]*(?:output|reply|answer|response)\b[^\n]*\n.*?(?=^\1[ ]|\Z)", re.I | re.M | re.S)
_PAIR_KEYS = {1.0: ("1", "a"), 0.0: ("0", "t"), -1.0: ("2", "b")}
_PAIR_WORDS = {1.0: "List 1", 0.0: "Tie", -1.0: "List 2"}
_EMPTY_USER: dict[str, object] = {
    "attributes": {},
    "as_of": "",
    "history": (),
    "searches": (),
    "clicks": (),
    "browsed": (),
    "preferences": (),
}


class ShownCase(NamedTuple):
    """What the annotator sees. `material` holds the lists in the order shown, without the names of their systems.

    `issues` are the names and meanings of the flags; empty if the protocol has no flags.
    """

    material: Material
    guidelines: str
    questions: tuple[AspectQuestion, ...]
    issues: tuple[tuple[str, str], ...]


def shown_case(db: Database, task: Task) -> ShownCase:
    """The case of a task, in the task's order: as the task's run showed it to the judge, or else with the present data.

    Raises PromptError when the guidelines cannot be rendered.
    """
    chosen = protocol_named(task.protocol)
    prompt, settings = prompt_by_id(db, task.prompt_id), settings_for(chosen.name)
    material: Material | None = None
    if task.run_id is not None:
        _, settings, _, prompt = setup_of(db, run_row(db, task.run_id))
        if run_shows(db, task.run_id, task.case_id):
            material = load_material(db, task.run_id, task.case_id, settings.top_k)
            # a scored example reveals somebody's answer about another text, and not every judge is shown one
            material = material.model_copy(update={"example": None})
    else:
        prompt = in_words_of(db, task.project_id, prompt, settings)
    material = material or _material_now(db, task, chosen, settings)
    prompt = _without_own_example(prompt, material, task.case_id)
    material = material.model_copy(update={"user": _shown_parts(material.user, prompt)})
    return ShownCase(
        material=material.swapped() if task.first == "b" else material,
        guidelines=guidelines(prompt, settings.top_k),
        questions=tuple(_aspect_question(prompt, spec, task.first) for spec in prompt.aspects),
        issues=tuple((issue.name, prompt.worded(issue.meaning)) for issue in prompt.issues),
    )


def _without_own_example(prompt: Prompt, material: Material, case_id: int) -> Prompt:
    """The prompt without examples made from this case, since these reveal an answer."""
    if not prompt.examples:
        return prompt
    case_text = user_text(prompt, material, "")
    kept = tuple(
        example
        for example in prompt.examples
        if example.title != f"case {case_id}" and not _all_in(case_text, example.input.values())
    )
    return prompt.model_copy(update={"examples": kept})


def _all_in(case_text: str, example_parts: Iterable[object]) -> bool:
    """Whether the text of the case contains every line of an example."""
    lines = [
        str(line).strip()
        for part in example_parts
        for line in (part if isinstance(part, (list, tuple)) else [part])
    ]
    return bool(lines) and all(line in case_text for line in lines)


def guidelines(prompt: Prompt, top_k: int) -> str:
    """The judge's instructions, questions and meanings of answers, without the form of the reply."""
    # as published, they stand below the case, which an annotator sees by itself
    prompt = prompt.with_variables({name: "no" for name in prompt.variables if name == "published"})
    instructions = _FORM.sub("", system_text(prompt, top_k)).strip()
    facts = protocol_facts(prompt.protocol)
    names = facts.list_names
    head = f"{names[0]} and {names[1]} are List 1 and List 2 here.\n\n" if facts.of_pairs else ""
    answers = [
        f"- {label.reply}: {label.meaning}"
        for label in prompt.labels
        if label.meaning and label.meaning not in instructions
    ]
    questions = [
        f"- {spec.name.replace('_', ' ')}: {question}"
        for spec in prompt.aspects
        if (question := prompt.worded(spec.question)) and question not in instructions
    ]
    parts = [head + instructions]
    if questions:
        parts.append("# Questions\n" + "\n".join(questions))
    if answers:
        parts.append("# Answers\n" + "\n".join(answers))
    return "\n\n".join(parts)


def _shown_parts(user: UserView, prompt: Prompt) -> UserView:
    """The user with only those fields that the prompt shows to a judge."""
    hidden = [name for name in _EMPTY_USER if not re.search(rf"\buser\.{name}\b", prompt.user)]
    return user.model_copy(update={name: _EMPTY_USER[name] for name in hidden})


def of_lists(question: str, names: tuple[str, str]) -> str:
    """`Which list is better?` for `Which set is better?`: the annotator sees List 1 and List 2."""
    for place, name in enumerate(names, 1):
        if " " in name:
            question = re.sub(rf"\b{re.escape(name)}\b", f"List {place}", question)
            question = re.sub(
                rf"\b(which|each|either|neither) {name.split()[0]}\b", r"\1 list", question, flags=re.I
            )
    return question


def _aspect_question(prompt: Prompt, spec: AspectSpec, first: str) -> AspectQuestion:
    question = prompt.worded(spec.question)
    if first:
        question = of_lists(question, protocol_facts(prompt.protocol).list_names)
    if prompt.scale is not None:
        return AspectQuestion(spec.name, question, (), prompt.scale.low, prompt.scale.high)
    labels = prompt.labels_of(spec.name)
    names = {label.value: label.name for label in labels}
    if not first:
        ordered = sorted(labels, key=lambda label: label.value)
        options = [
            AnswerOption((str(n % 10),), label.reply, label.value, label.name)
            for n, label in enumerate(ordered, 1)
        ]
        return AspectQuestion(spec.name, question, tuple(options[:10]))
    # values refer to system a; turn the sign when system b is shown first
    sign = -1.0 if first == "b" else 1.0
    if set(names) == set(_PAIR_KEYS):
        pair = (
            AnswerOption(_PAIR_KEYS[v], _PAIR_WORDS[v], sign * v + 0.0, names[sign * v + 0.0])
            for v in _PAIR_KEYS
        )
        return AspectQuestion(spec.name, question, tuple(pair))
    graded = sorted(labels, key=lambda label: -label.value)
    turned = [
        AnswerOption(
            (str(n % 10),), _graded(label.value), sign * label.value + 0.0, names[sign * label.value + 0.0]
        )
        for n, label in enumerate(graded, 1)
        if sign * label.value in names
    ]
    return AspectQuestion(spec.name, question, tuple(turned[:10]))


def _graded(value: float) -> str:
    side = "List 1" if value > 0 else "List 2"
    return f"{side} by {abs(value):g}" if value else "Tie"


def _material_now(db: Database, task: Task, chosen: Protocol, settings: RunSettings) -> Material:
    case, project_id = case_row(db, task.case_id), task.project_id
    text: int | None = case["explanation_id"]
    return Material(
        kind=chosen.facts.unit,
        user=shown_user(
            read_history(db, project_id, case["user_id"]),
            settings,
            Occasion(case["context"], case["served_at"]),
            needed=chosen.facts.needs_history,
        ),
        slates=tuple(
            SlateView(items=slate_top(db, project_id, slate, settings.top_k))
            for slate in (case["slate_a"], case["slate_b"])
            if slate is not None
        ),
        explanation=None if text is None else explanation_view(db, project_id, text),
        top_k=settings.top_k,
    )
