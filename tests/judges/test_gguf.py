"""Model files: what is no model is refused in one line, and the process of one ends with whoever started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import JudgeError
from recjudge_tui.judges import gguf
from recjudge_tui.judges.registry import make_judge
from tests.support.judge_calls import asking, workload
from tests.support.servers.llama_cpp import model_file
from tests.support.servers.process import ROOT
from tests.support.waiting import HANG_S, wait_until


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model."""
    return model_file(tmp_path_factory.mktemp("model"), 4096)


@asynccontextmanager
async def _judge(path: Path) -> AsyncIterator[gguf.GgufJudge]:
    judge = make_judge(JudgeSpec(spec=f"gguf:{path}"))
    assert isinstance(judge, gguf.GgufJudge)
    try:
        yield judge
    finally:
        await judge.close()


def _child_of(parent: int) -> int | None:
    """The process of a model that this process started."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words, state = (folder / "cmdline").read_bytes(), (folder / "stat").read_text()
        except OSError:
            continue
        if (
            words.split(b"\0")[1:3] == [b"-m", b"recjudge_tui.judges.gguf_child"]
            and int(state.rpartition(")")[2].split()[1]) == parent
        ):
            return int(folder.name)
    return None


async def test_it_answers_by_the_schema_and_ends_with_close(model: Path) -> None:
    async with _judge(model) as judge:
        identity = await judge.prepare(
            workload(longest_prompt_tokens=500, max_tokens=1000, calls=3, concurrency=8, timeout_s=HANG_S)
        )
        assert (identity.name, identity.context_length) == (model.stem, 4096)
        assert identity.details["context"] == 3072  # the prompt, two replies, a margin
        assert judge.slots == min(2 * len(os.sched_getaffinity(0)), 3)
        assert _child_of(os.getpid()) is None  # the first call starts it
        reply = await judge.ask(asking(max_tokens=1000))
        assert reply.structured
        assert json.loads(reply.text)
        assert reply.usage.input
        child = _child_of(os.getpid())
        assert child is not None
        assert b"api" not in Path(f"/proc/{child}/cmdline").read_bytes()  # the key is in no list of processes
    assert _child_of(os.getpid()) is None


async def test_its_death_is_told(model: Path) -> None:
    async with _judge(model) as judge:
        await judge.prepare(workload(timeout_s=HANG_S))
        await judge.ask(asking(max_tokens=1000))
        child = _child_of(os.getpid())
        assert child is not None
        os.kill(child, signal.SIGKILL)
        with pytest.raises(
            JudgeError, match="The model's process ended It ended with signal SIGKILL"
        ) as told:
            await judge.ask(asking(max_tokens=1000))
        assert "memory" in told.value.next_step


PARENT = """
import asyncio, sys
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.judges.registry import make_judge
from tests.support.judge_calls import asking, workload

async def main():
    judge = make_judge(JudgeSpec(spec=f"gguf:{sys.argv[1]}"))
    await judge.prepare(workload(timeout_s=120))
    await judge.ask(asking(max_tokens=1000))
    print("asked", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.fixture
def parent(model: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PARENT, str(model)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_parent(parent: subprocess.Popen[str], how: signal.Signals) -> None:
    assert parent.stdout is not None
    assert parent.stdout.readline() == "asked\n"
    child = _child_of(parent.pid)
    assert child is not None
    parent.send_signal(how)
    parent.wait(HANG_S)
    wait_until(lambda: not Path(f"/proc/{child}/task").is_dir() or b"gguf" not in _words(child))


def _words(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


async def _refused(path: Path) -> JudgeError:
    async with _judge(path) as judge:
        with pytest.raises(JudgeError) as told:
            await judge.prepare(workload())
        return told.value


async def test_what_is_no_model_is_refused(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = model.read_bytes()
    files = {"text": b"# a README", "short": content[:100], "old": b"GGUF\x01\0\0\0" + bytes(16)}
    for name, wrong in files.items():
        (tmp_path / f"{name}.gguf").write_bytes(wrong)
    os.mkfifo(tmp_path / "pipe.gguf")
    whys = {"text": "does not begin with GGUF", "short": "ends within its header", "old": "Its version is 1"}
    for name, why in whys.items():
        assert why in (await _refused(tmp_path / f"{name}.gguf")).cause
    assert (await _refused(tmp_path / "none.gguf")).title.startswith("No file")
    for name in ("", "pipe.gguf"):
        assert "is not a file" in (await _refused(tmp_path / name)).title
    monkeypatch.setattr(gguf, "find_spec", lambda name: None)
    assert "pip install 'recjudge[local]'" in (await _refused(model)).next_step


async def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path, model: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(model.read_bytes()[:-1000])
    async with _judge(tmp_path / "cut.gguf") as judge:
        await judge.prepare(workload(timeout_s=HANG_S))
        with pytest.raises(JudgeError, match=r"llama\.cpp cannot run cut\.gguf .*not within the file bounds"):
            await judge.ask(asking())


def test_files_in_the_usual_folders_are_found(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OLLAMA_MODELS", "HF_HUB_CACHE", "HF_HOME", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    hub = ".cache/huggingface/hub/models--a--b/snapshots/123"
    places = {
        "here.gguf": True, ".lmstudio/models/me/it/q4.gguf": True, f"{hub}/one-00001-of-00002.gguf": True,
        f"{hub}/one-00002-of-00002.gguf": False, f"{hub}/mmproj-one.gguf": False, ".ollama/models/blobs/sha256-12": True,
    }  # fmt: skip
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(model.read_bytes())
    (tmp_path / "text.gguf").write_text("none")
    manifest = tmp_path / ".ollama/models/manifests/registry.ollama.ai/library/tiny/1b"
    manifest.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:12"}
    manifest.write_text(json.dumps({"layers": [layer]}))
    manifest.with_name("broken").write_text("{")
    found = {file.spec: file for file in gguf.found_files()}
    wanted = {f"gguf:{tmp_path / place}" for place, is_one in places.items() if is_one and "/" in place}
    assert set(found) == {"gguf:here.gguf", *wanted}
    ollama = found[f"gguf:{tmp_path}/.ollama/models/blobs/sha256-12"]
    assert ollama.details.startswith("tiny:1b")
    assert len(gguf.found_files(ollama=False)) == len(found) - 1
