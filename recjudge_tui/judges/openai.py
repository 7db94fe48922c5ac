"""Any server that speaks OpenAI's chat completions: llama.cpp, vLLM, LM Studio, OpenRouter, OpenAI itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, ClassVar
from urllib.parse import urlsplit

from recjudge_tui.domain.calls import Message, Request, whole
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import CallError, JudgeError, UsageError
from recjudge_tui.judges import replies, servers
from recjudge_tui.judges.keys import Key, literal_address
from recjudge_tui.judges.replies import list_of, objects_of, part_of, sound_text, text_or_json

# the parts of a request that a server may refuse (`replies.REPAIRS`); "/v1" is the version that we added to its address
SYSTEM, VERSION, CAP, BOUNDS = "system", "/v1", "max_completion_tokens", "maxLength"
_API_VERSION = re.compile(r"[\w.-]{1,40}", re.ASCII)
# Azure expects the key in a header of its own, and has addresses of its own
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
# OpenRouter's place for thinking
_DETAILS = "reasoning_details"
_AZURE_FORM = (
    "Azure's are https://RESOURCE.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=VERSION and "
    "https://RESOURCE.openai.azure.com/openai/v1."
)


def _lacks_version(url: str) -> bool:
    path = urlsplit(url.strip().rstrip("/")).path
    return "?" not in url and not path.endswith("/chat/completions") and not re.search(r"/v\d", path)


class OpenAIJudge(servers.BatchJudge):
    """One model at one or more servers."""

    url_variable, default_url = "OPENAI_BASE_URL", "https://api.openai.com/v1"
    chat_path = "/chat/completions"
    batch_path = "/v1/chat/completions"
    default_key = "OPENAI_API_KEY"
    keyed_host = "api.openai.com"
    expected = "a chat completion"
    schema_part = "response_format"
    droppable = (
        "frequency_penalty",
        BOUNDS, "response_format", "temperature", "seed", CAP, "provider", "logprobs", "top_logprobs", SYSTEM,
    )  # fmt: skip
    counts: ClassVar[dict[str, str]] = {
        "input": "usage.prompt_tokens",
        "output": "usage.completion_tokens",
        "cached_input": "usage.prompt_tokens_details.cached_tokens|usage.prompt_cache_hit_tokens",
        "reasoning": "usage.completion_tokens_details.reasoning_tokens",
        "cost_usd": "usage.cost.total_cost|usage.cost",
    }
    penalty: ClassVar[dict[str, Any]] = {"frequency_penalty": 1.0}

    def __init__(self, spec: JudgeSpec) -> None:
        super().__init__(spec)
        named = spec.base_urls or (os.environ.get(self.url_variable, ""),)
        # `/v1` was added, which may be wrong
        self._added_version = set(map(self.api_root, filter(_lacks_version, filter(None, named))))
        self._is_here = all(map(_is_local, self.urls))
        self._is_routed = any(urlsplit(url).hostname == "openrouter.ai" for url in self.urls)

    @staticmethod
    def api_root(url: str) -> str:
        """The URL in front of `/chat/completions`. `/v1` is added unless the path holds a version or is given whole, or
        Azure's query names one."""
        address, _, query = url.strip().partition("?")
        name, _, version = query.partition("=")
        if name == "api-version":
            root = servers.checked_url(address).removesuffix("/chat/completions")
            if not _API_VERSION.fullmatch(version):
                raise UsageError(
                    "The query of a base URL may hold one api-version and nothing else",
                    "The URL is stored with every run.",
                    f"Write it as {root}?api-version=VERSION.",
                )
            return f"{root}?api-version={version}"
        bare = servers.checked_url(url)
        return f"{bare}{VERSION}" if _lacks_version(bare) else bare.removesuffix("/chat/completions")

    async def _inspect(self, url: str) -> servers.Served:
        """A server without a list of models is accepted; one on the local network that lists others is not."""
        response = await self._fetch(servers.under(url, "/models"))
        if response.status_code != 200 and replies.ends_a_run(response):
            raise self._unusable(url, response)
        told = replies.object_in(response) if response.status_code == 200 else {}
        listed = [entry for entry in objects_of(told, "data") if "id" in entry]
        names = {self._model, f"{self._model}:latest"}
        entry = next((e for e in listed if names & {str(e["id"]), *map(str, list_of(e, "aliases"))}), {})
        if not entry and listed and _is_local(url):
            known = ", ".join(sorted(str(e["id"]) for e in listed)[:20])
            raise JudgeError(
                f"The server at {url} does not serve “{self._model}”",
                f"It serves: {known}.",
                "Write one of these after openai: — or start the server with the model.",
            )
        context = whole(entry.get("max_model_len")) or whole(entry.get("context_length"))
        owner, slots = str(entry.get("owned_by") or ""), None
        modalities = list_of(part_of(entry, "architecture"), "input_modalities")
        sees = "image" in modalities if modalities else None
        if owner == "llamacpp":
            # outside the versioned API: the context for one call, and the model's input types
            props: dict[str, Any] = {}
            with suppress(CallError, JudgeError):
                props = replies.object_in(await self._fetch(re.sub(r"/v\d+$", "", url) + "/props"))
            context = whole(part_of(props, "default_generation_settings").get("n_ctx")) or context
            vision = part_of(props, "modalities").get("vision")
            sees = vision if isinstance(vision, bool) else sees
            slots = whole(props.get("total_slots"))
        return servers.Served(owner, "", context, sees, slots)

    def _key_header(self, key: Key) -> dict[str, str]:
        return key.header("api-key") if all(map(_is_azure, self.urls)) else key.bearer()

    def _address_form(self, url: str) -> str:
        return _AZURE_FORM if _is_azure(url) else "It usually ends with /v1."

    def _chat_url(self, url: str) -> str:
        without = VERSION in self._dropped and url in self._added_version
        return servers.under(url.removesuffix(VERSION) if without else url, self.chat_path)

    def _no_server(self, cause: str) -> JudgeError:
        fault = super()._no_server(cause)
        if not self._is_here:
            return fault
        step = "Start it (llama-server, vllm serve, LM Studio, ...), or give its address with --base-url."
        return JudgeError(fault.title, cause, step)

    def _wanted(self, request: Request) -> dict[str, Any]:
        sampling = request.sampling
        # llama.cpp and vLLM end a text or a list there, so that a model that loops comes to its answer
        bare = not self._is_here or BOUNDS in self._dropped
        form = servers.without_bounds(request.reply_schema) if bare else request.reply_schema
        schema = {"name": request.schema_name, "schema": form, "strict": True}
        wanted: dict[str, Any] = {
            "response_format": {"type": "json_schema", "json_schema": schema},
            "temperature": sampling.temperature,
            "seed": sampling.seed,
            # few providers behind OpenRouter say that they know the newer name
            "max_tokens" if CAP in self._dropped or self._is_routed else CAP: sampling.max_tokens,
        }
        if self._logprobs and not {"logprobs", "top_logprobs"} & self._dropped.keys():
            wanted |= {"logprobs": True, "top_logprobs": replies.TOP_LOGPROBS}
        if self._is_routed:
            wanted["provider"] = {"require_parameters": True}
        return wanted

    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        messages = _without_system(request.messages) if SYSTEM in self._dropped else request.messages
        body = {
            "model": self._model,
            "messages": [{"role": m.role, "content": servers.content_of(m, _image)} for m in messages],
            **sent,
        }
        # the slot of llama.cpp's server that remembers the last prompt of this seat
        seat = request.seat
        if seat is not None and self.slots is not None and seat < self.slots and len(self.urls) == 1:
            body["id_slot"] = seat
        return body

    def _refused(
        self, status: int, error: replies.ServerError, sent: Mapping[str, Any], request: Request
    ) -> str | None:
        absent = status in (404, 405) and "model" not in error.message.lower()
        if absent and self._added_version and VERSION not in self._dropped:
            return VERSION
        parts = dict(sent)
        if SYSTEM not in self._dropped and request.messages[0].role == "system":
            parts[SYSTEM] = True
        if BOUNDS not in self._dropped and self._is_here and self.schema_part in sent:
            parts[BOUNDS] = True
        return super()._refused(status, error, parts, request)

    def _said(self, answer: dict[str, Any], target: replies.CallTarget) -> replies.VendorReply:
        choices = answer.get("choices")
        if choices == []:
            raise CallError("empty", f"{target.server} sent a completion without an answer", retry=True)
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict):
            said = f"It is JSON, but not a chat completion: {target.scrub(replies.error_in_body(answer).message)}"
            raise replies.bad_body(target.server, self.expected, said)
        if choice.get("error"):
            raise replies.error_inside(choice, target)
        message, stop = part_of(choice, "message"), sound_text(choice.get("finish_reason"))
        if not message and not stop:
            raise replies.bad_body(target.server, self.expected, "The choice has no message.")
        content = message.get("content")
        if isinstance(content, list):
            parts = [part if isinstance(part, dict) else {"text": part} for part in content]
            read = [part for part in parts if part.get("type", "text") == "text"]
            read = read or [part for part in parts if part.get("type") == "output_text"]
            content = "".join(sound_text(part.get("text")) for part in read)
        thoughts = objects_of(message, _DETAILS)
        for part in objects_of(message, "content"):
            if part.get("type") in ("thinking", "reasoning"):  # holds a text, or parts of its own
                text = part.get("thinking") or part.get("text")
                thoughts += objects_of(part, "thinking") or [{"text": text}]
        thinking = sound_text(message.get("reasoning_content") or message.get("reasoning"))
        return replies.VendorReply(
            text=text_or_json(content),
            thinking=thinking or replies.joined(thoughts, "text")["text"],
            model=sound_text(answer.get("model")),
            stop=stop,
            tokens=part_of(choice, "logprobs").get("content"),
            places={
                "tool call": replies.called_with(message),
                "field “parsed”": text_or_json(message.get("parsed")),
            },
            refusal=str(message.get("refusal") or ""),
        )

    def _check_said(self, said: replies.VendorReply, sent: dict[str, Any]) -> None:
        """The server may know only the older `max_tokens`: an answer is cut long before the cap that we sent, and not by a
        full context, which comes near the cap or after many tokens. An answer that is complete was not cut."""
        cap, tokens = whole(sent.get(CAP)), said.usage.output
        short = said.stop == "length" and cap and tokens is not None and tokens <= min(cap // 2, 256)
        if short and replies.as_json(said.text) is None:
            raise servers.RejectedPartError(CAP, said.usage)

    @staticmethod
    def fold(events: list[dict[str, Any]]) -> dict[str, Any]:
        """The completion that came as a stream. A stream that ends before its last event has no choice."""
        answer = {k: v for event in events for k, v in event.items() if k != "choices" and v is not None}
        choices = [choice for event in events for choice in objects_of(event, "choices")[:1]]
        deltas = [part_of(choice, "delta") or part_of(choice, "message") for choice in choices]
        texts = replies.joined(deltas, "content", "reasoning_content", "reasoning", "refusal")
        called = (part_of(call, "function") for delta in deltas for call in list_of(delta, "tool_calls"))
        finish = next(filter(None, (choice.get("finish_reason") for choice in reversed(choices))), None)
        tokens = [token for choice in choices for token in list_of(part_of(choice, "logprobs"), "content")]
        if finish is None and not answer.get("error"):
            return {"choices": None}
        message = {
            "role": "assistant",
            **texts,
            "tool_calls": [{"function": replies.joined(called, "arguments")}],
        }
        return {
            **answer,
            "choices": [{"message": message, "finish_reason": finish, "logprobs": {"content": tokens}}],
        }


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The system texts in front of the user's first message."""
    texts, others = servers.split_system(messages)
    head = "".join(f"{text}\n\n" for text in texts)
    if not others or others[0].role != "user":
        return (Message(role="user", content=head.strip()), *others)
    first = others[0]
    images = tuple(placed.model_copy(update={"at": placed.at + len(head)}) for placed in first.images)
    return (first.model_copy(update={"content": head + first.content, "images": images}), *others[1:])


def _image(base64: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{base64}"}}


@lru_cache(maxsize=64)
def _is_azure(url: str) -> bool:
    return (urlsplit(url).hostname or "").endswith(_AZURE)


def _is_local(url: str) -> bool:
    """Whether the host is this machine or one of the same private network."""
    host = urlsplit(url).hostname or ""
    if address := literal_address(host):
        return address.is_private
    return "." not in host or host.endswith((".local", ".lan", ".internal"))
