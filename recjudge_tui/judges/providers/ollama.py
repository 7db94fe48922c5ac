"""Models served by Ollama through its own API, the only one that lets a call set the context length."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import httpx

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, Reply, Request, Usage, whole
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges.http.failures import ServerError, failure, sound_text
from recjudge_tui.judges.providers.confidence import TOP_LOGPROBS, label_confidence
from recjudge_tui.judges.providers.images import as_base64, sees_no_images
from recjudge_tui.judges.providers.ollama_context import (
    MIN_CONTEXT,
    check_prompt_count,
    check_room,
    context_for,
    estimated_size,
)
from recjudge_tui.judges.providers.ollama_models import (
    DEFAULT_KEY,
    MODELS_PATH,
    InstalledModel,
    listed_models,
    no_server,
    not_installed,
    read_model_details,
    server_urls,
)
from recjudge_tui.judges.providers.reply import (
    bad_body,
    check_ending,
    json_object,
    looks_like_object,
    split_thinking,
)
from recjudge_tui.judges.providers.vendor import HttpJudge, RequestBody

KEEP_ALIVE = "10m"
_EXPECTED = "Ollama's"
_HINT = "Is this an Ollama server? "
_FORMAT_WORDS = re.compile(r"\bformat\b|grammar|structured output|json schema", re.IGNORECASE)
_NO_MEMORY = re.compile(r"requires more system memory|out of memory", re.IGNORECASE)


def make(spec: JudgeSpec) -> OllamaJudge:
    """The judge for `ollama:MODEL`; no call is made. Raises UsageError for a bad base URL."""
    return OllamaJudge(spec, server_urls(spec.base_urls))


class ServedModel(NamedTuple):
    """The model at one server. `version` is the server's, `context` the longest context that the model can have."""

    url: str
    version: str
    installed: InstalledModel
    context: int | None
    capabilities: list[str]


class OllamaJudge(HttpJudge[ServedModel]):
    """One model at one or more Ollama servers, with one context length for the whole run.

    Replies are not streamed: the deadline applies to the whole reply anyway, a cancelled call closes its connection
    and thereby stops the generation, and errors keep their status.
    """

    concurrency = 1
    chat_path = "/api/chat"
    default_key = DEFAULT_KEY
    repetition_penalty: ClassVar[dict[str, Any]] = {"options": {"repeat_penalty": 1.3}}

    def __init__(self, spec: JudgeSpec, urls: tuple[str, ...]) -> None:
        super().__init__(spec, urls)
        self._num_ctx = MIN_CONTEXT

    async def prepare(self, workload: Workload) -> Identity:
        """Ask each server for its version and the model, and choose the context length of the run.

        Raises JudgeError when no server answers, the model is not installed, or the servers have different models
        under its name.
        """
        models = await self._inspect_servers(workload)
        digests = {model.installed.digest for model in models}
        if len(digests) > 1:
            raise JudgeError(
                f"The servers have different models named “{self._model}”",
                ", ".join(f"{model.url}: {model.installed.digest[:12]}" for model in models),
                f"Pull it again on each: ollama pull {self._model}",
            )
        digest = digests.pop()
        if workload.images and any(
            model.capabilities and "vision" not in model.capabilities for model in models
        ):
            raise sees_no_images(
                self._model, "Ollama says so: it does not list “vision” among its capabilities."
            )
        self._apply(workload.known, digest)
        context = min((model.context for model in models if model.context), default=None)
        thinks = any("thinking" in model.capabilities for model in models)
        self._num_ctx = context_for(workload, context, thinks=thinks)
        first = models[0]
        details = {
            "parameter_size": first.installed.parameters,
            "quantization_level": first.installed.quantization,
        }
        return Identity(
            name=self._model,
            digest=digest,
            endpoints=self._endpoints.urls,
            context_length=context,
            details={
                "server": sorted({f"ollama {model.version}" for model in models}),
                "capabilities": first.capabilities,
                "num_ctx": self._num_ctx,
                **{k: v for k, v in details.items() if v},
            },
        )

    async def _inspect(self, url: str) -> ServedModel:
        version = await self._answer(url, "/api/version")
        models = listed_models(await self._answer(url, MODELS_PATH), url)
        names = (self._model, f"{self._model}:latest")
        installed = next((model for model in models if model.name in names), None)
        if installed is None:
            raise not_installed(self._model, url, [model.name for model in models])
        shown = read_model_details(await self._answer(url, "/api/show", {"model": self._model}), url)
        contexts = [
            whole(value) for key, value in (shown.modelinfo or {}).items() if key.endswith(".context_length")
        ]
        return ServedModel(
            url,
            one_line(sound_text(version.get("version")), 40),
            installed,
            next(filter(None, contexts), None),
            list(shown.capabilities or ()),
        )

    async def _answer(self, url: str, path: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object in a server's answer to one of the questions asked before the first call."""
        content = None if body is None else json.dumps(body).encode()
        response = await self._fetch(f"{url}{path}", "GET" if body is None else "POST", content, _HINT)
        if response.status_code != 200:
            raise self._unusable(url, response)
        try:
            return json_object(response, self._target(url), _EXPECTED)
        except CallError as error:
            raise JudgeError(error.title, error.cause, f"{_HINT}{error.next_step}") from None

    def _no_server(self, cause: str) -> JudgeError:
        return no_server(self._endpoints.urls)

    def _body(self, request: Request) -> RequestBody:
        """`truncate` and `shift` must both be false: either alone leaves a way to cut a prompt silently."""
        options = {
            "num_ctx": self._num_ctx,
            "num_predict": request.sampling.max_tokens,
            "temperature": request.sampling.temperature,
            "seed": request.sampling.seed,
        }
        wanted: dict[str, Any] = {
            "format": request.reply_schema,
            "options": {k: v for k, v in options.items() if v is not None},
            "keep_alive": KEEP_ALIVE,
            "stream": False,
            "truncate": False,
            "shift": False,
        }
        if self._logprobs and "logprobs" not in self._dropped:
            wanted |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        sent = with_options(self._accepted(wanted), request.sampling.extra)
        messages = [_message(m) for m in request.messages]
        body = {"model": self._model, "messages": messages, **sent}
        recorded = {**sent, "format": "json_schema"} if "format" in sent else sent
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return RequestBody(text.encode("utf-8", "replace"), sent, recorded)

    def _usage(self, body: Mapping[str, Any]) -> Usage:
        return Usage(
            input=whole(body.get("prompt_eval_count")),
            output=whole(body.get("eval_count")),
            cached_input=whole(body.get("prompt_eval_cached_count")),
        )

    def _refused(self, status: int, error: ServerError, sent: Mapping[str, Any]) -> str | None:
        if status not in (400, 422, 500, 501):
            return None
        if "logprobs" in sent and "logprobs" in error.message:
            return "logprobs"
        return "format" if "format" in sent and _FORMAT_WORDS.search(error.message) else None

    def _read(
        self, response: httpx.Response, url: str, request: Request, body: RequestBody, latency_s: float | None
    ) -> Reply:
        target = self._target(url)
        answer = json_object(response, target, _EXPECTED)
        message = answer.get("message")
        if not isinstance(message, dict):
            raise bad_body(url, _EXPECTED, "It has no message.")
        suspicion = check_prompt_count(request, answer, self._num_ctx)
        text, thinking = split_thinking(
            sound_text(message.get("content")), sound_text(message.get("thinking"))
        )
        stop = sound_text(answer.get("done_reason"))
        try:
            check_ending(text, thinking, cut=stop == "length")
        except CallError:
            check_room(answer, stop, self._num_ctx)
            raise
        entries = answer.get("logprobs")
        return Reply(
            text=target.scrub(text),
            thinking=target.scrub(thinking),
            model=target.scrub(sound_text(answer.get("model"))),
            stop=target.scrub(stop),
            structured="format" in body.sent and looks_like_object(text),
            usage=self._usage(answer),
            latency_s=latency_s,
            logprobs=bool(entries),
            label_confidence=label_confidence(request, text, entries),
            sent={**body.recorded, **suspicion},
            dropped=tuple(self._dropped),
        )

    def _meaning(
        self, url: str, response: httpx.Response, error: ServerError, request: Request | None = None
    ) -> RecjudgeError:
        target = self._target(url)
        message = target.scrub(error.message)
        if response.status_code == 404 and "model" in message:
            return not_installed(self._model, url, [])
        if _NO_MEMORY.search(message):
            return JudgeError(
                f"The model “{self._model}” does not fit into memory",
                message,
                "Choose a smaller model or context.",
            )
        sized = replace(error, context=error.context or self._num_ctx)
        meaning = failure(response.status_code, response.headers, sized, target)
        if request is not None and isinstance(meaning, CallError) and meaning.kind == "overflow":
            meaning.cause = f"{meaning.cause} ({estimated_size(request)}.)"
        return meaning


def _message(message: Message) -> dict[str, Any]:
    """A message with its images in order. The text has their numbers at their positions. The server puts images in
    front of the text unless the text contains `[img`, which must not come from the data.
    """
    text = sound_text(message.content)
    if not message.images:
        return {"role": message.role, "content": text}
    return {
        "role": message.role,
        "content": text.replace("[img", "[ img"),
        "images": [as_base64(placed) for placed in message.images],
    }
