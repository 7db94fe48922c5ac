"""The common part of judges that ask a language model: servers, key, connections, the request made from what a vendor
takes, parts of it that a server refuses, and the reply made from what a vendor's answer says."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx2 as httpx
from pydantic_core import PydanticSerializationError, to_json

from recjudge_tui.domain.address import with_options
from recjudge_tui.domain.calls import Message, PlacedImage, Reply, Request, Usage
from recjudge_tui.domain.judge import Capabilities, Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.run_options import TIMEOUT_S
from recjudge_tui.domain.text import one_line
from recjudge_tui.domain.thinking import is_ended, split_thinking, without_end
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError, UsageError
from recjudge_tui.judges import replies
from recjudge_tui.judges.http import Answer, Client, UnreachableError
from recjudge_tui.judges.keys import Key, Sent, check_trust, find_keys, is_set, not_set, pairs_of

PREPARE_S = 15.0
# how long a server may load its model before a run
LOADED_WITHIN_S = 600.0
ASIDE_S = 5.0
_NO_URL = re.compile(r"[\s\x00-\x20\x7f\\\\<>\"^`{|}]")
_NOTHING = Usage()
T = TypeVar("T")

# ---- several servers ---------------------------------------------------------------------------------------------


class Endpoints:
    """The servers of one judge, which have the same model, with the number of calls in flight at each. Calls of one seat
    are about one user and follow each other; they stay at a server as long as none has fewer calls in flight, because a
    server that has just read a user's prompts need not read them again."""

    def __init__(self, urls: tuple[str, ...]) -> None:
        self.urls = tuple(dict.fromkeys(urls))
        self._in_flight = dict.fromkeys(self.urls, 0)
        # not asked before this time (monotonic); 0: no reason to wait
        self._aside_until = dict.fromkeys(self.urls, 0.0)
        # seat -> the server that answered its last call
        self._kept: dict[int, str] = {}

    async def call(self, action: Callable[[str], Awaitable[T]], seat: int | None = None) -> T:
        """Run `action` on the URL of a live server with the fewest calls in flight; of several, on the one that answered
        the last call of this `Request.seat`. A server without a connection (`UnreachableError`: nothing was sent) is set
        aside for 5 s and the next one is tried. When all are set aside, the one due first is tried anyway, so a single
        server is always asked. Raises the last UnreachableError when none can be reached."""
        aside, tried = self._aside_until, set()
        while True:
            alive = [url for url in self.urls if url not in tried and aside[url] <= time.monotonic()]
            kept = None if seat is None else self._kept.get(seat)
            url = min(
                alive or self.urls,
                key=lambda u: (self._in_flight[u], u != kept) if alive else (aside[u], False),
            )
            known_until = aside[url]
            self._in_flight[url] += 1
            try:
                result = await action(url)
            except UnreachableError:
                self.set_aside(url)
                tried.add(url)
                if all(other in tried or aside[other] > time.monotonic() for other in self.urls):
                    raise
            else:
                if aside[url] == known_until:  # otherwise it was paused during this call
                    aside[url] = 0.0
                if seat is not None:
                    self._kept[seat] = url
                return result
            finally:
                self._in_flight[url] -= 1

    def set_aside(self, url: str, seconds: float | None = None) -> None:
        """Do not ask this server for this many seconds (default 5), as long as there are other servers."""
        self._aside_until[url] = time.monotonic() + (ASIDE_S if seconds is None else seconds)

    def pause_server(self, url: str, error: RecjudgeError) -> RecjudgeError:
        """Pause a server that asked for it (429, 503, 529 with a delay), and return the error to raise. Its `retry_after`
        becomes the time until any server may be asked: 0 while another one is free."""
        if isinstance(error, CallError) and error.retry_after is not None:
            self.set_aside(url, error.retry_after)
            if len(self.urls) > 1:
                error.retry_after = max(0.0, min(self._aside_until.values()) - time.monotonic())
        return error


def under(url: str, path: str) -> str:
    """The URL of `path` at a server. A query in the server's URL stays at the end."""
    root, mark, query = url.partition("?")
    return f"{root}{path}{mark}{query}"


def checked_url(url: str) -> str:
    """The URL without a final slash. Raises UsageError for a bad URL and for one that holds a secret. The error does not
    repeat what precedes an `@` or follows a `?`."""
    bare = url.strip().rstrip("/")
    if "@" in bare or "?" in bare or "#" in bare:
        scheme = (re.match(r"https?://", bare) or [""])[0] if "@" in bare else ""
        raise UsageError(
            "A base URL must not contain a user name, a password or a query",
            f"The URL is stored with every run. Use {scheme}{re.split('[?#]', bare.rpartition('@')[2])[0]} instead.",
            "Put the key into an environment variable and name that with --api-key-env.",
        )
    if fault := _fault_of(bare):
        raise UsageError(
            f"“{one_line(bare, 200)}” is not a base URL",
            fault,
            "Write it as http://HOST:PORT or https://HOST.",
        )
    return bare


def _fault_of(url: str) -> str:
    """What is wrong with a URL; empty if nothing is."""
    if not url.startswith(("http://", "https://")):
        return "It does not begin with http:// or https://."
    if _NO_URL.search(url):
        return "It contains a space or another character that a URL cannot have."
    try:
        parts = urlsplit(url)
        if parts.netloc.endswith(":") or parts.port == 0:
            return "Its port must be a number from 1 to 65535."
        httpx.URL(url).raw_host.decode("ascii").encode("idna")
        return "" if parts.hostname else "It has no host."
    except UnicodeError:
        return "Its host is not a valid name."
    except (ValueError, httpx.InvalidURL) as error:
        return f"{one_line(error, 100)}."


# ---- requests ----------------------------------------------------------------------------------------------------

# Claude refuses a schema with bounds, wherever it is served (its own API, Bedrock, resellers with OpenAI's API),
# and so does Azure. The bounds are checked when the reply is read.
_BOUNDS = ("minimum", "maximum", "maxLength", "maxItems")


def written(body: object) -> bytes:
    """The body as JSON. Characters that UTF-8 cannot hold become question marks."""
    try:
        return to_json(body, inf_nan_mode="constants")  # five times as fast
    except PydanticSerializationError:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def content_of(message: Message, image: Callable[[str], dict[str, Any]]) -> str | list[dict[str, Any]]:
    """The text; or texts and images in the order in which they are read, the latter, from base64, in the vendor's form.
    Blank texts are refused by some."""
    if not message.images:
        return message.content
    return [
        {"type": "text", "text": replies.sound_text(part)}
        if isinstance(part, str)
        else image(as_base64(part))
        for part in message.parts()
        if not isinstance(part, str) or part.strip()
    ]


def as_base64(placed: PlacedImage) -> str:
    """The image as base64. Its content was put into the request before it was sent."""
    assert placed.data, "the content of images is added to a request before it is sent"
    return b64encode(placed.data).decode("ascii")


def without_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without bounds of numbers, texts and lists; the same object if it has none."""
    parts = {name: part for name, part in schema.items() if name not in _BOUNDS}
    for name, part in parts.items():
        if name == "properties":
            parts[name] = {field: without_bounds(spec) for field, spec in part.items()}
        elif isinstance(part, dict):
            parts[name] = without_bounds(part)
    return parts if parts != schema else schema


def split_system(messages: tuple[Message, ...]) -> tuple[list[str], tuple[Message, ...]]:
    """The system texts at the beginning, which some APIs take apart from the other messages, and the others."""
    head = next((n for n, message in enumerate(messages) if message.role != "system"), len(messages))
    return [message.content for message in messages[:head]], messages[head:]


class WireCall(NamedTuple):
    """A call as it is sent. In `headers` a key is `$NAME`, which the shell replaces."""

    url: str
    headers: Mapping[str, str]
    body: dict[str, Any]


# ---- judges ------------------------------------------------------------------------------------------------------


class RejectedPartError(Exception):
    """The server refuses a part of the request; `usage` is what its answer cost, if a model wrote one."""

    def __init__(self, part: str, usage: Usage = _NOTHING) -> None:
        super().__init__(part)
        self.part, self.usage = part, usage


class QuietHeaders(httpx.Headers):
    """Headers of a request. The repr shows only their names, since one of them may be the key."""

    def __repr__(self) -> str:
        return f"QuietHeaders({', '.join(self)})"


class Served(NamedTuple):
    """What a server says of its model before the first call: the program that serves it, the model's digest, the context
    length in tokens, whether it sees images, and how many slots the server has, if it says so."""

    program: str = ""
    digest: str = ""
    context: int | None = None
    sees: bool | None = None
    slots: int | None = None
    details: Mapping[str, Any] = {}


class HttpJudge(ABC):
    """One model at one or more servers: those of `spec`, of the environment (`url_variable`) or the vendor's own
    (`default_url`). `chat_path` follows a server's URL. A part of the request that a server refuses is left out, or
    exchanged, for the rest of the run (`replies.REPAIRS`). What a vendor takes and says is declared: `droppable` are the
    parts that a server may refuse, `schema_part` the one that holds the reply's schema, `counts` where an answer has its
    token counts (`replies.usage_of`), `expected` what an answer should be, in words. `default_key` names the variable of
    the key unless the user names another one; `keyed_host` is the vendor's own host, which always requires a key. `fold`
    folds the events of a stream into one body. With `signs` a request cannot be repeated as it is."""

    rater_kind: RaterKind = "judge"
    cacheable = True
    concurrency = 8
    takes_images = takes_headers = True
    url_variable = default_url = ""
    sight = "Its server says so."
    chat_path: str
    default_key: str
    keyed_host = ""
    expected: str
    droppable: tuple[str, ...]
    schema_part: str
    counts: ClassVar[Mapping[str, str]]
    penalty: ClassVar[dict[str, Any]] = {}
    fold: replies.Fold | None = None
    signs = False

    def __init__(self, spec: JudgeSpec) -> None:
        """Raises UsageError for a bad base URL."""
        self.name = spec.spec
        self._model = spec.target
        self._endpoints = Endpoints(self.addresses(spec.base_urls))
        self.slots: int | None = None
        # by address, those that answered before the first call
        self._served: Mapping[str, Served] = {}
        self._dropped: dict[str, None] = {}
        self._logprobs = False
        self._timeout_s = TIMEOUT_S
        self._has_address = bool(spec.base_urls)
        self._key_variable = spec.api_key_env
        self._key: Key | None = None
        self._header_env = spec.header_env
        self._header_values: list[Key] = []
        self._headers = QuietHeaders({"Content-Type": "application/json"})
        self._client = Client()

    @classmethod
    def addresses(cls, base_urls: tuple[str, ...]) -> tuple[str, ...]:
        """The addresses in front of `chat_path`. Raises UsageError for a bad base URL."""
        usual = (os.environ.get(cls.url_variable) or cls.default_url,)
        return tuple(map(cls.api_root, filter(None, base_urls or usual)))

    @staticmethod
    def api_root(url: str) -> str:
        return checked_url(url)

    @property
    def repetition_penalty(self) -> dict[str, Any] | None:
        """The options for a model that repeats itself; None where the server takes none."""
        return None if not self.penalty or self.penalty.keys() & self._dropped.keys() else self.penalty

    @property
    def urls(self) -> tuple[str, ...]:
        """The servers that are asked."""
        return self._endpoints.urls

    async def prepare(self, workload: Workload) -> Identity:
        """Look up the key and ask each server about the model. Raises JudgeError when the key is missing or refused, when
        no server answers, when one does not have the model, and when one says that it does not see images that will be
        sent. A server that cannot be reached is set aside as long as another one answers."""
        self._timeout_s = workload.timeout_s
        self._look_up_key()
        served: dict[str, Served] = {}
        faults: list[UnreachableError] = []
        for url in self.urls:
            try:
                served[url] = await self._inspect(url)
            except UnreachableError as error:
                self._endpoints.set_aside(url)
                faults.append(error)
        if not served:
            if advised := next((f for f in faults if f.next_step), None):
                raise JudgeError(advised.title, advised.cause, advised.next_step)
            raise self._no_server("; ".join(dict.fromkeys(fault.cause for fault in faults)))
        if workload.images and any(each.sees is False for each in served.values()):
            raise replies.sees_no_images(self._model, self.sight)
        self._served = served
        first, slots = next(iter(served.values())), [each.slots for each in served.values() if each.slots]
        self.slots = sum(slots) if len(slots) == len(served) else None
        self._apply(workload.known, first.digest)
        programs = sorted({each.program for each in served.values() if each.program})
        return Identity(
            name=self._model,
            digest=first.digest,
            endpoints=self.urls,
            context_length=min(filter(None, (each.context for each in served.values())), default=None),
            details={**({"servers": programs} if programs else {}), **first.details},
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, request: Request) -> Reply:
        deadline, paid = time.monotonic() + self._timeout_s, _NOTHING
        while True:
            try:
                reply = await self._attempt(request, deadline)
            except RejectedPartError as refusal:
                self._dropped[refusal.part] = None  # the next request is without it, so the loop ends
                paid = replies.added(paid, refusal.usage)
                penalty = self.penalty.get(refusal.part)
                if penalty is not None and request.sampling.extra.get(refusal.part) == penalty:
                    # without it, this is the request that ended in a loop; an option of the user's own is left out
                    raise CallError(
                        "loop", "The model repeats itself, and the server takes no penalty"
                    ) from None
            except CallError as error:
                if paid != _NOTHING:
                    counted = error.usage if isinstance(error.usage, Usage) else _NOTHING
                    error.usage = replies.added(paid, counted)
                raise
            else:
                if paid != _NOTHING:
                    reply = reply.model_copy(update={"usage": replies.added(paid, reply.usage)})
                return reply

    @abstractmethod
    def _wanted(self, request: Request) -> dict[str, Any]:
        """The parameters of a request, before options are added and refused ones left out."""

    @abstractmethod
    def _content(self, request: Request, sent: dict[str, Any]) -> dict[str, Any]:
        """The body with these parameters."""

    async def _inspect(self, url: str) -> Served:
        """What the server reports about the model. Raises UnreachableError, and JudgeError when the model cannot be used."""
        return Served()

    def _no_server(self, cause: str) -> JudgeError:
        """The error if no server can be reached, with this cause."""
        step = "Check the address (--base-url) and the network connection."
        return JudgeError(f"No server at {', '.join(self.urls)}", cause, step)

    @abstractmethod
    def _said(self, answer: dict[str, Any], target: replies.CallTarget) -> replies.VendorReply:
        """What an answer with status 200 says. Raises like `ask`."""

    def _refused(
        self, status: int, error: replies.ServerError, sent: Mapping[str, Any], request: Request
    ) -> str | None:
        """The part of the request that the server refuses; None when the error is another one."""
        return replies.refused_part(status, error, sent, self.droppable)

    def _meaning(
        self, url: str, response: Answer, error: replies.ServerError, request: Request | None = None
    ) -> RecjudgeError:
        """The error for an answer with a status other than 200."""
        return replies.failure(response.status_code, response.headers, error, self._target(url))

    async def _attempt(self, request: Request, deadline: float) -> Reply:
        content, sent = self._body(request)
        post = partial(self._post, written(content), deadline)
        url, response, latency_s = await self._endpoints.call(post, request.seat)
        if response.is_success:
            return self._read(response, url, request, sent, latency_s)
        error = replies.error_of(response)
        has_images = any(message.images for message in request.messages)
        if has_images and replies.is_blind(response.status_code, error):
            raise replies.sees_no_images(self._model, self._scrub(error.message))
        if (refused := self._refused(response.status_code, error, sent, request)) is not None:
            raise RejectedPartError(refused)
        fault = self._meaning(url, response, error, request)
        counted = replies.usage_of(replies.object_in(response), self.counts)
        if isinstance(fault, CallError) and counted != _NOTHING:
            fault.usage = counted
        raise self._endpoints.pause_server(url, fault)

    def _read(
        self, response: Answer, url: str, request: Request, sent: dict[str, Any], latency_s: float | None
    ) -> Reply:
        """The reply in an answer; an error sent with status 200 is raised as what it is. Every CallError has the server's
        token counts."""
        target, usage = self._target(url), _NOTHING
        try:
            answer = replies.json_object(response, target, self.expected, type(self).fold)
            usage = replies.usage_of(answer, self.counts)
            if answer.get("error"):
                raise replies.error_inside(answer, target)
            said = self._said(answer, target)._replace(usage=usage)
            if latency_s is not None:
                self._check_said(said, sent)
            return self._reply(said, request, sent, latency_s)
        except CallError as error:
            error.usage = usage if error.usage is None else error.usage
            raise

    def _scrub(self, text: str) -> str:
        """The text without secrets."""
        for key in self._secrets():
            text = key.scrub(text)
        return text

    def _body(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """The body of a request, and its parameters beside model and messages."""
        wanted = with_options(self._wanted(request), request.sampling.extra)
        sent = {name: value for name, value in wanted.items() if name not in self._dropped}
        return self._content(request, sent), sent

    def _reply(
        self, said: replies.VendorReply, request: Request, sent: dict[str, Any], latency_s: float | None
    ) -> Reply:
        """The reply in what an answer says. Of the schema, which the prompt determines, only the mode is recorded. Raises
        CallError as `finished`."""
        scrub, has_schema = self._scrub, self.schema_part in sent
        text, thought = without_end(said.text), ""
        if not text.startswith("{"):  # there a tag is part of the answer
            text, thought, _ = split_thinking(said.text)
        structured = has_schema and f"{text[:1]}{text[-1:]}" == "{}"
        if text == said.text.strip():  # nothing was taken off, so it is kept as it came
            text = said.text
        thinking = "\n".join(filter(None, (said.thinking, thought)))
        reply = Reply(
            text=scrub(text),
            thinking=scrub(thinking),
            model=scrub(said.model),
            stop=scrub(said.stop),
            structured=structured,
            usage=said.usage,
            latency_s=latency_s,
            logprobs=bool(said.tokens) and isinstance(said.tokens, list),
            label_confidence=replies.label_confidence(request, text, said.tokens),
            sent={**sent, self.schema_part: "json_schema"} if has_schema else sent,
            dropped=tuple(self._dropped),
        )
        # what the server itself calls thinking, or what follows a tag without an end; between tags nothing is read
        apart = {**said.places, "thinking": said.thinking or ("" if is_ended(said.text) else thought)}
        places = {name: scrub(part) for name, part in apart.items()}
        return replies.finished(reply, request, scrub(one_line(said.refusal, 400)), places)

    def _apply(self, known: Capabilities | None, digest: str = "") -> None:
        """Leave out what these servers have refused before, and ask for logprobs if they give them."""
        if known is not None and known.hold_for(self.urls, digest):
            self._dropped.update(dict.fromkeys(known.refused))
            self._logprobs = known.logprobs is True

    def _check_said(self, said: replies.VendorReply, sent: dict[str, Any]) -> None:  # noqa: B027 - most ignore nothing
        """Raises RejectedPartError for a part of the request that the server has ignored."""

    async def _post(
        self, content: bytes, deadline: float, url: str, path: str = ""
    ) -> tuple[str, Answer, float]:
        """The server's URL, its answer, and the seconds it took."""
        begin = time.monotonic()
        where, left = under(url, path) if path else self._chat_url(url), max(deadline - begin, 0.001)
        headers = await self._headers_for(where, content)
        response = await self._client.send("POST", where, headers=headers, content=content, timeout_s=left)
        return url, self._scrubbed(response), time.monotonic() - begin

    async def _headers_for(self, url: str, content: bytes) -> Mapping[str, str]:
        return self._headers

    def _chat_url(self, url: str) -> str:
        return under(url, self.chat_path)

    def _scrubbed(self, response: Answer) -> Answer:
        """The answer without the key: whatever a server sends may be stored or shown."""
        for key in self._secrets():
            response = key.scrub_answer(response)
        return response

    def _secrets(self) -> list[Key]:
        return [*([self._key] if self._key else []), *self._header_values]

    async def _fetch(
        self, url: str, method: str = "GET", content: bytes | None = None, hint: str = ""
    ) -> Answer:
        """The answer to a question about the model; a server that loads it is waited for. Raises UnreachableError;
        JudgeError for any other failure."""
        until, timeout_s = time.monotonic() + LOADED_WITHIN_S, min(PREPARE_S, self._timeout_s)
        while True:
            try:
                response = await self._client.send(
                    method, url, headers=self._headers, content=content, timeout_s=timeout_s
                )
            except UnreachableError:
                raise
            except CallError as error:
                raise JudgeError(error.title, error.cause, f"{hint}{error.next_step}") from None
            response = self._scrubbed(response)
            if response.status_code < 500 or not replies.is_loading(response):
                return response
            if time.monotonic() > until:
                raise self._unusable(url, response)
            await asyncio.sleep(replies.LOADING_S)

    def _unusable(self, url: str, response: Answer) -> JudgeError:
        """The JudgeError for a failed question about the model: no call can work."""
        fault = self._meaning(url, response, replies.error_of(response))
        return JudgeError(fault.title, fault.cause, fault.next_step)

    def _look_up_key(self, *, typed: bool = False) -> None:
        """Look up the key and the values of headers. Raises JudgeError when the key is missing although the user named its
        variable or a server needs one, and when a header has no value."""
        found = find_keys(self._variables(), self.urls, own=self._own, typed=typed)
        self._header_values = []
        for name, variable in self._header_env:
            if variable not in found:
                raise not_set(f"No value for the header {name}", variable, f"--header-env {name}=VAR")
            self._header_values.append(found[variable])
            self._headers.update(found[variable].header(name))
        self._key = found.get(name := self._key_name())
        if self._key is not None:
            self._headers.update(self._key_header(self._key))
        elif self._key_variable or self._needs_key():
            server = self.keyed_host if self._needs_key() else self.urls[0]
            raise not_set(f"No API key for {server}", name, "--api-key-env NAME")

    def _needs_key(self) -> bool:
        return self.keyed_host in (urlsplit(url).hostname for url in self.urls)

    def _key_name(self) -> str:
        """The variable of the key; empty: none is sent. The vendor's own goes to no gateway with headers of its own."""
        sends = not self._header_env or self._key_variable or self._needs_key()
        return (self._key_variable or self.default_key) if sends else ""

    def _variables(self) -> tuple[str, ...]:
        """The variables whose values are sent: that of the key, then those of headers."""
        return tuple(filter(None, (self._key_name(), *(variable for _, variable in self._header_env))))

    @property
    def _own(self) -> str:
        """The vendor, if the judge names no server: then the vendor's own is asked, or the one of the environment."""
        return "" if self._has_address else self.default_key.partition("_")[0]

    def check_trust(self) -> None:
        """Raise UntrustedError, as `prepare` does before it reads a secret; nothing is sent."""
        check_trust(self._variables(), self.urls, self._own)

    def secrets(self) -> tuple[Sent, ...]:
        """What it would send where: the variables that are set or named, and the servers."""
        named = {self._key_variable, *(variable for _, variable in self._header_env)}
        return pairs_of((name for name in self._variables() if name in named or is_set(name)), self.urls)

    def _key_header(self, key: Key) -> dict[str, str]:
        return key.bearer()

    def wire(self, request: Request, recorded: Mapping[str, Any], dropped: Sequence[str]) -> WireCall:
        """The call that sent `request`, with the parameters `recorded` with it and without those the server refused. No
        key is looked up: its header contains `$NAME`."""
        before, self._dropped = self._dropped, dict.fromkeys(dropped)
        body, url = dict(self._body(request)[0]), self._chat_url(self.urls[0])
        self._dropped = before
        # the schema is recorded by its mode only
        body.update({k: v for k, v in recorded.items() if k in body and v != "json_schema"})
        headers = {"Content-Type": "application/json"}
        is_own = urlsplit(url).hostname == self.keyed_host
        if variable := self._key_variable or (self.default_key if is_own else ""):
            headers |= self._key_header(Key(variable, f"${variable}"))
        headers |= {name: f"${named}" for name, named in self._header_env}
        return WireCall(url, headers, body)

    def _target(self, url: str) -> replies.CallTarget:
        variable = self._key_variable if self._key is None else self._key.variable
        return replies.CallTarget(url, self._model, variable, self._scrub, self._address_form(url))

    def _address_form(self, url: str) -> str:
        """How the address of such a server is written; empty if there is nothing to say."""
        return ""


class BatchJudge(HttpJudge):
    """A judge that can also write requests and read replies without sending anything, for batches. `batch_path` is where
    the provider would send a single call of a batch."""

    batch_path: str

    def batch_identity(self, known: Capabilities | None) -> Identity:
        """The identity, as far as it is known without a call. `known` are refused parameters, which `batch_body` then
        leaves out."""
        self._apply(known)
        return Identity(name=self._model, endpoints=self.urls)

    def batch_access(self) -> tuple[str, Mapping[str, str], replies.CallTarget]:
        """Where to send batches, the headers with the key, which must not be shown or stored, and the names for errors.
        Raises JudgeError when the key is missing."""
        self._look_up_key()
        url = self.urls[0]
        return url, self._headers, self._target(url)

    def batch_body(self, request: Request) -> bytes:
        """The body that `ask` would send."""
        return written(self._body(request)[0])

    def read_batch(self, body: bytes, request: Request) -> Reply:
        """The reply in the body of a batch's result. Raises like `ask`."""
        response = self._scrubbed(Answer(200, httpx.Headers(), body))
        return self._read(response, self.urls[0], request, self._body(request)[1], None)
