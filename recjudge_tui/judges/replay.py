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


class ReplayJudge:
    """Looks each request up by its content hash in a JSONL file. A line is `{"content_hash": str, "reply": {fields of
    Reply}}`; further keys are ignored. A line with `"state": "failed"` holds an `"error"` instead (a text, or `kind`,
    `title`, `cause`, `next_step`), which is raised as the same CallError. Of several lines with the same hash the last
    reply counts; a failure counts only if there is no reply."""

    rater_kind: RaterKind = "judge"
    cacheable = False
    concurrency = 1
    takes_images = True

    def __init__(self, spec: JudgeSpec) -> None:
        self._path = user_path(spec.target)
        self.name = f"replay:{self._path.stem}"
        # content hash -> what is recorded for it
        self._recorded: dict[str, Reply | CallError] | None = None
        self._digest = ""

    async def prepare(self, workload: Workload) -> Identity:
        """Read the file. Raises JudgeError with file:line for the first bad line."""
        recorded = await self._read()
        return Identity(name=self.name, digest=self._digest, details={"recorded": len(recorded)})

    async def ask(self, request: Request) -> Reply:
        """The recorded reply. Raises CallError `not_recorded`, or the recorded one; neither is retried."""
        content_hash = request.content_hash()
        found = (await self._read()).get(content_hash)
        if found is None:
            why = f"The file has no line for content {content_hash[:12]}…; it was recorded from others."
            raise CallError("not_recorded", f"No recorded reply in {self._path.name}", why)
        if isinstance(found, CallError):
            raise found
        return found

    async def close(self) -> None:
        self._recorded = None

    async def _read(self) -> dict[str, Reply | CallError]:
        if self._recorded is not None:
            return self._recorded
        recorded, self._digest = await asyncio.to_thread(_read, self._path)
        self._recorded = recorded
        return recorded


make = ReplayJudge


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


def _read(path: Path) -> tuple[dict[str, Reply | CallError], str]:
    """What is recorded for each hash, and the SHA-256 (hex) of the file."""
    found: dict[str, Reply | CallError] = {}
    hasher, number = sha256(), 0
    with _opened(path) as file:
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            hasher.update(line)
            if line.strip():
                recorded = _parse(line, f"{path}:{number}")
                content_hash = recorded["content_hash"]
                if recorded.get("state") != "failed":
                    found[content_hash] = _reply(recorded, f"{path}:{number}")
                elif not isinstance(found.get(content_hash), Reply):
                    found[content_hash] = _recorded_error(recorded.get("error"))
    return found, hasher.hexdigest()


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
