"""The judge that a command asks: the one of `--judge`, else the one that the settings file names."""

from __future__ import annotations

from recjudge_tui.cli.options import narrate
from recjudge_tui.domain.judge import JudgeSpec


def chosen_judge(
    spec: str | None, base_urls: tuple[str, ...], api_key_env: str, header_env: tuple[tuple[str, str], ...]
) -> JudgeSpec:
    """The judge with its address, key and headers. Those of the command line replace those of the settings.

    Raises UsageError if neither names a judge.
    """
    if spec is not None:
        return JudgeSpec(spec=spec, base_urls=base_urls, api_key_env=api_key_env, header_env=header_env)
    from recjudge_tui.config_file import config_path, default_judge

    default = default_judge()
    narrate(f"judge: {default.spec} ({config_path().name}:{default.line})")
    return JudgeSpec(
        spec=default.spec,
        base_urls=base_urls or default.base_urls,
        api_key_env=api_key_env or default.api_key_env,
        header_env=header_env,
    )
