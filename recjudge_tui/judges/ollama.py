"""Models served by Ollama through its own API, the only one that lets a call set the context length; the servers and their
installed models. Ollama's own client is not used: it cannot send `truncate` and `shift`, without which a server cuts prompts
silently, it sends OLLAMA_API_KEY to any server, and it loses the headers of errors. A test compares the calls."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar

from recjudge_tui.domain.base import Model
from recjudge_tui.domain.calls import Message, Reply, Request, Usage, estimate_prompt_tokens, whole
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError
from recjudge_tui.judges import replies
from recjudge_tui.judges.http import Answer, Client, UnreachableError
from recjudge_tui.judges.keys import find_keys
from recjudge_tui.judges.servers import HttpJudge, Served, as_base64, checked_url

DEFAULT_URL = "http://127.0.0.1:11434"
DEFAULT_KEY = "OLLAMA_API_KEY"
MODELS_PATH = "/api/tags"
MIN_CONTEXT = 4096
MARGIN = 256  # chat template, role marks
THINKING_ROOM = 4
# no tokenizer encodes ordinary text in fewer tokens than this
_CHARACTERS_PER_TOKEN = 8
# a prompt that was entirely in the server's cache is counted as one token or a few
_WHOLE_PROMPT_CACHED = 64
KEEP_ALIVE = "10m"
_HINT = "Is this an Ollama server? "
_NO_MEMORY = re.compile(r"requires more system memory|out of memory", re.IGNORECASE)


class OllamaJudge(HttpJudge):
    """One model at one or more Ollama servers, with one context length for the whole run. Replies are not streamed: the
    deadline applies to the whole reply anyway, a cancelled call closes its connection and thereby stops the generation,
    and errors keep their status."""

    concurrency = 1
    sight = "Ollama says so: it does not list “vision” among its capabilities."
    chat_path = "/api/chat"
    default_key = DEFAULT_KEY
    expected = "Ollama's"
    schema_part = "format"
    droppable = ("format", "logprobs")
    counts: ClassVar[dict[str, str]] = {
        "input": "prompt_eval_count",
        "output": "eval_count",
        "cached_input": "prompt_eval_cached_count",
    }
    penalty: ClassVar[dict[str, Any]] = {"options": {"repeat_penalty": 1.3}}

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        self.window = MIN_CONTEXT

    @classmethod
    def addresses(cls, base_urls: tuple[str, ...]) -> tuple[str, ...]:
        return server_urls(base_urls)

    async def prepare(self, workload: Workload) -> Identity:
        """As every judge, and choose the context length of the run. Raises JudgeError also when the servers have different
        models under this name."""
        identity = await super().prepare(workload)
        if len({each.digest for each in self._served.values()}) > 1:
            raise JudgeError(
                f"The servers have different models named “{self._model}”",
                ", ".join(f"{url}: {each.digest[:12]}" for url, each in self._served.items()),
                f"Pull it again on each: ollama pull {self._model}",
            )
        thinks = "thinking" in identity.details["capabilities"]
        self.window = context_for(workload, identity.context_length, thinks=thinks)
        return identity.model_copy(update={"details": {**identity.details, "num_ctx": self.window}})

    async def _inspect(self, url: str) -> Served:
        version = await self._asked(url, "/api/version")
        models = listed_models(await self._asked(url, MODELS_PATH), url)
        names = (self._model, f"{self._model}:latest")
        installed = next((model for model in models if model.name in names), None)
        if installed is None:
            raise not_installed(self._model, url, [model.name for model in models])
        shown = await self._asked(url, "/api/show", {"model": self._model})
        info = replies.part_of(shown, "model_info")
        lengths = (whole(info[name]) for name in info if name.endswith(".context_length"))
        context = next(filter(None, lengths), None)
        can = list(map(_line, replies.list_of(shown, "capabilities")))
        sizes = {"parameter_size": installed.parameters, "quantization_level": installed.quantization}
        return Served(
            f"ollama {_line(version.get('version'))[:40]}",
            installed.digest,
            context,
            "vision" in can if can else None,
            details={"capabilities": can, **{name: size for name, size in sizes.items() if size}},
        )

    async def _asked(self, url: str, path: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object in a server's answer to one of the questions asked before the first call."""
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
        response = await self._fetch(f"{url}{path}", method, content, _HINT)
        if response.status_code != 200:
            raise self._unusable(url, response)
        try:
            return replies.json_object(response, self._target(url), self.expected)
        except CallError as error:
            raise JudgeError(error.title, error.cause, f"{_HINT}{error.next_step}") from None

    def _no_server(self, cause: str) -> JudgeError:
        return no_server(self.urls)

    def _wanted(self, request: Request) -> dict[str, Any]:
        """`truncate` and `shift` must both be false: either alone leaves a way to cut a prompt silently."""
        options = {
            "num_ctx": self.window,
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
            wanted |= {"logprobs": True, "top_logprobs": replies.TOP_LOGPROBS}
        return wanted

    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        return {"model": self._model, "messages": list(map(_message, request.messages)), **sent}

    def _said(self, answer: dict[str, Any], target: replies.CallTarget) -> replies.VendorReply:
        message = answer.get("message")
        if not isinstance(message, dict):
            raise replies.bad_body(target.server, self.expected, "It has no message.")
        return replies.VendorReply(
            text=replies.sound_text(message.get("content")),
            thinking=replies.sound_text(message.get("thinking")),
            model=replies.sound_text(answer.get("model")),
            stop=replies.sound_text(answer.get("done_reason")),
            tokens=answer.get("logprobs"),
            places={"tool call": replies.called_with(message)},
        )

    def _reply(
        self, said: replies.VendorReply, request: Request, sent: dict[str, Any], latency_s: float | None
    ) -> Reply:
        noted = check_prompt_count(request, said.usage, self.window)
        try:
            return super()._reply(said, request, {**sent, **noted}, latency_s)
        except CallError as ended:
            prompt, reply = said.usage.input, said.usage.output
            if said.stop != "length" or prompt is None or reply is None or prompt + reply < self.window:
                raise
            filled = f"Prompt ({prompt} tokens) and reply ({reply} so far) filled the context of"
            full = replies.overflow(f"{filled} {self.window}.", prompt, self.window)
            full.text, full.thinking, full.usage = ended.text, ended.thinking, ended.usage
            raise full from None

    def _meaning(
        self, url: str, response: Answer, error: replies.ServerError, request: Request | None = None
    ) -> RecjudgeError:
        target = self._target(url)
        message = target.scrub(error.message)
        if response.status_code == 404 and "model" in message:
            return not_installed(self._model, url, [])
        if _NO_MEMORY.search(message):
            title = f"The model “{self._model}” does not fit into memory"
            return JudgeError(title, message, "Choose a smaller model or context.")
        sized = replace(error, context=error.context or self.window)
        meaning = replies.failure(response.status_code, response.headers, sized, target)
        if request is not None and isinstance(meaning, CallError) and meaning.kind == "overflow":
            low, high = estimate_prompt_tokens(request.messages)
            room = f"its reply may take {request.sampling.max_tokens}"
            meaning.cause += f" (By estimate it has {low} to {high} tokens, and {room}.)"
        return meaning

    @staticmethod
    def fold(events: list[dict[str, Any]]) -> dict[str, Any]:
        """The answer that came as a stream of lines. A stream that ends before its last line has no message."""
        texts = replies.joined((replies.part_of(event, "message") for event in events), "content", "thinking")
        return (
            {**events[-1], "message": texts} if events[-1].get("done") else {"error": events[-1].get("error")}
        )


def _message(message: Message) -> dict[str, Any]:
    """A message with its images in order. The text has their numbers at their positions. The server puts images in front
    of the text unless the text contains `[img`, which must not come from the data."""
    if not message.images:
        return {"role": message.role, "content": message.content}
    return {
        "role": message.role,
        "content": message.content.replace("[img", "[ img"),
        "images": list(map(as_base64, message.images)),
    }


# ---- the context -------------------------------------------------------------------------------------------------


def context_for(workload: Workload, context_length: int | None, *, thinks: bool = False) -> int:
    """The context length of a run: longest prompt, reply cap and a margin, rounded up to a multiple of 1,024; at least
    4,096 and at most the model's maximum. A model that thinks gets room for the larger cap of a call that is repeated
    because thinking used up the first cap."""
    reply = workload.max_tokens * (THINKING_ROOM if thinks else 1)
    need = workload.longest_prompt_tokens + reply + MARGIN
    rounded = max(MIN_CONTEXT, -(-need // 1024) * 1024)
    return rounded if context_length is None else min(rounded, context_length)


def check_prompt_count(request: Request, usage: Usage, num_ctx: int) -> dict[str, Any]:
    """`prompt_count_suspicious`, to store with the call, if the server's count of prompt tokens suggests that it cut the
    prompt; empty when nothing looks wrong.

    Servers before 0.5, and some of 2026, count only the tokens that were not in their cache, so a low count alone proves
    nothing. CallError `overflow` is raised if the prompt fills the context; if the count includes the cached tokens by the
    server's word, and is too low nevertheless; and if it is too low even for the last message, which is new in every call,
    but not so low that the whole prompt must have been cached."""
    if (counted := usage.input) is None:
        return {}
    least = sum(len(m.content) for m in request.messages) // _CHARACTERS_PER_TOKEN
    least_last = len(request.messages[-1].content) // _CHARACTERS_PER_TOKEN
    too_low, includes_cache = counted < least, usage.cached_input is not None
    if counted >= num_ctx or (too_low and includes_cache) or (_WHOLE_PROMPT_CACHED <= counted < least_last):
        raise replies.overflow(
            f"Ollama read {counted} tokens of a prompt that has at least {least}. Its context is {num_ctx} tokens."
        )
    return {"prompt_count_suspicious": {"counted": counted, "at_least": least}} if too_low else {}


# ---- servers and their models ------------------------------------------------------------------------------------


class InstalledModel(Model):
    """A model that can be named after `ollama:`. Fields that the server does not report are empty or None."""

    name: str
    digest: str = ""
    size_bytes: int | None = None
    parameters: str = ""
    quantization: str = ""


def server_urls(base_urls: tuple[str, ...]) -> tuple[str, ...]:
    """The given servers, else the one in `OLLAMA_HOST` (in any form that Ollama accepts), else the default one."""
    host = os.environ.get("OLLAMA_HOST", "").strip()
    urls = base_urls or ((_with_scheme(host),) if host else (DEFAULT_URL,))
    return tuple(checked_url(url).removesuffix("/v1").removesuffix("/api") for url in urls)


async def installed_models(base_url: str = "", timeout_s: float = 5.0) -> list[InstalledModel]:
    """The models at one Ollama server, sorted by name; by default the server that `OLLAMA_HOST` names. `base_url` is an
    address that the user typed: it gets the key of Ollama. Raises JudgeError when none answers there within `timeout_s`."""
    url = server_urls((base_url,) if base_url else ())[0]
    key = find_keys((DEFAULT_KEY,), (url,), typed=True).get(DEFAULT_KEY)
    headers = key.bearer() if key else None
    try:
        async with aclosing(Client()) as client:
            response = await client.send("GET", f"{url}{MODELS_PATH}", headers=headers, timeout_s=timeout_s)
    except UnreachableError as error:
        if error.next_step:
            raise JudgeError(error.title, error.cause, error.next_step) from None
        raise no_server((url,)) from None
    except CallError:
        raise not_ollama(url) from None
    listing = replies.object_in(response) if response.status_code == 200 else {}
    return sorted(listed_models(listing, url), key=lambda model: model.name)


def listed_models(listing: dict[str, Any], url: str) -> list[InstalledModel]:
    """The models in the answer of a server to `/api/tags`. Raises JudgeError for anything else."""
    models = listing.get("models")
    if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
        raise not_ollama(url)
    return [
        InstalledModel(
            name=_line(model.get("model") or model.get("name")),
            digest=_line(model.get("digest")),
            size_bytes=whole(model.get("size")),
            parameters=_line(replies.part_of(model, "details").get("parameter_size")),
            quantization=_line(replies.part_of(model, "details").get("quantization_level")),
        )
        for model in models
    ]


def _line(value: object) -> str:
    return one_line(replies.sound_text(value), 200)


def no_server(urls: tuple[str, ...]) -> JudgeError:
    return JudgeError(
        f"No Ollama server at {', '.join(urls)}",
        "Nothing answers there.",
        "Start it with: ollama serve — or give its address with --base-url or OLLAMA_HOST.",
    )


def not_ollama(url: str) -> JudgeError:
    step = "Check OLLAMA_HOST or --base-url."
    return JudgeError(f"No Ollama server at {url}", "Something else answers there.", step)


def not_installed(model: str, url: str, installed: list[str]) -> JudgeError:
    names = ", ".join(sorted(filter(None, installed))[:20])
    return JudgeError(
        f"Ollama at {url} has no model “{model}”",
        f"Installed there: {names}." if names else "No model is installed there.",
        f"Get it with: ollama pull {model}",
    )


def _with_scheme(host: str) -> str:
    """`OLLAMA_HOST` as a URL. Ollama also accepts `0.0.0.0`, `:11435` and `gpu-box:8000`."""
    if "://" in host:
        return host
    name, _, path = host.partition("/")
    if name.startswith(":"):
        name = f"127.0.0.1{name}"
    port = "" if re.search(r":\d+$", name) else ":11434"
    return f"http://{name}{port}/{path}".rstrip("/")
