"""A model file on this machine, without a server to start: llama.cpp runs in a process of its own for one run. The process
(`gguf_child`) listens on loopback, at a port and with a key that are drawn anew each time, and ends with this one, however
that ends. What is sent and read is as for any OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, NamedTuple

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.judges.keys import Key
from recjudge_tui.judges.openai import OpenAIJudge
from recjudge_tui.settings import user_path
from recjudge_tui.system import cores, idle_cores

MAX_SLOTS = 8
MARGIN = 512  # chat template, role marks, and the fault that is named when a call is repeated
STEP = 256
MOST_FILES = 200
_SAMPLES, _SAMPLE = 64, 1 << 16
_LONGEST_TEXT, _MOST_FIELDS, _MOST_TEXTS = 1 << 20, 10_000, 1 << 20
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
# these turn texts or images into numbers
_NO_LANGUAGE_MODELS = ("bert", "clip", "t5encoder", "embedding", "wavtokenizer", "llava")
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


class ModelFile(NamedTuple):
    """A model as its file's header describes it. `context` is the longest it was trained for; 0: unknown."""

    path: Path
    name: str
    size: int
    context: int


class GgufJudge:
    """The model of one file. Its process is started by the first call: a run whose replies are all stored needs none."""

    rater_kind: RaterKind = "judge"
    cacheable = True
    takes_images = False
    repetition_penalty = OpenAIJudge.penalty

    def __init__(self, spec: JudgeSpec) -> None:
        path = user_path(spec.target)
        self.name = f"gguf:{path.stem}"
        self.concurrency = min(2 * cores(), MAX_SLOTS)
        self.slots: int | None = None
        self.window: int | None = None
        self._path = path
        self._wanted: dict[str, Any] = {}
        self._workload: Workload | None = None
        self._starting = asyncio.Lock()
        self._process: _Process | None = None
        self._served: _ServedModel | None = None

    async def prepare(self, workload: Workload) -> Identity:
        """Read the file's header, and choose slots and context. Raises JudgeError when the file is none of a language
        model, or the optional package is missing."""
        if find_spec("xllamacpp") is None:
            step = "Install it: pip install 'recjudge[local]'"
            raise JudgeError("The judge gguf needs the package xllamacpp", "", step)
        model = await asyncio.to_thread(read_header, self._path)
        context, self.slots = self.window, _ = _room(model, workload)
        name, self._workload = self._path.stem, workload
        self._wanted = {
            "model": str(self._path.absolute()),
            "alias": name,
            "context": context,
            "slots": self.slots,
            # one thread too many holds up all: they wait for each other hundreds of times a token
            "threads": await idle_cores(),
        }
        return Identity(
            name=name,
            digest=await asyncio.to_thread(_digest, model),
            context_length=model.context or None,
            details={"context": context, "slots": self.slots, "model": model.name},
        )

    async def ask(self, request: Request) -> Reply:
        """One attempt. Raises CallError; JudgeError when the process cannot start or has ended."""
        async with self._starting:
            if self._served is None:
                self._served = await self._start()
        assert self._process is not None
        try:
            return await self._served.ask(request)
        except CallError:
            if await self._process.has_ended():
                raise self._process.fault("The model's process ended") from None
            raise

    async def close(self) -> None:
        served, process = self._served, self._process
        self._served = self._process = None
        if served is not None:
            await served.close()
        if process is not None:
            await asyncio.to_thread(process.end)

    async def _start(self) -> _ServedModel:
        assert self._workload is not None, "prepare comes first"
        self._process = self._process or _Process(self._path)
        key = secrets.token_urlsafe(24)
        url = await asyncio.to_thread(self._process.start, {**self._wanted, "key": key})
        served = _ServedModel(self._wanted["alias"], url, key)
        await served.prepare(self._workload)
        return served


class _ServedModel(OpenAIJudge):
    """The model at its process, with the key that was drawn for it."""

    def __init__(self, alias: str, url: str, key: str) -> None:
        super().__init__(JudgeSpec(spec=f"openai:{alias}", base_urls=(url,)))
        self._drawn = Key("the key of the model's process", key)

    def _look_up_key(self, *, typed: bool = False) -> None:
        self._key = self._drawn
        self._headers.update(self._drawn.bearer())


class _Process:
    """The process of one model. `start` is called once; the process ends at the latest with this object's pipe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        self._child = subprocess.Popen(
            [sys.executable, "-m", "recjudge_tui.judges.gguf_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def start(self, wanted: dict[str, Any]) -> str:
        """The address, once the model is loaded. Raises JudgeError when the process ends before."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with suppress(BrokenPipeError):
            self._child.stdin.write(json.dumps(wanted).encode() + b"\n")
            self._child.stdin.flush()
        address = self._child.stdout.readline().decode(errors="replace").strip()
        if not address:
            self._child.wait()
            raise self.fault(f"llama.cpp cannot run {self._path.name}")
        return address

    async def has_ended(self) -> bool:
        """A process that was killed is waited for: its connections may be closed a moment before."""
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._child.wait, 0.5)
        return self._child.poll() is not None

    def fault(self, title: str) -> JudgeError:
        """With how the process ended and its last lines."""
        code = self._child.poll() or 0
        end = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 10_000))
        lines = [line for line in self._log.read().decode(errors="replace").splitlines() if line.strip()]
        # of errors the first two say most: the others follow from them
        shown = [line for line in lines if re.match(r"[\d.]+ E ", line)][:2] or lines[-3:]
        said = " / ".join(one_line(re.sub(r"^[\d.]+ [A-Z] ", "", line), 200) for line in shown)
        cure = "Download the file again, or update llama.cpp: pip install -U xllamacpp"
        if code == -signal.SIGKILL or "alloc" in said:
            cure = "The memory may not have sufficed: take a smaller file, a shorter history or fewer calls at once."
        elif code < 0:
            cure = "Resume the run; what is answered is not asked again."
        return JudgeError(title, f"It ended with {end}.{f' It wrote: {said}' if said else ''}", cure)

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._log):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def _room(model: ModelFile, workload: Workload) -> tuple[int, int]:
    """The context of a slot and the number of slots: the longest prompt, its reply, and both once more when a bad reply is
    asked again; twice as many slots as cores, because writing waits for memory."""
    need = workload.longest_prompt_tokens + 2 * workload.max_tokens + MARGIN
    context = -(-need // STEP) * STEP
    context = min(context, model.context) if model.context else context
    return context, max(1, min(2 * cores(), MAX_SLOTS, workload.concurrency, workload.calls))


def read_header(path: Path) -> ModelFile:
    """What the header of a model file says. Raises JudgeError if there is none, or it is not of a language model."""
    check_name = "Check the name after gguf:."
    try:
        if not path.is_file():
            raise JudgeError(f"{path} is not a file" if path.exists() else f"No file {path}", "", check_name)
        size = sum(part.stat().st_size for part in _shards(path))
        with path.open("rb") as file:
            facts = _facts(file)
    except OSError as error:
        raise JudgeError(f"Cannot read {path}", error.strerror or str(error), check_name) from None
    except (ValueError, struct.error) as error:
        why = one_line(error, 100) if isinstance(error, ValueError) else "It ends within its header"
        step = "Download it again, or convert the model to GGUF."
        raise JudgeError(f"{path.name} is not a usable GGUF file", f"{why}.", step) from None
    architecture = str(facts.get("general.architecture") or "")
    kind = str(facts.get("general.type") or "model")
    if kind != "model" or not architecture or any(part in architecture for part in _NO_LANGUAGE_MODELS):
        why = f"Its header says: {architecture or 'no architecture'}, {kind}."
        raise JudgeError(f"{path.name} is not a language model", why, "Choose the file of an instruct model.")
    context = facts.get(f"{architecture}.context_length")
    name = one_line(facts.get("general.name") or "", 60)
    return ModelFile(path, name, size, context if isinstance(context, int) and 0 < context < 1 << 31 else 0)


def _facts(file: IO[bytes]) -> dict[str, Any]:
    """The numbers and texts of a header, without the tokenizer's. Raises ValueError or struct.error for another file."""

    def read(form: str) -> Any:
        (value,) = struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))
        return value

    def text() -> str:
        length = read("Q")
        if length > _LONGEST_TEXT:
            raise ValueError("A text in its header is too long")
        return file.read(length).decode("utf-8", "replace")

    def value(kind: int) -> Any:
        if kind == _TEXT:
            return text()
        if kind != _ARRAY:
            return read(_SCALARS[kind])
        of, length = read("I"), read("Q")
        if of in _SCALARS:
            return file.seek(length * struct.calcsize(f"<{_SCALARS[of]}"), os.SEEK_CUR)
        if length > _MOST_TEXTS or of != _TEXT:
            raise ValueError("Its header has a list that no model has")
        return [text() for _ in range(length)]

    if file.read(4) != b"GGUF":
        raise ValueError("It does not begin with GGUF")
    if (version := read("I")) not in (2, 3):
        raise ValueError(f"Its version is {version}; 2 and 3 are known")
    facts: dict[str, Any] = {}
    _, fields = read("Q"), read("Q")
    for _ in range(min(fields, _MOST_FIELDS)):
        name, kind = text(), read("I")
        if kind not in _SCALARS and kind not in (_TEXT, _ARRAY):
            raise ValueError("Its header has a value of an unknown type")
        if name.startswith("tokenizer.") and "general.architecture" in facts:
            break  # the rest is long, and nothing in it is needed
        facts[name] = value(kind)
    return facts


def _shards(path: Path) -> list[Path]:
    """All files of a model that is cut into several, or the one."""
    parts = _SHARD.search(path.name)
    return sorted(path.parent.glob(f"{path.name[: parts.start()]}-*-of-{parts[2]}.gguf")) if parts else [path]


def _digest(model: ModelFile) -> str:
    """SHA-256 over the sizes, the headers and parts of the weights: whole files would take minutes."""
    hasher = sha256()
    for path in _shards(model.path):
        size = path.stat().st_size
        hasher.update(b"%d;" % size)
        with path.open("rb") as file:
            for sample in range(_SAMPLES):
                file.seek(size * sample // _SAMPLES)
                hasher.update(file.read(_SAMPLE))
    return hasher.hexdigest()


class FoundFile(NamedTuple):
    """A model file in one of the usual folders: how a run names it, whose folder it is, and what its header says."""

    spec: str
    place: str
    details: str


def found_files(*, ollama: bool = True) -> list[FoundFile]:
    """The language models in the working folder and in those of LM Studio, Hugging Face, llama.cpp and Ollama (unless its
    server answers, which offers them itself). Nothing is loaded; unreadable files and those of other models are left out."""
    found: list[FoundFile] = []
    for place, label, path in _usual_files(ollama):
        with suppress(JudgeError):
            model = read_header(path)
            shown = path.name if place == "working folder" else str(path)
            details = f"{label or model.name} {model.size / 1e9:.1f} GB".strip()
            found.append(FoundFile(f"gguf:{shown}", place, details))
        if len(found) == MOST_FILES:
            break
    return found


def _usual_files(ollama: bool) -> Iterator[tuple[str, str, Path]]:
    """(whose folder, the model's name there, file)."""
    home, env = Path.home(), os.environ
    hugging_face = env.get("HF_HUB_CACHE") or f"{env.get('HF_HOME') or home / '.cache/huggingface'}/hub"
    for place, folder, pattern in (
        ("working folder", Path(), "*.gguf"),
        ("LM Studio", home / ".lmstudio/models", "*/*/*.gguf"),
        ("LM Studio", home / ".cache/lm-studio/models", "*/*/*.gguf"),
        ("Hugging Face", Path(hugging_face), "models--*/snapshots/*/**/*.gguf"),
        ("llama.cpp", Path(env.get("LLAMA_CACHE") or home / ".cache/llama.cpp"), "*.gguf"),
    ):
        with suppress(OSError):
            for path in sorted(folder.glob(pattern)):
                shard = _SHARD.search(path.name)
                if (shard is None or int(shard[1]) == 1) and "mmproj" not in path.name:
                    yield place, "", path
    stores = (env.get("OLLAMA_MODELS") or f"{home}/.ollama/models", "/usr/share/ollama/.ollama/models")
    for store in map(Path, stores if ollama else ()):
        yield from _ollama_files(store)


def _ollama_files(store: Path) -> Iterator[tuple[str, str, Path]]:
    with suppress(OSError):
        for manifest in sorted((store / "manifests").glob("*/*/*/*")):
            with suppress(OSError, ValueError, LookupError, TypeError):
                for layer in json.loads(manifest.read_bytes())["layers"]:
                    if layer["mediaType"] == "application/vnd.ollama.image.model":
                        name = f"{manifest.parent.name}:{manifest.name}"
                        yield "Ollama’s store", name, store / "blobs" / layer["digest"].replace(":", "-")
