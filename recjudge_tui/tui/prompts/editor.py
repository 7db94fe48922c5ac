"""A prompt in the user's own editor, and the result."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import UsageError
from recjudge_tui.files import small_file
from recjudge_tui.prompting.drafts import draft_findings
from recjudge_tui.tui.kit.host import Host

_FALLBACK = "vi"
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class Draft(NamedTuple):
    """The file after editing. `prompt` is None if it holds no valid prompt; `problems` say why."""

    path: Path
    state: Literal["unchanged", "fine", "wrong", "gone", "given up"]
    prompt: Prompt | None = None
    problems: tuple[str, ...] = ()


def editor_command(environment: Mapping[str, str] | None = None) -> list[str]:
    """The editor's command line: from VISUAL, from EDITOR, or `vi` if it is on the PATH. Raises UsageError."""
    environment = os.environ if environment is None else environment
    for name in ("VISUAL", "EDITOR"):
        wanted = environment.get(name, "").strip()
        if wanted:
            try:
                return shlex.split(wanted)
            except ValueError as error:
                raise UsageError(
                    f"{name} cannot be read as a command", f"{error}.", f"Set {name} again."
                ) from error
    program = shutil.which(_FALLBACK, path=environment.get("PATH"))
    if program is None:
        raise UsageError(
            "there is no editor to open",
            "Neither VISUAL nor EDITOR is set, and vi is not on the PATH.",
            "Set the variable EDITOR to your editor (such as nano) and open recjudge again.",
        )
    return [program]


def write_draft(text: str, name: str) -> Path:
    """Write the text to a file in a new folder that only the user can read."""
    path = Path(tempfile.mkdtemp(prefix="recjudge-")) / f"{_NO_NAME.sub('-', name)[:60] or 'prompt'}.toml"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def run_editor(host: Host, path: Path) -> int:
    """Lend the terminal to the editor; its exit code. Raises UsageError when it cannot be started."""
    command = editor_command()
    try:
        return host.lend([*command, str(path)], draft=path)
    except OSError as error:
        raise UsageError(
            f"the editor “{command[0] if command else ''}” cannot be started",
            f"{error.strerror or error}.",
            "Set VISUAL or EDITOR to your editor (such as nano) and open recjudge again.",
        ) from error


def check_draft(path: Path, original: str, exit_code: int) -> Draft:
    """Check the file after the editor ended."""
    try:
        text = small_file(path)
    except FileNotFoundError:
        return Draft(path, "gone", None, ("The editor left no file behind; nothing is stored.",))
    except OSError as error:
        return Draft(path, "wrong", None, (f"{path} cannot be read. {error.strerror}.",))
    if text == original.encode():
        return Draft(path, "unchanged")
    prompt, problems = draft_findings(path)
    if exit_code:
        remark = f"The editor ended with code {exit_code}, so its text was not used."
        return Draft(path, "given up", prompt, (remark, *problems))
    return Draft(path, "wrong" if problems else "fine", prompt, tuple(problems))


def drop_draft(path: Path) -> None:
    """Remove a draft that is stored or unchanged. Other files that the editor created there stay."""
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
