"""Checks the installation and which judges' servers answer, one row per check.

Keys are mentioned by name only, and none is sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from recjudge_tui.domain.text import one_line, quantity
from recjudge_tui.errors import CallError, JudgeError, RecjudgeError, StoreError, UsageError
from recjudge_tui.judges import anthropic, openai
from recjudge_tui.judges.http import Client, usable_network
from recjudge_tui.judges.keys import find_keys
from recjudge_tui.judges.local_servers import local_servers
from recjudge_tui.judges.ollama import server_urls
from recjudge_tui.judges.registry import PROVIDERS
from recjudge_tui.plugins import IMPORTERS, JUDGES, load_plugin, package_of, plugins
from recjudge_tui.reports.common.table import Note, Row, Table, columns
from recjudge_tui.steps import Step
from recjudge_tui.store.database import SQLITE_VERSION
from recjudge_tui.store.schema import FileReport, RunningRun
from recjudge_tui.system import (
    can_write,
    certificates,
    file_system,
    is_shared,
    proxies,
    without_password,
)

State = Literal["ok", "warning", "problem"]
# seconds for all servers together
WITHIN_S = 2.0
_LEAST_SQLITE = (3, 37, 0)  # STRICT tables
_LEAST_SCREEN = (80, 24)
_EXTRAS = {
    "bedrock": ("botocore", "judges on Amazon Bedrock"),
    "chinese": ("jieba", "Chinese words of BLEU and ROUGE"),
    "images": ("pillow", "images of items"),
    "keyring": ("keyring", "keys from the system keyring"),
    "local": ("xllamacpp", "model files without a server (gguf:FILE)"),
    "parquet": ("pyarrow", "import of Parquet files"),
    "ray": ("ray", "batch files over a cluster"),
    "socks": ("socksio", "SOCKS proxies"),
    "text": ("sacrebleu", "BLEU and ROUGE raters"),
}
_COLUMNS = columns("what|What", "state|State", "detail|Detail", "next_step|Next step")
_LONGEST = (80, 10, 400, 300)


class Check(NamedTuple):
    """`problem`: something required does not work. `warning`: it works or is optional, but deserves a look. A surface
    words a `Step`."""

    what: str
    state: State
    detail: str
    next_step: str | Step = ""


def _failed(what: str, error: RecjudgeError, state: State = "problem") -> Check:
    return Check(what, state, f"{error.title}. {error.cause}", error.next_step or error.step or "")


class Surroundings(NamedTuple):
    """The inputs of the checks that are given by the caller. `size` is (columns, lines), None without a terminal; `mounts`
    is None if the system does not list them."""

    path: Path
    stale: tuple[RunningRun, ...]
    prices: Path
    prices_fault: RecjudgeError | None
    environment: Mapping[str, str]
    encoding: str
    size: tuple[int, int] | None
    mounts: str | None


def doctor_table(checks: Iterable[Check], say: Callable[[Step], str]) -> Table:
    """The checks as a table; text from outside is made safe and put on one line. `say` words a step."""
    rows: list[Row] = []
    for check in checks:
        texts = (*check[:3], say(check[3]) if isinstance(check[3], Step) else check[3])
        cells = zip(_COLUMNS, texts, _LONGEST, strict=True)
        rows.append({column.name: one_line(text, longest) for column, text, longest in cells})
    counts = {state: sum(row["state"] == state for row in rows) for state in ("problem", "warning")}
    summary = ", ".join(quantity(n, state) for state, n in counts.items() if n)
    said = f"{summary or 'no problems'}; a project's texts have a check of their own"
    note = Note(said, step=Step("check texts"))
    return Table("Checks", _COLUMNS, tuple(rows), (note,))


def local_checks(around: Surroundings, looked: FileReport | StoreError | None) -> Iterator[Check]:
    """Every check that needs no network, in reading order."""
    yield _database(around.path, looked)
    kind = file_system(around.path, around.mounts) if around.mounts else ""
    if not kind:
        yield Check("file system", "ok", "unknown on this system", "Keep the database on a local disk.")
    elif is_shared(kind):
        told = f"{kind}: a write-ahead log may not be safe on it, unless one machine at a time uses it"
        yield Check("file system", "warning", told, Step("other file"))
    else:
        yield Check("file system", "ok", f"{kind}: a local disk")
    yield Check("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    least = ".".join(map(str, _LEAST_SQLITE))
    if tuple(map(int, SQLITE_VERSION.split("."))) < _LEAST_SQLITE:
        yield Check("SQLite", "problem", SQLITE_VERSION, f"Use a Python with SQLite {least} or newer.")
    else:
        yield Check("SQLite", "ok", SQLITE_VERSION)
    yield _terminal(around.environment, around.encoding, around.size)
    yield _proxy(around.environment)
    try:
        with usable_network():
            import httpx2 as httpx

            httpx.create_ssl_context()
        yield Check("certificates", "ok", certificates())
    except JudgeError as error:
        yield _failed("certificates", error)
    forms = {name: provider.form for provider in PROVIDERS.values() for name in provider.key_variables}
    of_runs = looked.key_names if isinstance(looked, FileReport) else ()
    for name in dict.fromkeys([*forms, *of_runs]):
        yield _key(name, forms.get(name, ""))
    for extra, (package, use) in _EXTRAS.items():
        try:
            yield Check(f"extra {extra}", "ok", f"{package} {version(package)}")
        except PackageNotFoundError:
            yield Check(f"extra {extra}", "ok", f"not installed: {use}", f"pip install 'recjudge[{extra}]'")
    # the judges and importers of other packages
    for group, what in ((JUDGES, "judge"), (IMPORTERS, "importer")):
        for point in plugins(group):
            try:
                load_plugin(point)
                yield Check(f"{what} {point.name}", "ok", f"from the package {package_of(point)}")
            except UsageError as error:
                yield _failed(f"{what} {point.name}", error, "warning")
    for run in around.stale:
        left = f"its process is gone; {run.outstanding} calls are left"
        told = f"{run.rater} in {run.project} was active, but {left}"
        yield Check(f"run {run.id}", "warning", told, Step("resume", {"run": str(run.id)}))
    if around.prices_fault is not None:
        yield _failed("prices", around.prices_fault)
    elif around.prices.exists():
        yield Check("prices", "ok", str(around.prices))
    else:
        told = f"built-in list prices; no table of your own at {around.prices}"
        cure = "Create it for models without a list price or with a different price."
        yield Check("prices", "ok", told, cure)


def _database(path: Path, looked: FileReport | StoreError | None) -> Check:
    if isinstance(looked, StoreError):
        return _failed("database", looked)
    if not can_write(path):
        cure = "Make the file and its folder writable, or choose another file."
        if looked is None or looked.faults:
            return Check("database", "problem", f"{path} cannot be written", cure)
        told = f"{path} cannot be written: reports work, everything else fails"
        return Check("database", "warning", told, cure)
    if looked is None:
        return Check("database", "ok", f"{path}: not created yet", Step("demo"))
    if looked.faults:
        told = f"{path} is damaged: {'; '.join(looked.faults)}"
        return Check("database", "problem", told, Step("restore"))
    return Check("database", "ok", f"{path}: {size_text(looked.size)}, intact, journal {looked.journal}")


def _terminal(environment: Mapping[str, str], encoding: str, size: tuple[int, int] | None) -> Check:
    """The capabilities of the terminal for the app."""
    term, within = environment.get("TERM", ""), environment.get("TMUX")
    if environment.get("NO_COLOR"):
        colours = "no colours (NO_COLOR)"
    elif environment.get("COLORTERM") in ("truecolor", "24bit"):
        colours = "24-bit colours"
    elif "256" in term:
        colours = "256 colours"
    else:
        colours = "no colours" if term in ("", "dumb", "unknown") else "few colours"
    facts = [encoding or "no encoding", colours, f"{size[0]}x{size[1]}" if size else "not a terminal"]
    around = {"TMUX": "in tmux", "SSH_CONNECTION": "over SSH"}
    facts += [text for name, text in around.items() if environment.get(name)]
    state: State = "warning"
    if encoding.lower().replace("-", "") != "utf8":
        cure = "Set a UTF-8 locale: export LANG=C.UTF-8"
    elif size and term == "dumb":
        cure = "Set TERM to the type of the terminal."
    elif size and (size[0] < _LEAST_SCREEN[0] or size[1] < _LEAST_SCREEN[1]):
        cure = "The app is made for 80x24 and more."
    else:
        state, cure = "ok", "To copy through tmux: tmux set -g set-clipboard on" if within else ""
    return Check("terminal", state, ", ".join(facts), cure)


def _proxy(environment: Mapping[str, str]) -> Check:
    """The proxies in force, without user names and passwords, and whether a client can be made for them."""
    import httpx2 as httpx

    named = proxies()
    if not named:
        return Check("proxy", "ok", "none")
    parts = [f"{kind.upper()}_PROXY {without_password(proxy)}" for kind, proxy in named.items()]
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY")
    told = ", ".join([*parts, *([f"not for {excepted}"] if excepted else [])])
    try:
        with usable_network():
            httpx.Client(verify=False).close()  # nothing is sent
    except JudgeError as error:
        return Check("proxy", "problem", f"{told}: {error.title}", error.next_step)
    return Check("proxy", "ok", told)


def _key(name: str, form: str) -> Check:
    """A variable from which a judge may take its key, or that a run names."""
    try:
        found = find_keys((name,), (), typed=True)
    except JudgeError as error:
        return _failed(f"key {name}", error)
    if not found:
        use = f"Set it to use {form}." if form else "Set it to resume the runs that name it."
        return Check(f"key {name}", "ok", "not set", use)
    return Check(f"key {name}", "ok", "set" if os.environ.get(name) else "in the keyring")


def size_text(size: int) -> str:
    """Bytes as people read them, in powers of 1024."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def server_checks() -> list[Check]:
    """Ollama at `OLLAMA_HOST` or its default address, the servers named by other variables, and those that answer at the
    usual ports of this machine; all are asked at once."""
    named = os.environ.get("OPENAI_BASE_URL", "").rstrip("/")
    found = asyncio.run(_ask_all())
    for server in local_servers(timeout_s=WITHIN_S):
        if server.base_urls and server.base_urls[0].rstrip("/") not in (named, f"{named}/v1"):
            models = quantity(len(server.judges), "model")
            told = f"{server.place} answers at {server.base_urls[0]}: {models}"
            found.append(Check(f"server of {server.name}", "ok", told))
    return found


async def _ask_all() -> list[Check]:
    named = {name: os.environ.get(name, "").strip() for name in _ADDRESSES}
    asked = (_asked(name, url) for name, url in named.items() if url or name == _OLLAMA)
    return await asyncio.gather(*asked)


_OLLAMA = "OLLAMA_HOST"
# where a server that a variable names lists its models
_ADDRESSES: dict[str, Callable[[str], str]] = {
    _OLLAMA: lambda _: f"{server_urls(())[0]}/api/tags",
    "OPENAI_BASE_URL": lambda url: f"{openai.OpenAIJudge.api_root(url)}/models",
    "ANTHROPIC_BASE_URL": lambda url: f"{anthropic.AnthropicJudge.api_root(url)}/v1/models",
}


async def _asked(variable: str, given: str) -> Check:
    what = "server of Ollama" if variable == _OLLAMA else f"server of {variable}"
    try:
        url = _ADDRESSES[variable](given)
    except UsageError as error:
        return Check(what, "warning", f"{variable}: {error.title}", error.next_step)
    client = Client()
    try:
        answer = await client.send("GET", url, timeout_s=WITHIN_S)
    except CallError as error:
        if not given:
            told = f"none at {url.removesuffix('/api/tags')}; only “ollama:” needs one"
            return Check(what, "ok", told, "Start it with: ollama serve")
        return Check(what, "warning", f"{error.title}. {error.cause}", f"Check {variable} and the server.")
    finally:
        await client.aclose()
    if answer.status_code in (401, 403):
        return Check(what, "ok", f"{url} answers; it requires a key")
    if answer.status_code != 200:
        return Check(what, "warning", f"{url} answers {answer.status_code}", f"Check {variable}.")
    try:
        listed = json.loads(answer.content)["models" if variable == _OLLAMA else "data"]
        count = quantity(len(listed), "model")
    except (ValueError, TypeError, KeyError):
        count = "but not with a list of models"
    return Check(what, "ok", f"{url} answers: {count}")
