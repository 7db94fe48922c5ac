"""The judges by name. A provider is imported when it is first used."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, cast

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import RecjudgeError, UsageError
from recjudge_tui.judges.base import Judge, SendsSecrets
from recjudge_tui.judges.trust import Sent, pairs_of, remember, require_trust
from recjudge_tui.plugins import JUDGES, package_of, plugins


class Provider(NamedTuple):
    """A kind of judge. `make` in `module` turns a JudgeSpec into a Judge. `form` is what the user writes, and
    `key_variables` are the environment variables that may hold its key. `extra` is the optional part of this package that
    it needs, and `package` the module that this part installs."""

    module: str
    form: str
    about: str
    key_variables: tuple[str, ...] = ()
    extra: str = ""
    package: str = ""

    def is_installed(self) -> bool:
        return not self.package or find_spec(self.package) is not None


_HERE = "recjudge_tui.judges."
_BUILT_IN: dict[str, Provider] = {
    provider.form.partition(":")[0]: provider
    for provider in (
        Provider(f"{_HERE}rules.judge", "rules", "built in, deterministic; not a language model"),
        Provider(f"{_HERE}random_judge", "random", "built in, seeded random labels; a baseline"),
        Provider(f"{_HERE}replay", "replay:FILE", "answers recorded earlier"),
        Provider(f"{_HERE}gguf", "gguf:FILE",
                 "a model file on this machine, run by llama.cpp without a server to start",
                 extra="local", package="xllamacpp"),
        Provider(f"{_HERE}ollama", "ollama:MODEL", "a model of an Ollama server (OLLAMA_HOST or --base-url)",
                 ("OLLAMA_API_KEY",)),
        Provider(f"{_HERE}openai", "openai:MODEL",
                 "a model of any OpenAI-compatible server (--base-url, --api-key-env)", ("OPENAI_API_KEY",)),
        Provider(f"{_HERE}anthropic", "anthropic:MODEL",
                 "a model of Anthropic's API (--base-url or ANTHROPIC_BASE_URL, --api-key-env)", ("ANTHROPIC_API_KEY",)),
        Provider(f"{_HERE}bedrock", "bedrock:MODEL",
                 "a model on Amazon Bedrock, with the credentials that AWS tools use",
                 ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK"), extra="bedrock", package="botocore"),
    )
}  # fmt: skip


def takes_address(spec: JudgeSpec) -> bool:
    """Whether the judge may need an address and a key: all but the built-in judges that ask no server."""
    provider = _BUILT_IN.get(spec.provider)
    return provider is None or bool(provider.key_variables)


def server_urls(spec: JudgeSpec) -> tuple[str, ...]:
    """The addresses that a judge will ask: the given ones, else those of the environment, else the provider's own. Empty
    if they are not known in advance."""
    try:
        return tuple(getattr(make_judge(spec), "urls", ()))
    except RecjudgeError:
        return spec.base_urls


def built_in() -> tuple[Provider, ...]:
    return tuple(_BUILT_IN.values())


def third_party() -> dict[str, str]:
    """The judges of other packages: provider -> name of the package."""
    return {point.name: package_of(point) for point in plugins(JUDGES)}


def spellings() -> list[str]:
    """How each provider is written: the built-in ones first, then those of other packages."""
    return [provider.form for provider in built_in()] + [f"{name}:…" for name in third_party()]


def make_judge(spec: JudgeSpec) -> Judge:
    """The judge that `spec` names; no call is made. Raises UsageError for an unknown provider, and for a key in place of
    the name of its variable; the error does not repeat it."""
    spec.check()
    provider = _BUILT_IN.get(spec.provider)
    point = next((point for point in plugins(JUDGES) if point.name == spec.provider), None)
    if provider is not None:
        if ":" in provider.form and not spec.target:
            raise UsageError(f"judge “{spec.spec}” is incomplete", f"Write it as {provider.form}.")
        judge = cast(Judge, import_module(provider.module).make(spec))
    elif point is not None:
        require_trust(secrets_of(spec))
        from recjudge_tui.judges.third_party import ThirdPartyJudge

        judge = cast(Judge, ThirdPartyJudge(point, spec))
    else:
        raise UsageError(f"no judge “{spec.spec}”", f"Known: {', '.join(spellings())}.")
    if spec.header_env:
        if not hasattr(judge, "send_headers"):
            raise UsageError(f"judge “{spec.spec}” takes no --header-env", "It does not send HTTP headers.")
        judge.send_headers(spec.header_env)
    return judge


def secrets_of(spec: JudgeSpec) -> tuple[Sent, ...]:
    """Which secrets the judge would send to which servers: variables that are set or named."""
    if spec.provider in _BUILT_IN:
        judge = make_judge(spec)
        return judge.secrets() if isinstance(judge, SendsSecrets) else ()
    named = [name for name in (spec.api_key_env, *(name for _, name in spec.header_env)) if name]
    # a judge of another package finds its key itself, and only it knows its server
    variables = named or [f"the key of {spec.provider}"] * bool(spec.base_urls)
    return pairs_of(variables, spec.base_urls) or tuple(
        Sent(name, f"the server of {spec.provider}") for name in named
    )


def trust_typed(spec: JudgeSpec) -> None:
    """Trust what this judge sends from now on, because the user named it and its servers."""
    with suppress(RecjudgeError):
        remember(secrets_of(spec))


def check_trust(spec: JudgeSpec) -> None:
    """Raise UntrustedError if the judge would send a secret to a server that this user has not confirmed for it."""
    judge = make_judge(spec)
    if isinstance(judge, SendsSecrets):
        judge.check_trust()
