"""The text of a request again: as a run sent it, or as it would be sent now."""

from __future__ import annotations

from recjudge_tui.errors import NotFoundError
from recjudge_tui.model.calls import Request, Sampling
from recjudge_tui.model.material import Material, SlateView
from recjudge_tui.model.prompt import Prompt
from recjudge_tui.model.run import RunSettings, sampling_of
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.running.context import user_view
from recjudge_tui.store.calls import call_row
from recjudge_tui.store.cases import case_row
from recjudge_tui.store.catalogue import slate_top
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import prompt_by_id
from recjudge_tui.store.runs import run_row
from recjudge_tui.store.snapshots import load_material


def sent_request(db: Database, call_id: int) -> Request:
    """The request of a call exactly as it was built: its content hash equals the stored one."""
    call = call_row(db, call_id)
    run = run_row(db, call["run_id"])
    settings = RunSettings.model_validate_json(run["settings"])
    material = load_material(db, run["id"], call["case_id"], settings.top_k)
    chosen, prompt = protocol_named(run["protocol"]), prompt_by_id(db, run["prompt_id"])
    sampling = sampling_of(settings, call["sample"])
    request = chosen.request(prompt, material, call["list_order"], call["aspect"], sampling)
    return request.model_copy(update={"sample": call["sample"]})


def request_now(db: Database, prompt: Prompt, case_id: int) -> Request:
    """What `prompt` would ask about a case with the data as it is now, in the first order.

    Raises NotFoundError when the case has no lists or is of another kind than the prompt judges.
    """
    case = case_row(db, case_id)
    chosen = protocol_named(prompt.protocol)
    slates = [s for s in (case["slate_a"], case["slate_b"]) if s is not None]
    if case["kind"] != chosen.case_kind or not slates:
        raise NotFoundError(
            f"prompt “{prompt.name}” cannot show case {case_id}",
            f"It judges a {chosen.case_kind}; the case is a {case['kind']} with {len(slates)} lists.",
        )
    settings = RunSettings(protocol=chosen.name, top_k=chosen.default_top_k)
    material = Material(
        kind=chosen.case_kind,
        user=user_view(db, case["project_id"], case["user_id"], settings),
        slates=tuple(
            SlateView(items=slate_top(db, case["project_id"], slate, settings.top_k)) for slate in slates
        ),
        top_k=settings.top_k,
    )
    return chosen.request(prompt, material, chosen.orders[0], "", Sampling())
