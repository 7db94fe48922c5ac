"""Prompts by name and version, their TOML, and the words of domains."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from recjudge_tui.config_file import lines_of_keys
from recjudge_tui.domain.domains import SHIPPED, Domain
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.text import quantity
from recjudge_tui.errors import NotFoundError, PromptError, UsageError
from recjudge_tui.files import parse_toml, small_file
from recjudge_tui.settings import config_dir, data_dir
from recjudge_tui.steps import Step
from recjudge_tui.store.database import Database, StoredRow, now

_SHOWN_PROBLEMS = 5


def read_prompt(path: Path) -> Prompt:
    """The prompt in a TOML file. Raises PromptError with the file, the line if known, and a next step."""
    _, content = toml_content(path, "a prompt")
    try:
        return Prompt.model_validate(content)
    except ValidationError as error:
        raise PromptError(f"{path}: not a prompt", _problems(error), step=Step("copy prompt")) from error


def load_shipped(db: Database) -> None:
    """Store the shipped prompts that the database does not have yet; writes nothing if it has all.

    What is stored as one of them and has another content, whatever digest stands beside it, is the user's from now on.
    """
    shipped = {(prompt.name, prompt.content_hash): prompt for prompt in _shipped_prompts()}
    stored = {
        (row["name"], row["digest"]): row
        for row in db.rows("SELECT id, name, version, digest, content FROM prompts")
    }
    changed = {
        stored[key]["id"]: digest
        for key in shipped.keys() & stored.keys()
        if stored[key]["content"] != shipped[key].model_dump_json()
        and (digest := _digest(stored[key])) != key[1]
    }
    missing = [prompt for key, prompt in shipped.items() if key not in stored or stored[key]["id"] in changed]
    if missing:
        with db.transaction():
            for prompt_id, digest in changed.items():
                db.execute("UPDATE prompts SET digest = ?, origin = 'user' WHERE id = ?", (digest, prompt_id))
            for prompt in missing:
                _ensure(db, prompt, "shipped")


def _digest(row: StoredRow) -> str:
    """The digest of a stored content; of an unreadable one, a text that is that of no other."""
    try:
        return _stored(row["name"], row["content"]).content_hash
    except PromptError:
        return f"unreadable {row['version']}"


Origin = Literal["shipped", "user", "earlier", "changed", "unreadable"]


class UsedPrompt(NamedTuple):
    """`name` is NAME@VERSION; `digest` is computed from the stored content. `origin`: `shipped`, this package's file;
    `user`; `earlier`, stored as shipped, but this package's file is another; `changed`, not that of the stored digest;
    `unreadable`, with an empty `digest`."""

    name: str
    digest: str
    origin: Origin


def used_prompt(db: Database, prompt_id: int) -> UsedPrompt:
    """Which text a stored prompt version is."""
    row = db.only("SELECT name, version, digest, origin FROM prompts WHERE id = ?", (prompt_id,))
    origin: Origin = "user" if row["origin"] == "user" else "earlier"
    try:
        digest = prompt_by_id(db, prompt_id).content_hash
    except PromptError:
        digest, origin = "", "unreadable"
    if digest in (file.content_hash for file in _shipped_prompts() if file.name == row["name"]):
        origin = "shipped"
    elif digest and digest != row["digest"]:
        origin = "changed"
    return UsedPrompt(f"{row['name']}@{row['version']}", digest, origin)


def _shipped_prompts() -> list[Prompt]:
    files = sorted(data_dir("prompts").glob("*.toml"))
    return [_shipped(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files]


@lru_cache(maxsize=64)
def _shipped(path: Path, _changed_ns: int, _size: int) -> Prompt:
    """A shipped prompt. Every plan asks for all of them, and reading the files takes 12 ms."""
    return read_prompt(path)


def add_prompt(db: Database, path: Path) -> tuple[str, int]:
    """Store the prompt of a file; returns (name, version). Known content keeps its version; new content becomes the next
    version. Raises PromptError, also for a new text under the name of a shipped prompt."""
    prompt = read_prompt(path)
    if prompt.name in shipped_names() and not stored_version(db, prompt):
        raise PromptError(
            f"{path}: “{prompt.name}” is a shipped prompt",
            "A changed text under its name would replace it in all later runs.",
            f'Give your prompt another name, such as name = "{own_name(prompt.name)}".',
        )
    return store_prompt(db, prompt)


def shipped_names() -> frozenset[str]:
    """The names of the shipped prompts, which are the names of their files."""
    return frozenset(path.stem for path in data_dir("prompts").glob("*.toml"))


def own_name(name: str) -> str:
    """The name under which a user's text made from the prompt `name` is stored: shipped prompts are never replaced."""
    return f"my-{name}" if name in shipped_names() else name


def store_prompt(db: Database, prompt: Prompt) -> tuple[str, int]:
    """Store a user's prompt as `add_prompt` does; returns (name, version)."""
    with db.transaction():
        return prompt.name, _ensure(db, prompt, "user")


def stored_version(db: Database, prompt: Prompt) -> int | None:
    """The version of the prompt's name that has its content; None if it is not stored."""
    sql = "SELECT version FROM prompts WHERE name = ? AND digest = ?"
    return db.found(sql, (prompt.name, prompt.content_hash))


def get_prompt(db: Database, wanted: str) -> tuple[int, int, Prompt]:
    """(id, version, prompt) of `NAME` (the newest version) or `NAME@VERSION`. Raises NotFoundError."""
    name, _, version = wanted.strip().partition("@")
    rows = db.rows("SELECT id, version, content FROM prompts WHERE name = ? ORDER BY version DESC", (name,))
    if not rows:
        names = db.column("SELECT DISTINCT name FROM prompts ORDER BY name")
        raise NotFoundError(f"no prompt “{name}”", f"Available: {', '.join(names) or 'none'}.")
    for row in rows:
        if "@" not in wanted or str(row["version"]) == version:
            return row["id"], row["version"], _stored(wanted, row["content"])
    versions = ", ".join(str(row["version"]) for row in reversed(rows))
    raise NotFoundError(f"no version “{version}” of prompt “{name}”", f"Available: {versions}.")


def prompt_by_id(db: Database, prompt_id: int) -> Prompt:
    """The prompt version with this id. Raises NotFoundError, or PromptError when it cannot be read."""
    sql = "SELECT name, version, content FROM prompts WHERE id = ?"
    row = db.only(sql, (prompt_id,), NotFoundError(f"no prompt with the id {prompt_id}"))
    return _stored(f"{row['name']}@{row['version']}", row["content"])


def list_prompts(db: Database) -> list[StoredRow]:
    """Every prompt version. Columns: id, name, version, protocol, domain, origin, description, created_at, runs."""
    sql = """SELECT p.id, p.name, p.version, p.protocol, json_extract(p.content, '$.domain') AS domain, p.origin,
               json_extract(p.content, '$.description') AS description, p.created_at,
               (SELECT count(*) FROM runs r WHERE r.prompt_id = p.id) AS runs
             FROM prompts p ORDER BY p.name, p.version"""
    return db.rows(sql)


def prompt_text(db: Database, wanted: str) -> str:
    """`NAME[@VERSION]` as a TOML file that reads back as the same prompt; raises NotFoundError."""
    return prompt_toml(get_prompt(db, wanted)[2])


def copy_prompt(db: Database, wanted: str, path: Path) -> str:
    """Write `NAME[@VERSION]` to a new TOML file that reads back as the same prompt under the file's name. Returns that
    name. Raises NotFoundError, or PromptError when the file is named like a shipped prompt, exists or cannot be written."""
    name = path.stem
    if name in shipped_names():
        raise PromptError(
            f"“{name}” is a shipped prompt",
            "The name of the copy is the name of its file.",
            f"Choose another name, such as {path.with_name(own_name(name) + path.suffix)}.",
        )
    prompt = get_prompt(db, wanted)[2]
    try:
        text = prompt_toml(Prompt.model_validate(prompt.model_dump() | {"name": name}))
    except ValidationError as error:
        raise PromptError(
            f"“{name}” cannot be the name of a prompt", _problems(error), "Choose another name for the file."
        ) from error
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise PromptError(
            f"{path} exists already", next_step="Name a file that does not exist yet."
        ) from error
    except OSError as error:
        raise PromptError(
            f"{path} cannot be written", f"{error.strerror}.", "Choose another place."
        ) from error
    return name


def delete_prompt(db: Database, wanted: str) -> list[int]:
    """Delete `NAME` with all its versions, or `NAME@VERSION`; returns the deleted versions. Raises NotFoundError, and
    PromptError for a shipped prompt and where a run or an annotation task uses a version."""
    get_prompt(db, wanted)
    name, _, version = wanted.strip().partition("@")
    sql = """SELECT p.id, p.version, p.origin, (SELECT count(*) FROM runs WHERE prompt_id = p.id) AS runs,
               (SELECT count(*) FROM annotation_tasks WHERE prompt_id = p.id) AS tasks
              FROM prompts p WHERE p.name = ?1 AND (?2 = '' OR p.version = ?2) ORDER BY p.version"""
    rows = db.rows(sql, (name, version))
    for row in rows:
        stored = f"“{name}@{row['version']}”"
        if row["origin"] == "shipped":
            raise PromptError(f"{stored} is a shipped prompt and cannot be deleted")
        if row["runs"] or row["tasks"]:
            counts = (quantity(row["runs"], "run"), quantity(row["tasks"], "annotation task"))
            users = " and ".join(text for text in counts if not text.startswith("0 "))
            raise PromptError(
                f"{stored} cannot be deleted",
                f"It was used by {users}, which would lose their prompt.",
                "Delete these first, or delete a version that is not used.",
            )
    with db.transaction():
        db.execute_many("DELETE FROM prompts WHERE id = ?", [(row["id"],) for row in rows])
    return [row["version"] for row in rows]


def _ensure(db: Database, prompt: Prompt, origin: str) -> int:
    """The version with this content; stores it if it is new. Call inside a transaction."""
    if (stored := stored_version(db, prompt)) is not None:
        return stored
    version = db.number("SELECT ifnull(max(version), 0) + 1 FROM prompts WHERE name = ?", (prompt.name,))
    db.add(
        "prompts", name=prompt.name, version=version, protocol=prompt.protocol, digest=prompt.content_hash,
        content=prompt.model_dump_json(), origin=origin, created_at=now(),
    )  # fmt: skip
    return version


@lru_cache(maxsize=32)
def _parsed(content: str) -> Prompt:
    return Prompt.model_validate_json(content)


def _stored(wanted: str, content: str) -> Prompt:
    try:
        return _parsed(content)
    except ValidationError as error:
        raise PromptError(
            f"the stored prompt “{wanted}” cannot be read", _problems(error), "Use another version of it."
        ) from error


def _problems(error: ValidationError) -> str:
    """The first problems as `labels.2.value: Input should be a valid number`, list entries counted from 1."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = []
    for problem in problems[:_SHOWN_PROBLEMS]:
        place = ".".join(str(at + 1) if isinstance(at, int) else at for at in problem["loc"])
        lines.append(": ".join(filter(None, (place, problem["msg"].removeprefix("Value error, ")))))
    more = len(problems) - len(lines)
    return "; ".join(lines) + (f"; and {more} more." if more > 0 else ".")


_RUN_PROMPTS = "SELECT DISTINCT prompt_id FROM runs WHERE project_id = ? AND protocol = ? ORDER BY prompt_id"


def run_prompts(db: Database, project_id: int, protocol: str) -> list[Prompt]:
    """The prompts of the runs of a protocol, oldest first."""
    return [prompt_by_id(db, number) for number in db.column(_RUN_PROMPTS, (project_id, protocol))]


def finer_labels(db: Database, project_id: int, protocol: str, aspect: str) -> dict[float, float]:
    """The value of each finer label of the project's prompts -> the value of the label that it rolls up to. A stored
    prompt that cannot be read any more has none: its verdicts stay as they are."""
    found: dict[float, float] = {}
    for number in db.column(_RUN_PROMPTS, (project_id, protocol)):
        try:
            labels = prompt_by_id(db, number).labels_of(aspect)
        except PromptError:
            continue
        value = {label.name: label.value for label in labels}
        found |= {label.value: value[label.rolls_up] for label in labels if label.rolls_up is not None}
    return found


def prompt_contents(db: Database) -> list[str]:
    """The content of every stored prompt, as JSON text."""
    return db.column("SELECT content FROM prompts")


# ---- domains -----------------------------------------------------------------------------------------------------


_WORD = re.compile(r"word “(?P<name>[^”]+)”")


def domain_named(name: str) -> Domain:
    """The domain of this name; a user's own domain takes precedence over a shipped one. Raises UsageError for an unknown
    name, PromptError with the file and the line for a file that is no domain."""
    files = _files()
    if name not in files:
        raise UsageError(
            f"no domain “{name}”",
            f"Available: {', '.join(files)}.",
            f"To add one, write its words to {_own() / 'NAME.toml'} (see the page prompts of the documentation).",
        )
    path = files[name]
    text, content = toml_content(path, "a domain")
    try:
        return Domain.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(map(str, fault["loc"]))
        what = fault["msg"].removeprefix("Value error, ")
        raise PromptError(
            f"{path}:{_line(text, place, what)}: not a domain",
            f"{place}: {what}." if place else f"{what}.",
            "Every domain has the same words; the page prompts of the documentation lists them.",
        ) from error


def domain_names() -> tuple[str, ...]:
    """The names of the shipped domains, then of the user's own."""
    return tuple(_files())


def _line(text: str, place: str, what: str) -> int:
    """The line of the word or field at fault, or of its table if it is missing."""
    word, lines = _WORD.search(what), lines_of_keys(text)
    key = word["name"] if word else place.rpartition(".")[2]
    return next((line for known, line in lines.items() if known[-1] == key), lines.get(("words",), 1))


def _files() -> dict[str, Path]:
    shipped = {name: data_dir("prompts") / "domains" / f"{name}.toml" for name in SHIPPED}
    return shipped | {path.stem: path for path in sorted(_own().glob("*.toml"))}


def _own() -> Path:
    return config_dir() / "domains"


# ---- toml --------------------------------------------------------------------------------------------------------


# characters that TOML forbids in a literal string, and the carriage return, which a TOML reader changes
_NOT_LITERAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|'''|'\Z")


def prompt_toml(prompt: Prompt) -> str:
    """TOML that `read_prompt` reads back as the same prompt, without defaults. Raises PromptError for null."""
    import tomlkit
    from tomlkit.items import String, StringType, Trivia

    def is_table(value: object) -> bool:
        return isinstance(value[0] if isinstance(value, list) and value else value, dict)

    def written(value: Any) -> Any:
        if value is None:
            raise PromptError("the prompt cannot be written as TOML", "TOML has no NoneType.")
        if isinstance(value, dict):
            # what follows a table would belong to it
            return {
                key: written(part)
                for key, part in sorted(value.items(), key=lambda entry: is_table(entry[1]))
            }
        if isinstance(value, list):
            return [written(part) for part in value]
        if isinstance(value, str) and "\n" in value and not _NOT_LITERAL.search(value):
            return String(StringType.MLL, value, f"\n{value}", Trivia())
        return value

    fields = prompt.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    return tomlkit.dumps(written(fields))


# ---- toml file ---------------------------------------------------------------------------------------------------


def toml_content(path: Path, what: str) -> tuple[str, dict[str, Any]]:
    """The text of a file and its parsed content; `what` says what the file should be. Raises PromptError with the file,
    the line if known, and a next step."""
    try:
        raw = small_file(path)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise PromptError(
            f"{path} cannot be read", f"{error.strerror}.", f"Name {what} file (TOML)."
        ) from error
    except UnicodeDecodeError as error:
        line_number = raw.count(b"\n", 0, error.start) + 1
        raise PromptError(
            f"{path}:{line_number}: not UTF-8 text", next_step="Save the file as UTF-8."
        ) from error
    try:
        return text, parse_toml(text)
    except ValueError as error:
        place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        line = (place.group(1) or str(len(text.splitlines()))) if place else ""
        fault = str(error)[: place.start()] if place else str(error)
        raise PromptError(
            f"{path}{':' + line if line else ''}: not valid TOML", f"{fault}.", "Correct that line."
        ) from error
    except RecursionError as error:
        raise PromptError(f"{path}: not {what}", "Its values are nested too deeply.") from error
