"""Any server that speaks OpenAI's chat completions: llama.cpp, vLLM, LM Studio, OpenRouter, OpenAI itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

import httpx2 as httpx

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, PlacedImage, Reply, Request, Usage, whole
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError, UsageError
from recjudge_tui.judges.confidence import TOP_LOGPROBS, label_confidence
from recjudge_tui.judges.keys import Key
from recjudge_tui.judges.refusals import (
    CallTarget,
    ServerError,
    body_json,
    ends_a_run,
    error_in_body,
    error_of,
    failure,
    refused_part,
    sees_no_images,
    sound_text,
    status_in,
)
from recjudge_tui.judges.replies import (
    bad_body,
    finished,
    json_object,
    looks_like_object,
    refused,
    split_thinking,
)
from recjudge_tui.judges.servers import (
    BatchJudge,
    RejectedPartError,
    RequestBody,
    as_base64,
    checked_url,
    split_system,
    under,
    without_bounds,
    written,
)
from recjudge_tui.judges.trust import literal_address

DEFAULT_URL = "https://api.openai.com/v1"
# the parts of a request that a server may refuse (`refusals.REPAIRS`); "/v1" is the version that we added to its address
SYSTEM, VERSION, CAP = "system", "/v1", "max_completion_tokens"
_DROPPABLE = (
    "frequency_penalty",
    "response_format", "temperature", "seed", CAP, "max_tokens", "provider", "logprobs", "top_logprobs", SYSTEM,
)  # fmt: skip
_API_VERSION = re.compile(r"[\w.-]{1,40}", re.ASCII)
# Azure expects the key in a header of its own, and has addresses of its own
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_AZURE_FORM = (
    "Azure's are https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=VERSION and "
    "https://RESOURCE.openai.azure.com/openai/v1."
)
_EXPECTED = "a chat completion"


def make(spec: JudgeSpec) -> OpenAIJudge:
    """The judge for `openai:MODEL`; no call is made. Raises UsageError for a bad base URL."""
    urls = spec.base_urls or tuple(filter(None, [os.environ.get("OPENAI_BASE_URL")])) or (DEFAULT_URL,)
    return OpenAIJudge(spec, tuple(map(api_root, urls)), tuple(filter(_lacks_version, urls)))


def api_root(url: str) -> str:
    """The URL in front of `/chat/completions`. `/v1` is added unless the path contains a version or is given whole, or
    Azure's query names a version."""
    address, _, query = url.strip().partition("?")
    name, _, version = query.partition("=")
    if name == "api-version":
        root = checked_url(address).removesuffix("/chat/completions")
        if not _API_VERSION.fullmatch(version):
            raise UsageError(
                "The query of a base URL may hold one api-version and nothing else",
                "The URL is stored with every run.",
                f"Write it as {root}?api-version=VERSION.",
            )
        return f"{root}?api-version={version}"
    bare = checked_url(url)
    return f"{bare}{VERSION}" if _lacks_version(bare) else bare.removesuffix("/chat/completions")


def _lacks_version(url: str) -> bool:
    path = urlsplit(url.strip().rstrip("/")).path
    return "?" not in url and not path.endswith("/chat/completions") and not re.search(r"/v\d", path)


def key_header(key: Key, urls: Sequence[str]) -> dict[str, str]:
    """The header that carries the key to these servers."""
    return key.header("api-key") if all(map(_is_azure, urls)) else key.bearer()


def address_form(url: str) -> str:
    """How the address of such a server is written."""
    return _AZURE_FORM if _is_azure(url) else "It usually ends with /v1."


class ModelEntry(NamedTuple):
    """A model in a server's list: who owns it (or which program serves it), its context length in tokens, whether it
    sees images, and how many slots the server has, if the server says so."""

    owner: str
    context: int | None
    sees: bool | None
    slots: int | None = None


class OpenAIJudge(BatchJudge[ModelEntry]):
    """One model at one or more servers. `unversioned` are addresses to which `/v1` was added, which may be wrong."""

    chat_path = "/chat/completions"
    batch_path = "/v1/chat/completions"
    default_key = "OPENAI_API_KEY"
    keyed_host = "api.openai.com"
    repetition_penalty: ClassVar[dict[str, Any]] = {"frequency_penalty": 1.0}

    def __init__(self, spec: JudgeSpec, urls: tuple[str, ...], unversioned: tuple[str, ...] = ()) -> None:
        super().__init__(spec, urls)
        self._added_version = set(map(api_root, unversioned))
        self.slots: int | None = None

    async def prepare(self, workload: Workload) -> Identity:
        """Ask each server for its models.

        Raises JudgeError when the key is missing or refused, when no server answers, when a server on the local
        network lists its models and this one is not among them, or when it says that the model does not see images that
        will be sent. A server without a list is accepted.
        """
        entries = await self._inspect_servers(workload)
        if workload.images and any(entry.sees is False for entry in entries):
            raise sees_no_images(self._model, "Its server says so.")
        self._apply(workload.known)
        slots = [entry.slots for entry in entries if entry.slots]
        self.slots = sum(slots) if len(slots) == len(entries) else None
        return Identity(
            name=self._model,
            endpoints=self._endpoints.urls,
            context_length=min((entry.context for entry in entries if entry.context), default=None),
            details={"servers": sorted({entry.owner for entry in entries if entry.owner})},
        )

    async def _inspect(self, url: str) -> ModelEntry:
        response = await self._fetch(under(url, "/models"))
        if response.status_code != 200 and ends_a_run(response.status_code, error_of(response)):
            raise self._unusable(url, response)
        listed = _listed(response)
        entry = _entry(listed, self._model)
        if entry is None and listed and _is_local(url):
            names = ", ".join(sorted(str(e["id"]) for e in listed)[:20])
            raise JudgeError(
                f"The server at {url} does not serve “{self._model}”",
                f"It serves: {names}.",
                "Write one of these after openai: — or start the server with the model.",
            )
        entry = entry or {}
        context = whole(entry.get("max_model_len")) or whole(entry.get("context_length"))
        owner = str(entry.get("owned_by") or "")
        taken = _part(entry, "architecture").get("input_modalities")
        sees = "image" in taken if isinstance(taken, list) else None
        slots = None
        if owner == "llamacpp":
            props = await self._props(url)
            context = whole(_part(props, "default_generation_settings").get("n_ctx")) or context
            vision = _part(props, "modalities").get("vision")
            sees = vision if isinstance(vision, bool) else sees
            slots = whole(props.get("total_slots"))
        return ModelEntry(owner, context, sees, slots)

    async def _props(self, url: str) -> dict[str, Any]:
        """What llama.cpp reports outside the versioned API: the context for one call, and the model's input types."""
        root = re.sub(r"/v\d+$", "", url)
        try:
            response = await self._fetch(f"{root}/props")
            props = body_json(response) if response.status_code == 200 else {}
        except (CallError, JudgeError, ValueError):
            return {}
        return props if isinstance(props, dict) else {}

    def _key_header(self, key: Key) -> dict[str, str]:
        return key_header(key, self._endpoints.urls)

    def _address_form(self, url: str) -> str:
        return address_form(url)

    def _chat_url(self, url: str) -> str:
        without = VERSION in self._dropped and url in self._added_version
        return under(url.removesuffix(VERSION) if without else url, self.chat_path)

    def _no_server(self, cause: str) -> JudgeError:
        return JudgeError(
            f"No server at {', '.join(self._endpoints.urls)}",
            cause,
            "Start it (llama-server, vllm serve, LM Studio, ...), or give its address with --base-url."
            if all(map(_is_local, self._endpoints.urls))
            else "Check the address and the network connection.",
        )

    def _body(self, request: Request) -> RequestBody:
        sent = self._parameters(request)
        messages = _without_system(request.messages) if SYSTEM in self._dropped else request.messages
        body: dict[str, Any] = {"model": self._model, "messages": list(map(_message, messages)), **sent}
        # the slot of llama.cpp's server that remembers the last prompt of this seat
        seat = request.seat
        if seat is not None and self.slots is not None and seat < self.slots and len(self.urls) == 1:
            body["id_slot"] = seat
        recorded = {**sent, "response_format": "json_schema"} if "response_format" in sent else sent
        return RequestBody(written(body), sent, recorded)

    def _parameters(self, request: Request) -> dict[str, Any]:
        """Everything in the body except the model, the messages and previously refused parameters."""
        sampling = request.sampling
        # llama.cpp and vLLM end a text or a list there, so that a model that loops comes to its answer
        here = all(map(_is_local, self._endpoints.urls))
        form = request.reply_schema if here else without_bounds(request.reply_schema)
        schema = {"name": request.schema_name, "schema": form, "strict": True}
        wanted: dict[str, Any] = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            "max_tokens" if CAP in self._dropped else CAP: sampling.max_tokens,
        }
        if self._logprobs and not {"logprobs", "top_logprobs"} & self._dropped.keys():
            wanted |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        if any(urlsplit(url).hostname == "openrouter.ai" for url in self._endpoints.urls):
            wanted["provider"] = {"require_parameters": True}
        return self._accepted(with_options(wanted, sampling.extra))

    def _usage(self, body: Mapping[str, Any]) -> Usage:
        return usage_of(body)

    def _refused(
        self, status: int, error: ServerError, sent: Mapping[str, Any], request: Request
    ) -> str | None:
        parts = dict(sent)
        if SYSTEM not in self._dropped and request.messages[0].role == "system":
            parts[SYSTEM] = True
        if (
            status in (404, 405)
            and VERSION not in self._dropped
            and self._added_version
            and "model" not in error.message.lower()
        ):
            return VERSION
        return refused_part(status, error, parts, _DROPPABLE)

    def _read(
        self, response: httpx.Response, url: str, request: Request, body: RequestBody, latency_s: float | None
    ) -> Reply:
        """Raises CallError `bad_body` for anything but a completion, `refusal`, and what `finished` raises. An error
        sent with status 200 is raised as what `failure` makes of it."""
        target = self._target(url)
        answer = json_object(response, target, _EXPECTED, _folded)
        choice = _first_choice(answer, target)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise bad_body(target.server, _EXPECTED, "The choice has no message.")
        content, places = _texts(message)
        text, thinking = split_thinking(content, places.pop("thinking"))
        stop = target.scrub(sound_text(choice.get("finish_reason")))
        given = choice.get("logprobs")
        entries = given.get("content") if isinstance(given, dict) else None
        reply = Reply(
            text=target.scrub(text),
            thinking=target.scrub(thinking),
            model=target.scrub(sound_text(answer.get("model"))),
            stop=stop,
            structured="response_format" in body.sent and looks_like_object(text),
            usage=usage_of(answer),
            latency_s=latency_s,
            logprobs=bool(entries) and isinstance(entries, list),
            label_confidence=label_confidence(request, text, entries),
            sent=body.recorded,
            dropped=tuple(self._dropped),
        )
        if message.get("refusal"):
            raise refused(
                reply, "The model refused to answer", target.scrub(one_line(message["refusal"], 400))
            )
        if stop == "content_filter":
            raise refused(reply, "The server's content filter stopped the answer", one_line(reply.text, 200))
        if stop == "length" and latency_s is not None and self._ignores_cap(body.sent, reply.usage):
            raise RejectedPartError(CAP, reply.usage)
        places = {name: target.scrub(part) for name, part in places.items()}
        return finished(reply, request, cut=stop == "length", places=places)

    def _ignores_cap(self, sent: Mapping[str, Any], usage: Usage) -> bool:
        """Whether an answer was cut long before the cap that we sent: the server knows only the older `max_tokens`. Other
        causes (a full context) are not far from the cap or come after many tokens."""
        cap = whole(sent.get(CAP))
        written_tokens = usage.output
        return cap is not None and written_tokens is not None and written_tokens <= min(cap // 2, 256)


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The system texts in front of the user's first message."""
    texts, others = split_system(messages)
    head = "".join(f"{text}\n\n" for text in texts)
    if not others or others[0].role != "user":
        return (Message(role="user", content=head.strip()), *others)
    first = others[0]
    images = tuple(placed.model_copy(update={"at": placed.at + len(head)}) for placed in first.images)
    return (first.model_copy(update={"content": head + first.content, "images": images}), *others[1:])


def _message(message: Message) -> dict[str, Any]:
    content = list(map(_content_part, message.parts())) if message.images else message.content
    return {"role": message.role, "content": content}


def _content_part(part: str | PlacedImage) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{as_base64(part)}"}}


def _error_inside(body: dict[str, Any], target: CallTarget) -> RecjudgeError:
    """An error sent with status 200, as some gateways do."""
    error = error_in_body(body)
    return failure(status_in(error), httpx.Headers(), error, target)


def _first_choice(body: dict[str, Any], target: CallTarget) -> dict[str, Any]:
    if body.get("error"):
        raise _error_inside(body, target)
    choices = body.get("choices")
    if choices == []:
        raise CallError("empty", f"{target.server} sent a completion without an answer", retry=True)
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise bad_body(target.server, _EXPECTED, "It is JSON, but not a chat completion.")
    first: dict[str, Any] = choices[0]
    if first.get("error"):
        raise _error_inside(first, target)
    return first


def _texts(message: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The content, and the texts elsewhere, by place; `thinking` is always among them. Content may be a list of parts."""
    content = message.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    read = [part for part in parts if part.get("type") == "text"]
    read = read or [part for part in parts if part.get("type") == "output_text"]
    places = {"thinking": sound_text(message.get("reasoning_content") or message.get("reasoning"))}
    calls = message.get("tool_calls")
    named = [
        call.get("function") for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict)
    ]
    for function in [*named, message.get("function_call")]:
        if isinstance(function, dict) and sound_text(function.get("arguments")):
            places.setdefault("tool call", sound_text(function.get("arguments")))
    if isinstance(content, list):
        return "".join(sound_text(part.get("text")) for part in read), places
    return sound_text(content), places


def _folded(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The completion that came as a stream. A stream that ends before its last event has no choice."""
    whole_body: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    tokens: list[Any] = []
    finish = None
    for event in events:
        whole_body |= {k: v for k, v in event.items() if k != "choices" and v is not None}
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = choice.get("delta") or choice.get("message")
        for name, value in (delta if isinstance(delta, dict) else {}).items():
            if name in ("content", "reasoning_content", "reasoning", "refusal") and isinstance(value, str):
                message[name] = (message.get(name) or "") + value
            elif name == "tool_calls" and isinstance(value, list):
                _add_arguments(message, value)
        finish = choice.get("finish_reason") or finish
        given = choice.get("logprobs")
        if isinstance(given, dict) and isinstance(given.get("content"), list):
            tokens += given["content"]
    if finish is None and not whole_body.get("error"):
        return {"choices": None}
    return {
        **whole_body,
        "choices": [{"message": message, "finish_reason": finish, "logprobs": {"content": tokens}}],
    }


def _add_arguments(message: dict[str, Any], calls: list[Any]) -> None:
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(function.get("arguments"), str):
            known = message.setdefault("tool_calls", [{"function": {"arguments": ""}}])[0]["function"]
            known["arguments"] += function["arguments"]


def usage_of(body: Mapping[str, Any]) -> Usage:
    """The server's token counts from the body of its answer; empty if there are none."""
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return Usage()
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    cost = usage.get("cost")
    return Usage(
        input=whole(usage.get("prompt_tokens")),
        output=whole(usage.get("completion_tokens")),
        cached_input=whole(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
        reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
        cost_usd=cost.get("total_cost") if isinstance(cost, dict) else cost,
    )


def _detail(usage: dict[str, Any], group: str, name: str) -> int | None:
    return whole(_part(usage, group).get(name))


def _listed(response: httpx.Response) -> list[dict[str, Any]]:
    """The entries of a model list; empty for a server without one."""
    if response.status_code != 200:
        return []
    try:
        body = body_json(response)
    except ValueError:
        return []
    data = body.get("data") if isinstance(body, dict) else None
    return [e for e in data if isinstance(e, dict) and "id" in e] if isinstance(data, list) else []


def _entry(listed: list[dict[str, Any]], model: str) -> dict[str, Any] | None:
    for entry in listed:
        aliases = entry.get("aliases")
        names = {str(entry["id"]), *(map(str, aliases) if isinstance(aliases, list) else ())}
        if model in names or f"{model}:latest" in names:
            return entry
    return None


def _part(entry: dict[str, Any], name: str) -> dict[str, Any]:
    part = entry.get(name)
    return part if isinstance(part, dict) else {}


def _is_azure(url: str) -> bool:
    return (urlsplit(url).hostname or "").endswith(_AZURE)


def _is_local(url: str) -> bool:
    """Whether the host is this machine or one of the same private network."""
    host = urlsplit(url).hostname or ""
    if address := literal_address(host):
        return address.is_private
    return "." not in host or host.endswith((".local", ".lan", ".internal"))
