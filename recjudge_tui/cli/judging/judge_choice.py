"""The judge that a command asks: the one of `--judge`, else the one that the settings file names."""

from __future__ import annotations

from recjudge_tui.cli.options import narrate
from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec


def chosen_judge(spec: str | None, address: JudgeAddress) -> JudgeSpec:
    """The judge at its address. The options of the command line replace those of the settings, each by itself.

    Either is this user's own word for sending its keys there. Raises UsageError if neither names a judge.
    """
    from recjudge_tui.judges.registry import trust_typed

    judge = _chosen(spec, address)
    trust_typed(judge)
    return judge


def _chosen(spec: str | None, address: JudgeAddress) -> JudgeSpec:
    if spec is not None:
        return address.judge_named(spec)
    from recjudge_tui.config_file import config_path, default_judge

    default = default_judge()
    narrate(f"judge: {default.judge.spec} ({config_path().name}:{default.line})")
    given = {name: value for name, value in address if value}
    return default.judge.model_copy(update=given)
