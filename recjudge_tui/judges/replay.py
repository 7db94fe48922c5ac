"""A judge that repeats recorded replies: for tests, and for results that anyone can recompute without a model."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.settings import user_path

# bytes of a line; a reply is much shorter
LONGEST_LINE = 16 * 1024 * 1024


def make(spec: JudgeSpec) -> ReplayJudge:
    """The judge for `replay:FILE`; the file is not opened yet."""
    return ReplayJudge(user_path(spec.target))


class ReplayJudge:
    """Looks each request up by its content hash in a JSONL file. A line is `{"content_hash": str, "reply": {fields of
    Reply}}`; further keys are ignored. A line with `"state": "failed"` holds an `"error"` instead (a text, or `kind`,
    `title`, `cause`, `next_step`), which is raised as the same CallError. Of several lines with the same hash the last
    reply counts; a failure counts only if there is no reply. Only offsets are kept in memory."""

    rater_kind: RaterKind = "judge"
    cacheable = False
    concurrency = 1
    takes_images = True

    def __init__(self, path: Path) -> None:
        self.name = f"replay:{path.stem}"
        self._path = path
        self._offsets: dict[bytes, int] | None = None
        self._digest = ""

    async def prepare(self, workload: Workload) -> Identity:
        """Read the whole file once. Raises JudgeError with file:line for the first bad line."""
        await self._index()
        recorded = len(self._offsets or {})
        return Identity(name=self.name, digest=self._digest, details={"recorded": recorded})

    async def ask(self, request: Request) -> Reply:
        """The recorded reply. Raises CallError `not_recorded`, or the recorded one; neither is retried."""
        offsets = await self._index()
        content_hash = request.content_hash()
        offset = offsets.get(_key(content_hash))
        if offset is None:
            why = f"The file has no line for content {content_hash[:12]}…; it was recorded from others."
            raise CallError("not_recorded", f"No recorded reply in {self._path.name}", why)
        with _opened(self._path) as file:
            file.seek(offset)
            line = file.readline(LONGEST_LINE + 1)
        recorded = _parse(line, f"{self._path} at byte {offset}")
        if recorded["content_hash"] != content_hash:
            raise JudgeError(f"{self._path} has changed since it was opened", "", "Start the run again.")
        if recorded.get("state") == "failed":
            raise _recorded_error(recorded.get("error"))
        return _reply(recorded, str(self._path))

    async def close(self) -> None:
        self._offsets = None

    async def _index(self) -> dict[bytes, int]:
        if self._offsets is not None:
            return self._offsets
        offsets, self._digest = await asyncio.to_thread(_read_index, self._path)
        self._offsets = offsets
        return offsets


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file. Raises JudgeError unless it is a regular file that can be read: a device or pipe may never end."""
    try:
        # a pipe without a writer would block
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                why = "It is a folder, a device or a pipe."
                raise JudgeError(f"{path} is not a file", why, "Name a file after replay:.")
            yield file
    except OSError as error:
        why = error.strerror or str(error)
        raise JudgeError(f"Cannot read {path}", why, "Check the file name after replay:.") from None


def _read_index(path: Path) -> tuple[dict[bytes, int], str]:
    """The offset of each hash, and the SHA-256 (hex) of the file. Every line is checked."""
    offsets: dict[bytes, int] = {}
    answered: set[bytes] = set()
    hasher = sha256()
    offset = number = 0
    with _opened(path) as file:
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            hasher.update(line)
            if line.strip():
                recorded = _parse(line, f"{path}:{number}")
                key = _key(recorded["content_hash"])
                if recorded.get("state") != "failed":
                    _reply(recorded, f"{path}:{number}")
                    answered.add(key)
                    offsets[key] = offset
                elif key not in answered:
                    offsets[key] = offset
            offset += len(line)
    return offsets, hasher.hexdigest()


def _key(content_hash: str) -> bytes:
    """Half a SHA-256, to save memory. The full hash is compared when the line is read."""
    return sha256(content_hash.encode("utf-8", "replace")).digest()[:16]


def _parse(line: bytes, where: str) -> dict[str, Any]:
    if len(line) > LONGEST_LINE:
        raise _bad_line(where, f"longer than {LONGEST_LINE // 2**20} MiB")
    try:
        recorded = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad_line(where, f"not JSON ({one_line(error, 100)})") from None
    if not isinstance(recorded, dict) or not isinstance(recorded.get("content_hash"), str):
        raise _bad_line(where, "no content_hash")
    return recorded


def _reply(recorded: dict[str, Any], where: str) -> Reply:
    fields = recorded.get("reply")
    if not isinstance(fields, dict):
        raise _bad_line(where, "no reply")
    try:
        return Reply.model_validate({k: v for k, v in fields.items() if k in Reply.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        raise _bad_line(where, f"reply.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _recorded_error(error: object) -> CallError:
    told = error if isinstance(error, dict) else {"title": error}
    kind, title, *others = (one_line(told.get(k) or "", 400) for k in ("kind", "title", "cause", "next_step"))
    return CallError(kind or "recorded_failure", title or "The recorded call failed", *others)


def _bad_line(where: str, why: str) -> JudgeError:
    return JudgeError(
        f"{where}: {why}",
        "A line is a JSON object with content_hash and reply.",
        "Export the calls again, or remove the line.",
    )
