"""The interface of every judge, and the judges by name. A provider is imported when it is first used."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.errors import JudgeError, RecjudgeError, UsageError
from recjudge_tui.judges.keys import Sent, pairs_of, remember, require_trust
from recjudge_tui.plugins import JUDGES, load_plugin, package_of, plugins
from recjudge_tui.system import within


class Judge(Protocol):
    """Answers requests. It is independent of protocols, cases and the database. `name` is shown and is the default name of
    its rater. `rater_kind` is `judge` for a language model, else `rules` or `random`. `cacheable` says whether a stored
    reply may be used instead of asking again. `concurrency` is the default number of calls at once. Where its server takes
    one, the attribute `repetition_penalty` are the options to send beside the others to a model that repeats itself, and
    `window` are the tokens of prompt and reply for which it has asked its server, if these may be fewer than its model's. A
    built-in one that sends keys also has `secrets` and `check_trust` (`servers.HttpJudge`)."""

    name: str
    rater_kind: RaterKind
    cacheable: bool
    concurrency: int

    async def prepare(self, workload: Workload) -> Identity:
        """Check that the judge can work. Raises JudgeError that says what to start, install or set."""
        ...

    async def ask(self, request: Request) -> Reply:
        """One attempt. Raises CallError if this call fails (`retry` or not), JudgeError if no call can work."""
        ...

    async def close(self) -> None:
        """Close all connections; a judge that derives from this class has none."""


def takes_images(judge: Judge) -> bool:
    """Whether requests to the judge may have images, which a judge declares by the attribute `takes_images`. `recjudge
    judge test` shows whether its model can see them."""
    return getattr(judge, "takes_images", False) is True


# ---- judges of other packages ------------------------------------------------------------------------------------

T = TypeVar("T")
# for a judge that does not block this is ages
CLOSED_WITHIN_S = 2.0


class ThirdPartyJudge:
    """Everything about the judge itself is as its package says; its coroutines run in an event loop of this judge's own. A
    call that is given up, because of a time limit or a signal, is cancelled; code that blocks notices nothing of it, and
    its thread ends with the process."""

    def __init__(self, point: EntryPoint, spec: JudgeSpec) -> None:
        """Raises UsageError if the package cannot be loaded or makes no judge of this name."""
        self._package = package_of(point)
        make: Callable[[JudgeSpec], Judge] = load_plugin(point)
        try:
            self._judge = make(spec)
        except RecjudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - another package's code
            raise self._fault("cannot be used", error) from None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=spec.spec, daemon=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._judge, name)

    async def prepare(self, workload: Workload) -> Identity:
        return await self._within(lambda: self._judge.prepare(workload), workload.timeout_s)

    async def ask(self, request: Request) -> Reply:
        return await self._within(lambda: self._judge.ask(request))

    async def close(self) -> None:
        if not self._thread.is_alive():
            return
        with suppress(RecjudgeError):
            await self._within(self._judge.close, CLOSED_WITHIN_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, CLOSED_WITHIN_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _within(self, work: Callable[[], Awaitable[T]], limit_s: float | None = None) -> T:
        async def working() -> T:
            return await work()

        if self._thread.ident is None:
            self._thread.start()
        future = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(working(), self._loop))
        try:
            return await within(limit_s, future)
        except RecjudgeError:
            raise
        except asyncio.TimeoutError:
            raise self._fault("does not answer", f"it gave nothing back within {limit_s:g} s") from None
        except Exception as error:  # noqa: BLE001 - another package's code
            raise self._fault("failed", error) from None

    def _fault(self, what: str, why: object) -> JudgeError:
        cause = f"{type(why).__name__}: {why}" if isinstance(why, Exception) else str(why).capitalize()
        return JudgeError(
            f"The judge of the package {self._package} {what}",
            f"{cause}.",
            "Report it to the authors of the package.",
        )


class Provider(NamedTuple):
    """A kind of judge. `made_by` names, as entry points do, what turns a JudgeSpec into a Judge. `form` is what the user
    writes, and `key_variables` are the environment variables that may hold its key. `extra` is the optional part of this
    package that it needs, and `package` the module that this part installs."""

    made_by: str
    form: str
    about: str
    key_variables: tuple[str, ...] = ()
    extra: str = ""
    package: str = ""

    def is_installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


_HERE = "recjudge_tui.judges."
PROVIDERS: dict[str, Provider] = {
    provider.form.partition(":")[0]: provider
    for provider in (
        Provider(f"{_HERE}rules.judge:RulesJudge", "rules", "built in, deterministic; not a language model"),
        Provider(f"{_HERE}random_judge:RandomJudge", "random", "built in, seeded random labels; a baseline"),
        Provider(f"{_HERE}replay:ReplayJudge", "replay:FILE", "answers recorded earlier"),
        Provider(f"{_HERE}gguf:GgufJudge", "gguf:FILE",
                 "a model file on this machine, run by llama.cpp without a server to start",
                 extra="local", package="xllamacpp"),
        Provider(f"{_HERE}ollama:OllamaJudge", "ollama:MODEL", "a model of an Ollama server (OLLAMA_HOST or --base-url)",
                 ("OLLAMA_API_KEY",)),
        Provider(f"{_HERE}openai:OpenAIJudge", "openai:MODEL",
                 "a model of any OpenAI-compatible server (--base-url, --api-key-env)", ("OPENAI_API_KEY",)),
        Provider(f"{_HERE}anthropic:AnthropicJudge", "anthropic:MODEL",
                 "a model of Anthropic's API (--base-url or ANTHROPIC_BASE_URL, --api-key-env)", ("ANTHROPIC_API_KEY",)),
        Provider(f"{_HERE}bedrock:BedrockJudge", "bedrock:MODEL",
                 "a model on Amazon Bedrock, with the credentials that AWS tools use",
                 ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"), extra="bedrock", package="botocore"),
    )
}  # fmt: skip


def takes_address(spec: JudgeSpec) -> bool:
    """Whether the judge may need an address and a key: all but the built-in judges that ask no server."""
    provider = PROVIDERS.get(spec.provider)
    return provider is None or bool(provider.key_variables)


def server_urls(spec: JudgeSpec) -> tuple[str, ...]:
    """The addresses that a judge will ask: the given ones, else those of the environment, else the provider's own. Empty
    if they are not known in advance."""
    try:
        return tuple(getattr(make_judge(spec), "urls", ()))
    except RecjudgeError:
        return spec.base_urls


def third_party() -> dict[str, str]:
    """The judges of other packages: provider -> name of the package."""
    return {point.name: package_of(point) for point in plugins(JUDGES)}


def spellings() -> list[str]:
    """How each provider is written: the built-in ones first, then those of other packages."""
    return [provider.form for provider in PROVIDERS.values()] + [f"{name}:…" for name in third_party()]


def make_judge(spec: JudgeSpec) -> Judge:
    """The judge that `spec` names; no call is made. Raises UsageError for an unknown provider, and for a key in place of
    the name of its variable; the error does not repeat it."""
    spec.check()
    provider = PROVIDERS.get(spec.provider)
    if provider is not None:
        if ":" in provider.form and not spec.target:
            raise UsageError(f"judge “{spec.spec}” is incomplete", f"Write it as {provider.form}.")
        judge = cast(Judge, EntryPoint(spec.provider, provider.made_by, JUDGES).load()(spec))
    elif point := next((point for point in plugins(JUDGES) if point.name == spec.provider), None):
        require_trust(secrets_of(spec))
        judge = cast(Judge, ThirdPartyJudge(point, spec))
    else:
        raise UsageError(f"no judge “{spec.spec}”", f"Known: {', '.join(spellings())}.")
    if spec.header_env and not getattr(judge, "takes_headers", False):
        raise UsageError(f"judge “{spec.spec}” takes no --header-env", "It does not send HTTP headers.")
    return judge


def secrets_of(spec: JudgeSpec) -> tuple[Sent, ...]:
    """Which secrets the judge would send to which servers: variables that are set or named."""
    if spec.provider in PROVIDERS:
        secrets: Callable[[], tuple[Sent, ...]] = getattr(make_judge(spec), "secrets", tuple)
        return secrets()
    named = [name for name in (spec.api_key_env, *(name for _, name in spec.header_env)) if name]
    # a judge of another package finds its key itself, and only it knows its server
    variables = named or [f"the key of {spec.provider}"] * bool(spec.base_urls)
    its = f"the server of {spec.provider}"
    return pairs_of(variables, spec.base_urls) or tuple(Sent(name, its) for name in named)


def trust_typed(spec: JudgeSpec) -> None:
    """Trust what this judge sends from now on, because the user named it and its servers."""
    with suppress(RecjudgeError):
        remember(secrets_of(spec))


def check_trust(spec: JudgeSpec) -> None:
    """Raise UntrustedError if the judge would send a secret to a server that this user has not confirmed for it."""
    check: Callable[[], object] = getattr(make_judge(spec), "check_trust", tuple)
    check()
