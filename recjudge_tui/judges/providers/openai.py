"""Any server that speaks OpenAI's chat completions: llama.cpp, vLLM, LM Studio, OpenRouter, OpenAI itself."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

import httpx

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Reply, Request, Usage, whole
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.errors import CallError, JudgeError, UsageError
from recjudge_tui.judges.http.body import body_json
from recjudge_tui.judges.http.endpoints import checked_url, under
from recjudge_tui.judges.http.failures import ServerError
from recjudge_tui.judges.http.keys import Key
from recjudge_tui.judges.providers.confidence import TOP_LOGPROBS
from recjudge_tui.judges.providers.images import sees_no_images
from recjudge_tui.judges.providers.openai_body import BodyFrame, body_frame
from recjudge_tui.judges.providers.openai_reply import read_reply, usage_of
from recjudge_tui.judges.providers.refusals import is_refusal, refused_parameter
from recjudge_tui.judges.providers.schemas import without_bounds
from recjudge_tui.judges.providers.vendor import BatchJudge, RequestBody

DEFAULT_URL = "https://api.openai.com/v1"

_DROPPABLE = (
    "response_format", "temperature", "seed", "max_completion_tokens", "max_tokens", "provider",
    "logprobs", "top_logprobs",
)  # fmt: skip
_API_VERSION = re.compile(r"[\w.-]{1,40}", re.ASCII)
# Azure expects the key in a header of its own, and has addresses of its own
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_AZURE_FORM = (
    "Azure's are https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=VERSION and "
    "https://RESOURCE.openai.azure.com/openai/v1."
)
_SCHEMA_WORDS = re.compile(r"response_format|json_schema|structured output|grammar|guided", re.IGNORECASE)


def make(spec: JudgeSpec) -> OpenAIJudge:
    """The judge for `openai:MODEL`; no call is made. Raises UsageError for a bad base URL."""
    urls = spec.base_urls or tuple(filter(None, [os.environ.get("OPENAI_BASE_URL")])) or (DEFAULT_URL,)
    return OpenAIJudge(spec, tuple(map(api_root, urls)))


def api_root(url: str) -> str:
    """The URL up to its version: `/v1` is added unless the path contains a version or Azure's query names one."""
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
    bare = checked_url(url).removesuffix("/chat/completions")
    path = urlsplit(bare).path
    return bare if re.search(r"/v\d", path) else f"{bare}/v1"


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
    """One model at one or more servers."""

    chat_path = "/chat/completions"
    batch_path = "/v1/chat/completions"
    default_key = "OPENAI_API_KEY"
    keyed_host = "api.openai.com"
    repetition_penalty: ClassVar[dict[str, Any]] = {"frequency_penalty": 1.0}

    def __init__(self, spec: JudgeSpec, urls: tuple[str, ...]) -> None:
        super().__init__(spec, urls)
        self._last_frame: BodyFrame | None = None
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
        status = response.status_code
        if status in (401, 402, 403) or 300 <= status < 400:
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

    def _no_server(self, cause: str) -> JudgeError:
        return JudgeError(
            f"No server at {', '.join(self._endpoints.urls)}",
            cause,
            "Start it (llama-server, vllm serve, LM Studio, ...), or give its address with --base-url."
            if all(map(_is_local, self._endpoints.urls))
            else "Check the address and the network connection.",
        )

    def _body(self, request: Request) -> RequestBody:
        frame = self._frame(request)
        return RequestBody(frame.body(request.messages, self._slot(request)), frame.sent, frame.recorded)

    def _slot(self, request: Request) -> int | None:
        """The slot of llama.cpp's server that belongs to the worker that asks: it remembers that worker's last prompt."""
        seat = request.seat
        owned = seat is not None and self.slots is not None and seat < self.slots and len(self.urls) == 1
        return seat if owned else None

    def _frame(self, request: Request) -> BodyFrame:
        """The frame of the last body if it fits this request too, as it does for most calls of a run."""
        dropped = tuple(self._dropped)
        if self._last_frame is None or not self._last_frame.fits(request, dropped, self._logprobs):
            sent = self._parameters(request)
            self._last_frame = body_frame(self._model, request, sent, dropped, self._logprobs)
        return self._last_frame

    def _parameters(self, request: Request) -> dict[str, Any]:
        """Everything in the body except the model, the messages and previously refused parameters."""
        sampling = request.sampling
        schema = {"name": request.schema_name, "schema": without_bounds(request.reply_schema), "strict": True}
        cap = "max_tokens" if "max_completion_tokens" in self._dropped else "max_completion_tokens"
        wanted: dict[str, Any] = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            cap: sampling.max_tokens,
        }
        if self._logprobs and not {"logprobs", "top_logprobs"} & self._dropped.keys():
            wanted |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        if any(urlsplit(url).hostname == "openrouter.ai" for url in self._endpoints.urls):
            wanted["provider"] = {"require_parameters": True}
        return with_options(self._accepted(wanted), sampling.extra)

    def _usage(self, body: Mapping[str, Any]) -> Usage:
        return usage_of(body)

    def _refused(self, status: int, error: ServerError, sent: Mapping[str, Any]) -> str | None:
        name = refused_parameter(status, error, sent, _DROPPABLE)
        about_schema = is_refusal(error) and _SCHEMA_WORDS.search(error.message) is not None
        if name is None and status in (400, 422, 501) and "response_format" in sent and about_schema:
            return "response_format"
        return name

    def _read(
        self, response: httpx.Response, url: str, request: Request, body: RequestBody, latency_s: float | None
    ) -> Reply:
        target, dropped = self._target(url), tuple(self._dropped)
        return read_reply(response, target, request, body.recorded, dropped, latency_s)


def _listed(response: httpx.Response) -> list[dict[str, Any]]:
    """The entries of a model list; empty for a server without one."""
    if response.status_code != 200:
        return []
    try:
        body = body_json(response)
    except ValueError:
        return []
    data = body.get("data") if isinstance(body, dict) else None
    return (
        [entry for entry in data if isinstance(entry, dict) and "id" in entry]
        if isinstance(data, list)
        else []
    )


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
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal"))
