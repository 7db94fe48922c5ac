"""The requests and replies behind one verdict: every call with its request rendered again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from recjudge_tui.domain.calls import PROFILE, Request
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.text import finite
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.judges.http.curl import curl_command
from recjudge_tui.judges.registry import make_judge
from recjudge_tui.runs.plan.requests import Setup, build_request, setup_of
from recjudge_tui.store.calls import CallKey, calls_of_verdict
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import list_prompts
from recjudge_tui.store.runs import run_row

_NUMBERS = ("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "cost_usd", "latency_s")


class SentCall(NamedTuple):
    """One call. `first` is the system whose list was shown first, empty unless the case is a pair.

    `request` is None where it cannot be rendered any more, with the reason in `fault`. `same` says whether it has the
    hash of the request that was sent; None if no hash was stored. `parameters` were sent with the messages.
    """

    id: int
    first: str
    aspect: str
    sample: int
    state: str
    request: Request | None
    fault: str
    same: bool | None
    parameters: dict[str, Any]
    reply: str
    thinking: str
    model: str
    stop: str
    parsed_by: str
    attempts: int
    cached: bool
    numbers: dict[str, float | None]
    error_kind: str
    error: str
    finished_at: str
    curl: str

    def title(self) -> str:
        """`cooccurrence first, sample 2`: distinguishes the calls of one verdict."""
        named = "the user's profile" if self.aspect == PROFILE else self.aspect.replace("_", " ")
        parts = [
            f"{self.first} first" if self.first else "",
            named,
            f"sample {self.sample + 1}" if self.sample else "",
        ]
        return ", ".join(part for part in parts if part) or "one call"


class SentVerdict(NamedTuple):
    """The calls behind a verdict, in the order of the run's plan. `prompt` is (name, version), `unit` the kind of case."""

    run_id: int
    judge: str
    prompt: tuple[str, int]
    unit: str
    case_id: int
    calls: tuple[SentCall, ...]


def sent_verdict(db: Database, verdict_id: int) -> SentVerdict | None:
    """Render the requests of a verdict again; None if no run made it."""
    rows = calls_of_verdict(db, verdict_id)
    if not rows:
        return None
    run = run_row(db, rows[0]["run_id"])
    setup, fault = _setup(db, run)
    calls = tuple(_call(db, run["id"], setup, fault, row) for row in rows)
    prompt = next((p["name"], p["version"]) for p in list_prompts(db) if p["id"] == run["prompt_id"])
    unit = protocol_facts(run["protocol"]).unit
    judge = "" if setup is None else setup.spec.spec
    return SentVerdict(run["id"], judge, prompt, unit, rows[0]["case_id"], calls)


def _setup(db: Database, run: StoredRow) -> tuple[Setup | None, str]:
    """The setup of the run, or the reason why it can no longer be read; replies are shown anyway."""
    try:
        return setup_of(db, run), ""
    except RecjudgeError as error:
        return None, str(error)
    except ValidationError:
        return None, "its stored settings cannot be read"


def _call(db: Database, run_id: int, setup: Setup | None, fault: str, row: StoredRow) -> SentCall:
    request = None
    if setup is not None:
        request, fault = _request(db, run_id, setup, row)
    stored = json.loads(row["sent"]) if row["sent"] else {}
    parameters: dict[str, Any] = stored.get("sent", {})
    same = (
        None if request is None or not row["content_hash"] else request.content_hash() == row["content_hash"]
    )
    return SentCall(
        id=row["id"],
        first={"ab": row["system_a"], "ba": row["system_b"]}.get(row["list_order"], ""),
        aspect=row["aspect"],
        sample=row["sample"],
        state=row["state"],
        request=request,
        fault=fault,
        same=same,
        parameters=parameters,
        reply=row["reply"] or "",
        thinking=row["thinking"] or "",
        model=row["model"] or "",
        stop=row["stop_reason"] or "",
        parsed_by=row["parsed_by"] or "",
        attempts=row["attempts"],
        cached=row["cached_from"] is not None,
        numbers={name: row[name] for name in _NUMBERS},
        error_kind=row["error_kind"] or "",
        error=row["error"] or "",
        finished_at=row["finished_at"] or "",
        curl=""
        if request is None or setup is None
        else _curl(setup, request, parameters, stored.get("dropped", ())),
    )


def _request(db: Database, run_id: int, setup: Setup, row: StoredRow) -> tuple[Request | None, str]:
    key = CallKey(row["id"], row["case_id"], row["list_order"], row["aspect"], row["sample"])
    try:
        _, request = build_request(db, run_id, setup.settings, setup.protocol, setup.prompt, key)
    except RecjudgeError as error:
        return None, str(error)
    return request, ""


def _curl(setup: Setup, request: Request, parameters: dict[str, Any], dropped: Sequence[str]) -> str:
    """The curl commands; empty for judges that are not asked over HTTP."""
    try:
        judge = make_judge(setup.spec)
    except RecjudgeError:
        return ""
    wire = getattr(judge, "wire", None)
    return "" if wire is None else curl_command(wire(request, parameters, dropped))


# ---- as text


def sent_text(sent: SentVerdict, form: str) -> str:
    """All calls as text to read, as JSON, or as command lines."""
    if form == "json":
        calls = finite([_as_json(sent, call) for call in sent.calls])
        return json.dumps(calls, ensure_ascii=False, allow_nan=False, indent=2)
    if form == "curl":
        return "\n\n".join(f"# {call.title()}\n{call.curl}" for call in sent.calls if call.curl)
    return "\n\n".join(_as_text(call) for call in sent.calls)


def _as_json(sent: SentVerdict, call: SentCall) -> dict[str, Any]:
    fields = call._asdict()
    for name in ("request", "curl", "numbers"):
        del fields[name]
    messages = [] if call.request is None else [
        {"role": message.role, "content": message.content} for message in call.request.messages
    ]  # fmt: skip
    return {"run": sent.run_id, "judge": sent.judge, "prompt": "@".join(map(str, sent.prompt)), **fields,
            **call.numbers, "messages": messages}  # fmt: skip


def _as_text(call: SentCall) -> str:
    parts = [f"==== {call.title()}"]
    if call.request is None:
        parts.append(f"(the request cannot be rendered: {call.fault})")
    else:
        parts += [f"-- sent, {message.role}\n{message.content}" for message in call.request.messages]
    if call.thinking:
        parts.append(f"-- thinking\n{call.thinking}")
    parts.append(f"-- came back\n{call.error if call.state == 'failed' and not call.reply else call.reply}")
    return "\n\n".join(parts)
