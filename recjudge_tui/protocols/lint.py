"""Checks a prompt before it costs any model call."""

from __future__ import annotations

import json
from collections.abc import Iterator

from recjudge_tui.domain.calls import Order, Reply, Request, Sampling
from recjudge_tui.domain.material import (
    CaseKind,
    ExplanationView,
    ItemView,
    Material,
    ShownEvent,
    SlateView,
    UserView,
)
from recjudge_tui.domain.prompt import Example, Prompt
from recjudge_tui.errors import PromptError, ReplyFault, UsageError
from recjudge_tui.protocols.registry import Protocol, analysis_field, profile_request, protocol
from recjudge_tui.protocols.replies import name_key

SAMPLE_K = 10
SAMPLE_TEXT = "Sample text: you bought soap, and this goes with it."
# the variables with which a run sets the form, if a prompt has them
_FORMS: tuple[dict[str, str], ...] = (
    {}, {"published": "yes"}, {"reasoning": "none"}, {"published": "yes", "reasoning": "none"},
)  # fmt: skip
_LISTS = {"list": 1, "pair": 2, "explanation": 0}


def lint(prompt: Prompt) -> list[str]:
    """The problems of a prompt, a sentence each; an empty list for a correct one. A prompt whose texts follow the form of
    a run is checked in each form. Both texts are rendered with a full sample case, with an almost empty one and for each
    aspect alone; so is the call that writes a profile. The protocol must be able to parse the reply of every example. The
    text must name labels, issue types and reply fields and show the lists. A scale that is asked in both orders must be
    symmetric."""
    try:
        rules = protocol(prompt.protocol)
    except UsageError as error:
        return [str(error)]
    forms = [form for form in _FORMS if set(form) <= set(prompt.variables)]
    faults = [fault for form in forms for fault in _faults(prompt.with_variables(form), rules)]
    if not faults:
        sample = sample_material(rules.facts.shown)
        request = rules.request(prompt, sample, rules.orders[0], "", Sampling())
        faults = [fault for each in prompt.examples for fault in _bad_example(prompt, each, rules, request)]
    return list(dict.fromkeys(faults))


def _faults(prompt: Prompt, rules: Protocol) -> list[str]:
    """The problems of one form of a prompt."""
    order, sampling, sample = rules.orders[0], Sampling(), sample_material(rules.facts.shown)
    try:
        full = rules.request(prompt, sample, order, "", sampling)
        rules.request(prompt, bare_material(rules.facts.shown), order, "", sampling)
        for aspect in prompt.aspects:
            rules.request(prompt, sample, order, aspect.name, sampling)
        if prompt.profile is not None:
            profile_request(prompt, sample, sampling)
    except PromptError as error:
        return [str(error)]
    return [*ambiguous(prompt), *_asymmetric(prompt, rules), *_untold(prompt, full), *_unshown(full)]


def ambiguous(prompt: Prompt) -> Iterator[str]:
    """Names in replies that could mean two aspects, or an aspect and its analysis: a sentence each."""
    taken = {"reasoning": "the reasoning", "flagged_items": "the flagged items"}
    taken |= {name_key(analysis_field(spec)): f"the analysis of “{spec.name}”" for spec in prompt.aspects}
    for spec in prompt.aspects:
        for key in dict.fromkeys(map(name_key, (spec.field, spec.name, *spec.aliases))):
            if key in taken:
                yield f"In a reply “{key}” could mean “{spec.name}” or {taken[key]}."
            taken[key] = f"“{spec.name}”"


def sample_material(kind: CaseKind, length: int = SAMPLE_K) -> Material:
    """A case with a value for everything that a template may use."""

    def slate(which: int) -> SlateView:
        places = range(1, length + 1)
        return SlateView(
            items=tuple(ItemView(item_id=f"{which}-{n}", title=f"Sample {which} {n}") for n in places)
        )

    item = ItemView(item_id="h1", title="Oat Soap Bar", brand="Tarn", category="Bath")
    scores = {"persuasiveness": 4.0, "transparency": 2.0, "accuracy": 3.0, "satisfaction": 5.0}
    return Material(
        kind=kind,
        user=UserView(
            user_id="u1",
            attributes={"age": "30"},
            as_of="2024-05-31T00:00:00+00:00",
            history=(
                ShownEvent(type="purchase", timestamp="2024-05-01T00:00:00+00:00", item=item),
                ShownEvent(type="rating", item=item, value=4),
            ),
            searches=(ShownEvent(type="search", text="soap dish"),),
            clicks=(ShownEvent(type="click", item=item),),
            others=(ShownEvent(type="wishlist", item=item),),
            browsed=("Bath",),
            preferences=("buys soap every month",),
        ),
        slates=tuple(map(slate, range(1, _LISTS[kind] + 1))),
        explanation=ExplanationView(item=item, text=SAMPLE_TEXT) if kind == "explanation" else None,
        example=ExplanationView(item=item, text="You like soap.", scores=scores)
        if kind == "explanation"
        else None,
        top_k=max(length, 1),
    )


def bare_material(kind: CaseKind) -> Material:
    """A case with nothing but the judged material."""
    return sample_material(kind).model_copy(update={"user": UserView(user_id="u1"), "example": None})


def _asymmetric(prompt: Prompt, rules: Protocol) -> Iterator[str]:
    if "ba" not in rules.orders:
        return
    for aspect in prompt.aspects:
        values = [label.value for label in prompt.labels_of(aspect.name)]
        if sorted(values) != sorted(-value for value in values) or len(set(values)) < len(values):
            yield (
                f"The labels of “{aspect.name}” have the values {', '.join(f'{v:g}' for v in values)}; "
                "asked in both orders, each needs one counterpart of the opposite value."
            )


def _untold(prompt: Prompt, request: Request) -> Iterator[str]:
    text = "\n".join(message.content for message in request.messages)
    fields = request.reply_schema["required"]
    told = [("field", name) for name in fields]
    told += [("label", label.reply) for aspect in prompt.aspects for label in prompt.labels_of(aspect.name)]
    # only a pointwise reply names issue types; other texts need not mention them
    told += [("issue type", issue.name) for issue in prompt.issues if "flagged_items" in fields]
    for what, name in told:
        if name not in text:
            yield f"The text does not mention the {what} “{name}”."


def _unshown(request: Request) -> Iterator[str]:
    material, text = request.material, request.messages[-1].content
    for place, slate in enumerate(material.slates if material else (), start=1):
        missing = [item.title for item in slate.items if item.title not in text]
        if missing:
            yield f"The user text does not show {len(missing)} of the {len(slate.items)} items of list {place}."
    if material and material.explanation and SAMPLE_TEXT not in text:
        yield "The user text does not show the explanation."


def _bad_example(prompt: Prompt, example: Example, rules: Protocol, request: Request) -> Iterator[str]:
    required = set(request.reply_schema["required"])
    wrong = sorted(required ^ set(example.reply))
    if wrong:
        yield f"Example “{example.title}”: its reply has missing or unknown fields: {', '.join(wrong)}."
    shown = example.input.get("list")
    length = len(shown) if isinstance(shown, list) else SAMPLE_K
    order: Order = rules.orders[0]
    reply = Reply(text=json.dumps(example.reply, ensure_ascii=False, default=str), structured=True)
    # without examples, because the prompt would refuse the reply as a repetition of one
    bare = prompt.model_copy(update={"examples": ()})
    try:
        rules.parse(bare, sample_material(rules.facts.unit, length), reply, order, "")
    except (ReplyFault, PromptError) as fault:
        yield f"Example “{example.title}”: {fault}."
