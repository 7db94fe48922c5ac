"""The text of a request again: as a run sent it, or as it would be sent now."""

from __future__ import annotations

from recjudge_tui.errors import NotFoundError
from recjudge_tui.model.calls import Request, Sampling
from recjudge_tui.model.material import Material, SlateView
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.running.context import shown_user
from recjudge_tui.running.requests import build_request, setup_of
from recjudge_tui.running.wishes import settings_for
from recjudge_tui.store.calls import CallKey, call_row
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.catalogue import slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.explanations import explanation_view
from recjudge_tui.store.runs import run_row


def sent_request(db: Database, call_id: int) -> Request:
    """The request of a call exactly as it was built: its content hash equals the stored one."""
    call = call_row(db, call_id)
    run = run_row(db, call["run_id"])
    _, settings, chosen, prompt = setup_of(db, run)
    key = CallKey(call["id"], call["case_id"], call["list_order"], call["aspect"], call["sample"])
    return build_request(db, run["id"], settings, chosen, prompt, key)[1]


def request_now(db: Database, prompt: Prompt, case_id: int) -> Request:
    """What `prompt` would ask about a case with the data as it is now, in the first order.

    Raises NotFoundError when the case has no lists or is of another kind than the prompt judges.
    """
    case = case_row(db, case_id)
    chosen = protocol_named(prompt.protocol)
    slates = [s for s in (case["slate_a"], case["slate_b"]) if s is not None]
    text = case["explanation_id"]
    if case["kind"] != chosen.case_kind or not (slates or text):
        raise NotFoundError(
            f"prompt “{prompt.name}” cannot show case {case_id}",
            f"It judges a case of kind {chosen.case_kind}; this one is of kind {case['kind']}, "
            f"with {len(slates)} lists and {'a' if text else 'no'} text.",
        )
    project_id, settings = case["project_id"], settings_for(chosen.name)
    material = Material(
        kind=chosen.case_kind,
        user=shown_user(db, project_id, case["user_id"], settings, needed=chosen.people_needed),
        slates=tuple(SlateView(items=slate_top(db, project_id, slate, settings.top_k)) for slate in slates),
        explanation=explanation_view(db, project_id, text) if text else None,
        top_k=settings.top_k,
    )
    return chosen.request(prompt, material, chosen.orders[0], "", Sampling())
