"""The request that a prompt would make for a case with the present data."""

from __future__ import annotations

from recjudge_tui.domain.calls import Order, Request
from recjudge_tui.domain.material import Material, SlateView
from recjudge_tui.domain.occasions import Occasion
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.run import sampling_of
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import NotFoundError, UsageError
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.engine.call import Question
from recjudge_tui.runs.plan.context import shown_user
from recjudge_tui.runs.plan.domain import in_words_of
from recjudge_tui.runs.plan.settings import check_form, settings_for
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.data import explanation_view, slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import read_history


def request_now(
    db: Database, prompt: Prompt, case_id: int, order: Order | None = None, *, as_published: bool = False
) -> Request:
    """The request that `prompt` would make for a case with the present data; see `question_now`."""
    return question_now(db, prompt, case_id, order, as_published=as_published).request


def question_now(
    db: Database, prompt: Prompt, case_id: int, order: Order | None = None, *, as_published: bool = False
) -> Question:
    """The call that a run with the protocol's default settings, or as published, would make, for all aspects at once.

    `order` None is the protocol's first order.

    Raises NotFoundError when the case has no lists or is of another kind than the prompt judges, UsageError for an
    order that the protocol does not have or a form that the prompt does not have, PromptError for a prompt that cannot
    be rendered.
    """
    case = case_row(db, case_id)
    chosen = protocol_named(prompt.protocol)
    order = chosen.orders[0] if order is None else order
    if order not in chosen.orders:
        known = ", ".join(name or "none" for name in chosen.orders)
        raise UsageError(f"{chosen.name} has no order “{order}”", f"Its orders are: {known}.")
    slates = [s for s in (case["slate_a"], case["slate_b"]) if s is not None]
    text = case["explanation_id"]
    if case["kind"] != chosen.facts.unit or not (slates or text):
        raise NotFoundError(
            f"prompt “{prompt.name}” cannot show case {case_id}",
            f"It judges cases of kind {chosen.facts.unit}; this case is of kind {case['kind']} "
            f"and has {quantity(len(slates), 'list')} and {'a' if text else 'no'} text.",
        )
    project_id, settings = case["project_id"], settings_for(chosen.name, as_published=as_published)
    check_form(settings, prompt)
    prompt = in_words_of(db, project_id, prompt, settings)
    material = Material(
        kind=chosen.facts.unit,
        user=shown_user(
            read_history(db, project_id, case["user_id"]),
            settings,
            Occasion(case["context"], case["served_at"]),
            needed=chosen.facts.needs_history,
        ),
        slates=tuple(SlateView(items=slate_top(db, project_id, slate, settings.top_k)) for slate in slates),
        explanation=explanation_view(db, project_id, text) if text else None,
        top_k=settings.top_k,
    )
    request = chosen.request(prompt, material, order, "", sampling_of(settings, 0))
    return Question(request, chosen, prompt, material, order, "")
