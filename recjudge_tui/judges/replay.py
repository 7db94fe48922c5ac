"""A judge that repeats recorded replies: for tests, and for results that anyone can recompute without a model."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import CallError, JudgeError
from recjudge_tui.files import check_regular
from recjudge_tui.settings import user_path

# bytes of a line; a reply is much shorter
LONGEST_LINE = 16 * 1024 * 1024
# what is recorded for each content hash, and the SHA-256 (hex) of the file
Recorded = tuple[dict[str, Reply | CallError], str]


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
        self._known: Recorded | None = None

    async def prepare(self, workload: Workload) -> Identity:
        """Read the file. Raises JudgeError with file:line for the first bad line."""
        recorded, digest = await self._contents()
        return Identity(name=self.name, digest=digest, details={"recorded": len(recorded)})

    async def ask(self, request: Request) -> Reply:
        """The recorded reply. Raises CallError `not_recorded`, or the recorded one; neither is retried."""
        content_hash = request.content_hash()
        found = (await self._contents())[0].get(content_hash)
        if found is None:
            why = f"The file has no line for content {content_hash[:12]}…; it was recorded from others."
            raise CallError("not_recorded", f"No recorded reply in {self._path.name}", why)
        if isinstance(found, CallError):
            raise found
        return found

    async def close(self) -> None:
        self._known = None

    async def _contents(self) -> Recorded:
        if self._known is None:
            self._known = await asyncio.to_thread(_read, self._path)
        return self._known


def _read(path: Path) -> Recorded:
    found: dict[str, Reply | CallError] = {}
    hasher, number = sha256(), 0
    try:
        check_regular(path)  # a device or a pipe may never end
        with path.open("rb") as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                hasher.update(line)
                if line.strip():
                    content_hash, said = _recorded(line)
                    if isinstance(said, Reply) or not isinstance(found.get(content_hash), Reply):
                        found[content_hash] = said
    except OSError as error:
        why = error.strerror or str(error)
        raise JudgeError(f"Cannot read {path}", why, "Check the file name after replay:.") from None
    except ValueError as error:
        raise JudgeError(
            f"{path}:{number}: {error}",
            "A line is a JSON object with content_hash and reply.",
            "Export the calls again, or remove the line.",
        ) from None
    return found, hasher.hexdigest()


def _recorded(line: bytes) -> tuple[str, Reply | CallError]:
    """The hash in a line, and what is recorded for it. Raises ValueError for a bad line."""
    if len(line) > LONGEST_LINE:
        raise ValueError(f"longer than {LONGEST_LINE // 2**20} MiB")
    try:
        recorded = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({one_line(error, 100)})") from None
    if not isinstance(recorded, dict) or not isinstance(recorded.get("content_hash"), str):
        raise ValueError("no content_hash")
    if recorded.get("state") == "failed":
        told = recorded.get("error")
        told = told if isinstance(told, dict) else {"title": told}
        parts = (one_line(told.get(k) or "", 400) for k in ("kind", "title", "cause", "next_step"))
        kind, title, *others = parts
        failure = CallError(kind or "recorded_failure", title or "The recorded call failed", *others)
        return recorded["content_hash"], failure
    if not isinstance(fields := recorded.get("reply"), dict):
        raise ValueError("no reply")
    try:
        reply = Reply.model_validate({k: v for k, v in fields.items() if k in Reply.model_fields})
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"reply.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return recorded["content_hash"], reply
