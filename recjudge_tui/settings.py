"""The paths of the database, the settings, the cache and the shipped files."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def user_path(text: str) -> Path:
    """The path with `~` expanded as in a shell; `~name` stays as it is if there is no such user."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - pathlib raises RuntimeError for an unknown home


def database_path(option: str | None = None) -> Path:
    """The database file: the `--db` option, else `RECJUDGE_DB`, else the platform's data folder."""
    chosen = option or os.environ.get("RECJUDGE_DB")
    if chosen:
        return user_path(chosen)
    from platformdirs import user_data_path

    return user_data_path("recjudge", appauthor=False) / "recjudge.db"


def config_dir() -> Path:
    """The folder of the user's settings (config.toml, prices.toml): `RECJUDGE_CONFIG`, else the platform's."""
    chosen = os.environ.get("RECJUDGE_CONFIG")
    if chosen:
        return user_path(chosen)
    from platformdirs import user_config_path

    return user_config_path("recjudge", appauthor=False)


def data_dir(name: str) -> Path:
    """A shipped folder (`docs`, `migrations`, `prompts`, `sample_data`): in the wheel, else next to the package."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
