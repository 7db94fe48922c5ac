"""Prompt files being written: their faults with lines, and storing them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.errors import PromptError
from recjudge_tui.files import small_file
from recjudge_tui.protocols.lint import lint
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import (
    list_prompts,
    own_name,
    read_prompt,
    store_prompt,
    stored_version,
)

_IN_TEMPLATE = re.compile(r"In its (?:(system|user) text|part “(.+?)”), line (\d+)")
_BEGINS = r"^\s*{part}\s*=\s*('''|\"\"\"|'|\")(?P<rest>.*)$"
_TABLE = r"^\s*\[\s*{table}\s*\]"


class StoredDraft(NamedTuple):
    """The version that holds the text. `new` is False if it existed already."""

    name: str
    version: int
    new: bool


def draft_findings(path: Path) -> tuple[Prompt | None, list[str]]:
    """The prompt of a file, None if it is not one, and its faults as `FILE:LINE: fault`.

    The line is known for errors in the TOML and in templates.
    """
    try:
        prompt = read_prompt(path)
    except PromptError as error:
        return None, [" ".join(part for part in (f"{error.title}.", error.cause) if part)]
    return prompt, located_findings(path, prompt)


def located_findings(path: Path, prompt: Prompt) -> list[str]:
    """`lint` of a prompt read from `path`, each finding with the file and, where a template is at fault, its line."""
    text = small_file(path).decode("utf-8-sig", "replace")
    bare = lint(prompt.model_copy(update={"profile": None}))
    return [f"{path}{_line(text, finding, finding not in bare)}: {finding}" for finding in lint(prompt)]


def _line(text: str, finding: str, in_profile: bool) -> str:
    """`:LINE` of the file for a finding that names a line of a template; empty for any other."""
    named = _IN_TEMPLATE.search(finding)
    if named is None:
        return ""
    table = "parts" if named[2] else "profile" if in_profile else ""
    header = re.compile(_TABLE.format(table=table), re.M).search(text) if table else None
    key = re.escape(named[1] or named[2])
    begins = re.compile(_BEGINS.format(part=key), re.M).search(text, header.end() if header else 0)
    if begins is None:
        return ""
    # a line break right after the opening quotes is not part of the text
    own = 0 if begins["rest"].strip() else 1
    return f":{text.count(chr(10), 0, begins.start(1)) + own + int(named[3])}"


def store_draft(db: Database, prompt: Prompt) -> StoredDraft:
    """Store a user's prompt, and say whether that made a new version. A changed shipped one gets a name of its own."""
    known = {(row["name"], row["version"]) for row in list_prompts(db)}
    named = (
        prompt if stored_version(db, prompt) else prompt.model_copy(update={"name": own_name(prompt.name)})
    )
    name, version = store_prompt(db, named)
    return StoredDraft(name, version, (name, version) not in known)
