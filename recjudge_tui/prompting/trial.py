"""What a judge is sent and what it answers: a request rendered, tried, probed, and shown again as it was sent."""

from __future__ import annotations

import asyncio
import json
import random
import shlex
import statistics
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

from pydantic import ValidationError

from recjudge_tui import errors
from recjudge_tui.domain.calls import (
    PROFILE,
    CallResult,
    Message,
    Order,
    PlacedImage,
    Reply,
    Request,
    Sampling,
    Trial,
    estimate_prompt_tokens,
)
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec, Workload
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.protocols import protocol_facts
from recjudge_tui.domain.roles import is_language_model
from recjudge_tui.domain.run import sampling_of
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.domain.text import finite, quantity
from recjudge_tui.importers.images import prepared
from recjudge_tui.judges.registry import Judge, make_judge, takes_images
from recjudge_tui.judges.servers import HttpJudge, WireCall
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.runs.calls import Bill, Call, CallLimits, CostOf, Question, RunStopError
from recjudge_tui.runs.cases import Setup, build_request, material_now, setup_of
from recjudge_tui.runs.estimate import cost_at, price_of
from recjudge_tui.runs.settings import check_form, in_words_of, settings_for
from recjudge_tui.store.calls import CallKey, calls_of_verdict
from recjudge_tui.store.cases import case_row, showable_case
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import list_prompts, prompt_by_id
from recjudge_tui.store.runs import judge_capabilities, run_row

# ---- trial -------------------------------------------------------------------------------------------------------

# somebody is waiting, so a busy server gets less time than in a run
PATIENCE_S = 30.0
LOOK_EVERY_S = 0.1


def try_prompt(
    db: Database,
    prompt: Prompt,
    case_id: int,
    spec: JudgeSpec,
    order: Order | None = None,
    *,
    timeout_s: float = TIMEOUT_S,
    cancelled: threading.Event | None = None,
) -> Trial:
    """Ask the judge about one case as a run with the protocol's default settings would, with the same retries.

    Nothing is stored, and no stored reply is used. A call that failed is a Trial with its error. Raises JudgeError when
    the judge cannot be used, UsageError for an unknown judge, what `question_now` raises, and RunError after
    `cancelled` was set.
    """
    question = question_now(db, prompt, case_id, order)
    observed = _ObservedJudge(make_judge(spec))
    cost_of = partial(cost_at, price_of(spec, observed.rater_kind))
    sampling = question.request.sampling
    workload = Workload(
        calls=1,
        longest_prompt_tokens=estimate_prompt_tokens(question.request.messages)[1],
        max_tokens=sampling.max_tokens,
        concurrency=1,
        timeout_s=timeout_s,
        known=judge_capabilities(db, spec),
    )
    result = asyncio.run(_cancellable(_ask(observed, question, workload, cost_of), cancelled))
    return Trial(
        observed.name, observed.rater_kind, case_id, question.order, question.request, result.attempts, result.reply,
        result.parsed, result.cost_usd, result.error_kind or "", result.error or "",
    )  # fmt: skip


class _ObservedJudge:
    """The judge, with the number of attempts and the last error."""

    def __init__(self, judge: Judge) -> None:
        self.prepare, self.close, self._ask = judge.prepare, judge.close, judge.ask
        self.name, self.rater_kind = judge.name, judge.rater_kind
        self.cacheable, self.concurrency = judge.cacheable, judge.concurrency
        self.attempts = 0
        self.error: errors.CallError | None = None

    async def ask(self, request: Request) -> Reply:
        self.attempts += 1
        try:
            return await self._ask(request)
        except errors.CallError as error:
            self.error = error
            raise


async def _ask(judge: _ObservedJudge, question: Question, workload: Workload, cost_of: CostOf) -> CallResult:
    stopping = asyncio.Event()
    try:
        await judge.prepare(workload)
        asyncio.get_running_loop().call_later(PATIENCE_S, stopping.set)
        return await Call(judge, question, workload.timeout_s, CallLimits(stopping), cost_of, Bill()).result()
    except RunStopError:
        error = judge.error or errors.CallError("timeout", f"no answer within {workload.timeout_s:g} s")
        return CallResult(judge.attempts, error_kind=error.kind, error=str(error))
    finally:
        await judge.close()


async def _cancellable(
    asking: Coroutine[None, None, CallResult], cancelled: threading.Event | None
) -> CallResult:
    task = asyncio.create_task(asking)
    while not (await asyncio.wait({task}, timeout=LOOK_EVERY_S))[0]:
        if cancelled is not None and cancelled.is_set():
            task.cancel()
            await asyncio.wait({task})
            raise errors.RunError("the trial was cancelled", "Nothing was stored.")
    return task.result()


# ---- preview -----------------------------------------------------------------------------------------------------


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
    order that the protocol does not have, a form that the prompt does not have or a prompt that reads texts, PromptError
    for a prompt that cannot be rendered.
    """
    case = case_row(db, case_id)
    chosen = protocol_named(prompt.protocol)
    if chosen.facts.reads:
        raise errors.UsageError(
            f"prompt “{prompt.name}” reads texts about cases, and is not shown a case",
            "It is asked while the themes of reasons are found, or rules are written from mistakes.",
        )
    order = chosen.orders[0] if order is None else order
    if order not in chosen.orders:
        known = ", ".join(name or "none" for name in chosen.orders)
        raise errors.UsageError(f"{chosen.name} has no order “{order}”", f"Its orders are: {known}.")
    slates = [s for s in (case["slate_a"], case["slate_b"]) if s is not None]
    text = case["explanation_id"]
    if case["kind"] != chosen.facts.unit or not (slates or text):
        raise errors.NotFoundError(
            f"prompt “{prompt.name}” cannot show case {case_id}",
            f"It judges cases of kind {chosen.facts.unit}; this case is of kind {case['kind']} "
            f"and has {quantity(len(slates), 'list')} and {'a' if text else 'no'} text.",
        )
    settings = settings_for(chosen.name, as_published=as_published)
    check_form(settings, prompt)
    prompt = in_words_of(db, case["project_id"], prompt, settings)
    material = material_now(db, case, chosen.facts, settings)
    request = chosen.request(prompt, material, order, "", sampling_of(settings, 0))
    return Question(request, chosen, prompt, material, order, "")


# ---- probe -------------------------------------------------------------------------------------------------------

COUNTRIES = ("France", "Japan", "Egypt")
MAX_TOKENS = 1024  # room for thinking
# no model names these words as a capital unless the server enforces the schema
_LABELS = ("quokka-17", "teapot-42")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "answer": {"type": "string", "enum": list(_LABELS)}},
    "required": ["reasoning", "answer"],
    "additionalProperties": False,
}
_TEXT_SCHEMA: dict[str, Any] = {
    **_SCHEMA,
    "properties": {"reasoning": {"type": "string"}, "answer": {"type": "string"}},
}
# no model says one of these words unless it has read it in the image
WORDS = ("WALNUT", "LANTERN", "PELICAN", "TROMBONE", "GLACIER", "SAFFRON", "VOLCANO", "BADGER")
SIZE = (512, 192)
_LETTERS = 88


def probe(spec: JudgeSpec, timeout_s: float = TIMEOUT_S, *, images: bool = True) -> Capabilities:
    """Prepare the judge and ask it three times for the capital of a country.

    The schema allows only two odd words, so if a model answers with one of them, the server enforces the schema.
    Temperature 0, a seed and a request for log-probabilities are sent; `refused` lists what the server refuses. A
    judge that is not a language model, or answers from a recording, is prepared and not asked. With `images` a fourth
    call asks for a word that is written in an image. Raises JudgeError when it cannot be used, or when none of the
    calls is answered.
    """
    return asyncio.run(_probe(spec, timeout_s, images))


async def _probe(spec: JudgeSpec, timeout_s: float, images: bool) -> Capabilities:
    judge = make_judge(spec)
    workload = Workload(
        calls=len(COUNTRIES),
        longest_prompt_tokens=256,
        max_tokens=MAX_TOKENS,
        concurrency=1,
        timeout_s=timeout_s,
        known=Capabilities(logprobs=True),
    )
    try:
        identity = await judge.prepare(workload)
        if is_language_model(judge.rater_kind) and spec.provider != "replay":
            return await _measure(judge, identity, images)
        return Capabilities(
            language_model=False,
            model=identity.name,
            digest=identity.digest,
            endpoints=identity.endpoints,
            concurrency=judge.concurrency,
        )
    finally:
        await judge.close()


async def _measure(judge: Judge, identity: Identity, images: bool) -> Capabilities:
    replies: list[Reply] = []
    problems: list[str] = []
    for country in COUNTRIES:
        question = f"What is the capital of {country}? Answer with its name."
        try:
            replies.append(await judge.ask(_asked(question, _SCHEMA, label_field="answer")))
        except errors.CallError as error:
            problems.append(str(error))
    if not replies:
        raise errors.JudgeError(
            f"{judge.name} answered none of {len(COUNTRIES)} calls",
            " ".join(dict.fromkeys(problems)),
            "Fix the cause and test it again.",
        )
    sees = await _sees_images(judge, problems) if images else None
    last = replies[-1]
    latencies = [reply.latency_s for reply in replies if reply.latency_s is not None]
    return Capabilities(
        model=last.model or identity.name,
        digest=identity.digest,
        endpoints=identity.endpoints,
        schema_enforced=all(map(_fits, replies)),
        temperature=_was_sent(last, "temperature"),
        seed=_was_sent(last, "seed"),
        logprobs=any(reply.logprobs for reply in replies),
        images=sees,
        refused=tuple(dict.fromkeys(name for reply in replies for name in reply.dropped)),
        context_length=identity.context_length,
        latency_s=statistics.median(latencies) if latencies else None,
        concurrency=judge.concurrency,
        problems=tuple(dict.fromkeys(problems)),
    )


async def _sees_images(judge: Judge, problems: list[str]) -> bool | None:
    """Whether the judge reads a word in an image; None if it does not accept images, or if this cannot be tested."""
    if not takes_images(judge):
        return False
    word = random.choice(WORDS)
    image = image_of_word(word)
    if image is None:
        problems.append("Whether it sees images was not tested: it needs pip install 'recjudge[images]'.")
        return None
    try:
        text = "Image: [image 1]\nWhich word is written in this image? Answer with it, or with NONE if you see no image."
        placed = image.model_copy(update={"at": text.index("]") + 1})
        reply = await judge.ask(_asked(text, _TEXT_SCHEMA, placed))
    except errors.SightError:
        return False
    except errors.CallError as error:
        problems.append(str(error))
        return None
    return word in reply.text.upper()


def _asked(text: str, schema: dict[str, Any], *images: PlacedImage, label_field: str = "") -> Request:
    return Request(
        messages=(
            Message(role="system", content="You answer questions in JSON, with a short reasoning."),
            Message(role="user", content=text, images=images),
        ),
        reply_schema=schema,
        schema_name="answer",
        label_field=label_field,
        sampling=Sampling(max_tokens=MAX_TOKENS),
    )


def _fits(reply: Reply) -> bool:
    try:
        answer = json.loads(reply.text)
    except (ValueError, RecursionError):
        return False
    return isinstance(answer, dict) and answer.get("answer") in _LABELS


def _was_sent(reply: Reply, name: str) -> bool:
    """Whether the parameter was sent, directly or in Ollama's options, and not refused."""
    options = reply.sent.get("options")
    return name in reply.sent or (isinstance(options, dict) and name in options)


def image_of_word(word: str) -> PlacedImage | None:
    """The word in black letters on white, as images of items are sent; None without the extra “images”."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        return None
    picture = Image.new("RGB", SIZE, "white")
    letters = ImageFont.load_default(_LETTERS)
    middle = (SIZE[0] / 2, SIZE[1] / 2)
    ImageDraw.Draw(picture).text(middle, word, fill="black", font=letters, anchor="mm")
    written = BytesIO()
    picture.save(written, "PNG")
    image = prepared(written.getvalue())
    return PlacedImage(at=0, image=image.view, data=image.content)


# ---- sent --------------------------------------------------------------------------------------------------------

# what of a stored call is saved as JSON
_SAVED = (
    "id", "aspect", "sample", "state", "reply", "thinking", "model", "stop_reason", "parsed_by", "attempts", "error_kind",
    "error", "finished_at", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "cost_usd", "latency_s",
)  # fmt: skip


class SentCall(NamedTuple):
    """One call: its stored row, and the request rendered again.

    `request` is None where it cannot be rendered any more, with the reason in `fault`. `same` says whether it has the
    hash of the request that was sent; None if no hash was stored. `parameters` were sent with the messages.
    """

    row: StoredRow
    request: Request | None
    fault: str
    same: bool | None
    parameters: dict[str, Any]
    curl: str

    @property
    def first(self) -> str:
        """The system whose list was shown first, empty unless the case is a pair."""
        first: str = {"ab": self.row["system_a"], "ba": self.row["system_b"]}.get(self.row["list_order"], "")
        return first

    def title(self) -> str:
        """`cooccurrence first, sample 2`: distinguishes the calls of one verdict."""
        first, aspect, sample = self.first, self.row["aspect"], self.row["sample"]
        parts = (
            f"{first} first" if first else "",
            "the user's profile" if aspect == PROFILE else aspect.replace("_", " "),
            f"sample {sample + 1}" if sample else "",
        )
        return ", ".join(filter(None, parts)) or "one call"


class SentVerdict(NamedTuple):
    """The calls behind a verdict, in the order of the run's plan. `prompt` is (name, version), `unit` the kind of case."""

    run_id: int
    judge: str
    prompt: tuple[str, int]
    unit: str
    case_id: int
    calls: tuple[SentCall, ...]


def sent_verdict(db: Database, verdict_id: int) -> SentVerdict | None:
    """Render the requests of a verdict again; None if no run made it. Replies are shown even where that fails."""
    rows = calls_of_verdict(db, verdict_id)
    if not rows:
        return None
    run = run_row(db, rows[0]["run_id"])
    setup, fault = None, ""
    try:
        setup = setup_of(db, run)
    except errors.RecjudgeError as error:
        fault = str(error)
    except ValidationError:
        fault = "its stored settings cannot be read"
    calls = tuple(_call(db, run["id"], setup, fault, row) for row in rows)
    prompt = next((p["name"], p["version"]) for p in list_prompts(db) if p["id"] == run["prompt_id"])
    judge = "" if setup is None else setup.spec.spec
    return SentVerdict(
        run["id"], judge, prompt, protocol_facts(run["protocol"]).unit, rows[0]["case_id"], calls
    )


def _call(db: Database, run_id: int, setup: Setup | None, fault: str, row: StoredRow) -> SentCall:
    request = None
    if setup is not None:
        key = CallKey(row["id"], row["case_id"], row["list_order"], row["aspect"], row["sample"])
        try:
            _, request = build_request(db, run_id, setup, key)
        except errors.RecjudgeError as error:
            fault = str(error)
    stored = json.loads(row["sent"]) if row["sent"] else {}
    parameters: dict[str, Any] = stored.get("sent", {})
    same, curl = None, ""
    if request is not None and setup is not None:
        same = request.content_hash() == row["content_hash"] if row["content_hash"] else None
        curl = _curl(setup, request, parameters, stored.get("dropped", ()))
    return SentCall(row, request, fault, same, parameters, curl)


def _curl(setup: Setup, request: Request, parameters: dict[str, Any], dropped: Sequence[str]) -> str:
    """The curl commands; empty for judges that are not asked over HTTP, or sign what they send."""
    try:
        judge = make_judge(setup.spec)
    except errors.RecjudgeError:
        return ""
    if not isinstance(judge, HttpJudge) or judge.signs:
        return ""
    return curl_command(judge.wire(request, parameters, dropped))


def curl_command(call: WireCall) -> str:
    """One command for a POSIX shell. The shell expands `$NAME` in headers, but nothing in the body."""
    lines = [f"curl {shlex.quote(call.url)}"]
    for name, value in call.headers.items():
        header = f"{name}: {value}"
        lines.append(f"  -H {f'{chr(34)}{header}{chr(34)}' if '$' in value else shlex.quote(header)}")
    lines.append(f"  --data-binary {shlex.quote(json.dumps(call.body, ensure_ascii=False))}")
    return " \\\n".join(lines)


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
    messages = [] if call.request is None else call.request.messages
    return {
        "run": sent.run_id, "judge": sent.judge, "prompt": "@".join(map(str, sent.prompt)), "first": call.first,
        **{name: call.row[name] for name in _SAVED}, "cached": call.row["cached_from"] is not None, "fault": call.fault,
        "same": call.same, "parameters": call.parameters,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
    }  # fmt: skip


def _as_text(call: SentCall) -> str:
    parts = [f"==== {call.title()}"]
    if call.request is None:
        parts.append(f"(the request cannot be rendered: {call.fault})")
    else:
        parts += [f"-- sent, {message.role}\n{message.content}" for message in call.request.messages]
    row = call.row
    if row["thinking"]:
        parts.append(f"-- thinking\n{row['thinking']}")
    parts.append(f"-- came back\n{row['reply'] or (row['state'] == 'failed' and row['error']) or ''}")
    return "\n\n".join(parts)


# ---- a prompt on a case of a project -----------------------------------------------------------------------------


class CasePreview(NamedTuple):
    """A prompt's text for a case. `order` is the shown order, `orders` all possible ones; without a case all is empty."""

    prompt_id: int
    case: StoredRow | None
    order: Order = ""
    orders: tuple[Order, ...] = ()
    request: Request | None = None
    kind: CaseKind = "list"
    error: errors.RecjudgeError | None = None


def read_case(
    db: Database, project_id: int, prompt_id: int, order: Order | None, places: Mapping[str, int]
) -> CasePreview:
    """The text of a prompt for the case of `places`, which has one for each kind of case, or else for the first."""
    try:
        prompt = prompt_by_id(db, prompt_id)
        rules = protocol_named(prompt.protocol)
    except errors.RecjudgeError as error:
        return CasePreview(prompt_id, None, error=error)
    kind = rules.facts.unit
    case = showable_case(db, project_id, kind, "at", places.get(kind, 0))
    case = case or showable_case(db, project_id, kind)
    if case is None:
        return CasePreview(prompt_id, None, kind=kind)
    chosen = order if order in rules.orders and order is not None else rules.orders[0]
    shown = CasePreview(prompt_id, case, chosen, rules.orders, kind=kind)
    try:
        return shown._replace(request=request_now(db, prompt, case["id"], chosen))
    except errors.RecjudgeError as error:
        return shown._replace(error=error)


def ask_judge(
    db: Database, spec: JudgeSpec, read: Callable[[Database], CasePreview], cancelled: threading.Event
) -> tuple[CasePreview, Trial]:
    """Try a prompt on the case that is read. Raises NotFoundError where there is none, and what `try_prompt` raises."""
    shown = read(db)
    if shown.case is None:
        raise errors.NotFoundError(
            "there is no case to ask about", "The project has no case that fits this prompt."
        )
    prompt = prompt_by_id(db, shown.prompt_id)
    return shown, try_prompt(db, prompt, shown.case["id"], spec, shown.order, cancelled=cancelled)
