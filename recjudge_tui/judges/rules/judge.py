"""The built-in judge without a language model: the published list-quality guidelines as code.

It reads the material of a case and answers any reply schema whose fields it has rules for. The same request gives
the same bytes.
"""

from __future__ import annotations

import json

from recjudge_tui.domain.calls import Reply, Request
from recjudge_tui.domain.judge import Identity, JudgeSpec, Workload
from recjudge_tui.domain.roles import RaterKind
from recjudge_tui.errors import UsageError
from recjudge_tui.judges.rules.answers import answer, unsupported

VERSION = "rules-5"


class RulesJudge:
    """Answers from `Request.material`. It ignores messages and sampling, so replies are not cached."""

    name: str = "rules"
    rater_kind: RaterKind = "rules"
    cacheable: bool = False
    concurrency: int = 8

    async def prepare(self, workload: Workload) -> Identity:
        del workload  # it can handle any workload
        return identity()

    async def ask(self, request: Request) -> Reply:
        """The answer as JSON. Raises CallError (`unsupported`) without material, or for a field without a rule."""
        if request.material is None:
            raise unsupported("the request holds text only")
        fields = answer(request.material, request.reply_schema)
        text = json.dumps(fields, ensure_ascii=False, separators=(", ", ": "))
        return Reply(text=text, structured=True, model=VERSION, stop="stop")

    async def close(self) -> None:
        """Nothing to close."""


def identity() -> Identity:
    """The judge's name and version. Change the version with any change that could alter an answer."""
    return Identity(name=VERSION, structured=True, details={"language_model": False})


def make(spec: JudgeSpec) -> RulesJudge:
    """The rules judge. Raises UsageError when the spec has a target after a colon."""
    if spec.target:
        raise UsageError(
            f"judge “{spec.spec}” does not exist", "The built-in judge is called “rules”, without a colon."
        )
    return RulesJudge()
