"""Prompts being written: drafts checked and stored, and cases taken into a prompt as examples."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from recjudge_tui.domain.calls import Request
from recjudge_tui.domain.prompt import AspectSpec, Example, Prompt
from recjudge_tui.domain.protocols import compares_lists, protocol_facts
from recjudge_tui.errors import NotFoundError, PromptError, UsageError
from recjudge_tui.files import small_file
from recjudge_tui.prompting.trial import request_now
from recjudge_tui.protocols.lint import lint
from recjudge_tui.protocols.registry import analysis_field
from recjudge_tui.store.cases import showable_case
from recjudge_tui.store.database import Database
from recjudge_tui.store.histories import held_out
from recjudge_tui.store.prompts import (
    get_prompt,
    list_prompts,
    own_name,
    prompt_by_id,
    read_prompt,
    store_prompt,
    stored_version,
)
from recjudge_tui.store.verdicts import example_source

_IN_TEMPLATE = re.compile(r"In its (?:(system|user) text|part “(.+?)”), line (\d+)")
_BEGINS = r"^\s*{part}\s*=\s*('''|\"\"\"|'|\")(?P<rest>.*)$"
_TABLE = r"^\s*\[\s*{table}\s*\]"
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")


class StoredDraft(NamedTuple):
    """The version that holds the text. `new` is False if it existed already."""

    name: str
    version: int
    new: bool


class Draft(NamedTuple):
    """The file after editing. `prompt` is None if it holds no valid prompt; `problems` say why it is not to be stored."""

    path: Path
    prompt: Prompt | None = None
    problems: tuple[str, ...] = ()
    is_changed: bool = True


def write_draft(text: str, name: str) -> Path:
    """Write the text to a file in a new folder that only the user can read."""
    path = Path(tempfile.mkdtemp(prefix="recjudge-")) / f"{_NO_NAME.sub('-', name)[:60] or 'prompt'}.toml"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def check_draft(path: Path, original: str, exit_code: int) -> Draft:
    """Check the file after the editor ended."""
    try:
        text = small_file(path)
    except OSError as error:
        return Draft(path, None, (f"{path} cannot be read. {error.strerror}.",))
    if text == original.encode():
        return Draft(path, is_changed=False)
    prompt, problems = draft_findings(path)
    remark = [f"The editor ended with code {exit_code}, so its text was not used."] if exit_code else []
    return Draft(path, prompt, (*remark, *problems))


def drop_draft(path: Path) -> None:
    """Remove a draft that is stored or unchanged. Other files that the editor created there stay."""
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()


def draft_findings(path: Path) -> tuple[Prompt | None, list[str]]:
    """The prompt of a file, None if it is not one, and its faults as `FILE:LINE: fault`. The line is known for errors in
    the TOML and in templates."""
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


# ---- examples ----------------------------------------------------------------------------------------------------


_PLACE = re.compile(r"\d+\. ")
_PARSER = ImmutableSandboxedEnvironment()

Value = str | float
Flagged = Mapping[str, object]


def case_example(
    db: Database,
    prompt: Prompt,
    case_id: int,
    values: Mapping[str, Value],
    reasoning: str,
    flags: Sequence[Flagged] = (),
) -> Example:
    """A case as an example of a prompt.

    The texts shown are those of the case's own request, in the first order: `example.input.KEY` is the text between
    `<KEY>` and `</KEY>` there, numbered lines as a list. `values` give each aspect's label by its name (of the systems: A
    is `system_a`), the word of the reply, or its number; `reasoning` and `flags` (item: the place in the list, issue,
    reason) complete the reply.

    Raises UsageError for values that do not fit the prompt, PromptError where the prompt cannot take examples, NotFoundError
    where the case is not one for it."""
    keys = _keys(prompt)
    request = request_now(db, prompt, case_id)
    return Example(
        title=f"case {case_id}",
        input={key: _shown(prompt, request, key, case_id) for key in keys},
        reply=_reply(prompt, request, values, reasoning, flags),
    )


def with_examples(prompt: Prompt, examples: Sequence[Example]) -> Prompt:
    """A prompt with these examples beside its own. Raises PromptError for one that would not pass as a reply."""
    known = [(example.input, example.reply) for example in prompt.examples]
    new = [example for example in examples if (example.input, example.reply) not in known]
    longer = prompt.model_copy(update={"examples": (*prompt.examples, *new)})
    faults = [fault for fault in lint(longer) if fault not in lint(prompt)]
    if faults:
        raise PromptError(
            f"{', '.join(example.title for example in new)} cannot be an example of prompt “{prompt.name}”",
            " ".join(faults),
            "Change the values or the reasoning, or change the prompt.",
        )
    return longer


# cases that are looked at for examples
_MOST_CASES = 2_000


def examples_from_outcomes(
    db: Database, project_id: int, wanted: str, most: int = 4
) -> tuple[str, int, tuple[str, ...]]:
    """Add pairs of lists to the examples of a prompt whose users then took an item of one list and none of the other.

    What they took are the project's held-out events; the list with the item is the better one. Half of the examples
    favour each place. Returns the version that holds them (name, number) and the users whom they are about and whom no run
    with it should judge. Raises UsageError for a prompt that does not ask one question about two lists, and where no pair
    is decided in this way; and what `with_examples` raises.
    """
    _, _, prompt = get_prompt(db, wanted)
    if not compares_lists(prompt.protocol) or len(prompt.aspects) != 1:
        raise UsageError(
            f"outcomes cannot be examples of prompt “{prompt.name}”",
            "They say which of two lists had what the user took, and this prompt asks something else.",
            "Name a prompt of the protocol pairwise, such as pairwise-media.",
        )
    taken, lists = held_out(db, project_id), protocol_facts(prompt.protocol).list_names
    found: dict[str, list[tuple[str, Example]]] = {"A": [], "B": []}
    row = showable_case(db, project_id, "pair")
    for _ in range(_MOST_CASES):
        if row is None or all(len(examples) * 2 >= most for examples in found.values()):
            break
        events = [
            event
            for event in taken.get(row["user_id"], ())
            if event.context in ("", row["context"])
            and (event.value is None or event.value >= (event.mean or 1e-9))
        ]
        winner, title = _only_list_with(
            request_now(db, prompt, row["id"]), {event.item_id for event in events}
        )
        if (
            winner
            and len(found[winner]) * 2 < most
            and row["user_id"] not in {user for user, _ in found[winner]}
        ):
            reason = f"Afterwards this person chose “{title}”, which only {lists['AB'.index(winner)]} has."
            values = {prompt.aspects[0].name: winner}
            found[winner].append((row["user_id"], case_example(db, prompt, row["id"], values, reason)))
        row = showable_case(db, project_id, "pair", "next", row["id"])
    each = min(map(len, found.values())) or most
    chosen = [*found["A"][:each], *found["B"][:each]]
    if not chosen:
        raise UsageError(
            "no outcome can be an example",
            "No pair of lists has an item that its user took afterwards in one list only.",
            "Import what the users did after the lists were shown as held-out events.",
        )
    longer = with_examples(prompt, [example for _, example in chosen])
    name, version = store_prompt(db, longer.model_copy(update={"name": own_name(prompt.name)}))
    return name, version, tuple(dict.fromkeys(user for user, _ in chosen))


def _only_list_with(request: Request, items: Collection[str]) -> tuple[str, str]:
    """(A or B, a title) of the one list that has any of these items which the other has not; empty if not one."""
    slates = request.material.slates if request.material is not None else ()
    shown = [{item.item_id: item.title for item in slate.items} for slate in slates]
    if len(shown) != 2:
        return "", ""
    own = [[title for item, title in ours.items() if item in items and item not in other]
           for ours, other in (shown, shown[::-1])]  # fmt: skip
    if bool(own[0]) == bool(own[1]):
        return "", ""
    return ("A", own[0][0]) if own[0] else ("B", own[1][0])


def example_of_verdict(db: Database, verdict_id: int, reader: str) -> tuple[str, int]:
    """Make the case of a verdict an example with the answer of `reader`. Returns (name, version) of the prompt. The
    values are the reader's own on this case; an accepted verdict gives its own, with its reasoning and flags where the
    reader wrote no note. The reasoning is the reader's note on the verdict. The example is added to the newest version of
    the prompt that the verdict was made with, so several examples can be added one after another; of a shipped prompt, to
    the user's own copy of it; one that the prompt already has makes no new version. Raises UsageError if the reader gave no
    answer or no reason; NotFoundError; and what `case_example` and `with_examples` raise."""
    source = example_source(db, verdict_id, reader)
    if source.prompt_id is None:
        raise NotFoundError("this verdict has no prompt", "It was imported, not made by a run.")
    if not source.values:
        raise UsageError(
            "an example needs an answer of yours",
            f"“{reader}” has neither accepted nor overridden this verdict.",
            "Accept or override the verdict first.",
        )
    reasoning = source.note or source.reasoning
    if not reasoning:
        raise UsageError(
            "an example needs a reason",
            "The reply of an example shows the judge how to argue, and you have not written a reason.",
            "Add a note to this verdict that says why, then try again.",
        )
    prompt = prompt_by_id(db, source.prompt_id)
    # of a shipped prompt, the user's own copy where there is one
    own = own_name(prompt.name)
    if own != prompt.name and any(row["name"] == own for row in list_prompts(db)):
        _, _, prompt = get_prompt(db, own)
    aspects = {aspect.name for aspect in prompt.aspects}
    values = {aspect: label or value for aspect, (label, value) in source.values.items() if aspect in aspects}
    flags = _placed(request_now(db, prompt, source.case_id), source.flags)
    longer = with_examples(prompt, [case_example(db, prompt, source.case_id, values, reasoning, flags)])
    return store_prompt(db, longer.model_copy(update={"name": own}))


def _placed(request: Request, flags: Sequence[tuple[str, str, str]]) -> list[dict[str, object]]:
    """Flags with the item's place in the list, as a reply names it. Items no longer in the list are left out."""
    slates = request.material.slates if request.material is not None else ()
    places = {item.item_id: place for place, item in enumerate(slates[0].items, 1)} if slates else {}
    return [
        {"item": places[item_id], "issue": issue, "reason": reason}
        for item_id, issue, reason in flags
        if item_id in places
    ]


def _keys(prompt: Prompt) -> list[str]:
    """The parts of an example's input that the prompt's shared text shows. Raises PromptError when it shows none."""
    try:
        tree = _PARSER.parse(prompt.system)
    except TemplateError as error:
        raise PromptError(f"prompt “{prompt.name}” cannot be rendered", f"{error}.") from error
    if not any(name.name == "examples" for name in tree.find_all(nodes.Name)):
        own = (
            f"Write {{% for example in examples %}} … {{% endfor %}} into a copy of it (recjudge prompt copy "
            f"{prompt.name} FILE) and add that"
        )
        of_texts = protocol_facts(prompt.protocol).unit == "explanation"
        shown = "Show scored examples in a run: --shots one or personal, with --examples-from RATER. Or: "
        shots = shown if of_texts else ""
        raise PromptError(
            f"prompt “{prompt.name}” takes no examples",
            "Its system text has no loop over “examples”, so the judge would not see them.",
            f"{shots}{own}.",
        )
    return list(dict.fromkeys(_input_keys(tree)))


def _input_keys(tree: nodes.Template) -> Iterator[str]:
    """KEY of every `example.input.KEY` (or `["KEY"]`), whatever the loop calls its example."""
    for part in tree.find_all(nodes.Getattr):
        if isinstance(part.node, nodes.Getattr) and part.node.attr == "input":
            yield part.attr
    for item in tree.find_all(nodes.Getitem):
        if (
            isinstance(item.node, nodes.Getattr)
            and item.node.attr == "input"
            and isinstance(item.arg, nodes.Const)
        ):
            yield str(item.arg.value)


def _shown(prompt: Prompt, request: Request, key: str, case_id: int) -> str | list[str]:
    """The text between the tags of this name. Data cannot contain a tag, so the first pair is the right one."""
    text = request.messages[-1].content
    match = re.search(rf"<{re.escape(key)}>\n?(.*?)\n?</{re.escape(key)}>", text, re.DOTALL)
    if match is None:
        raise PromptError(
            f"prompt “{prompt.name}” cannot show case {case_id} as an example",
            f"Its examples show “{key}”, but its user text has no <{key}> to take it from.",
            f"Put that part of the user text between <{key}> and </{key}>, or rename it in the examples.",
        )
    lines = match[1].split("\n")
    others = [example.input[key] for example in prompt.examples if key in example.input]
    numbered = all(line.startswith(f"{place}. ") for place, line in enumerate(lines, 1))
    if isinstance(others[-1], list) if others else numbered:
        return [_PLACE.sub("", line, count=1) if numbered else line for line in lines]
    return match[1]


def _reply(
    prompt: Prompt, request: Request, values: Mapping[str, Value], reasoning: str, flags: Sequence[Flagged]
) -> dict[str, Any]:
    """The reply in the prompt's form, with its fields in the order of the schema."""
    unknown = sorted(set(values) - {aspect.name for aspect in prompt.aspects})
    missing = [aspect.name for aspect in prompt.aspects if aspect.name not in values]
    if unknown or missing:
        named = ", ".join(unknown or missing)
        raise UsageError(
            f"prompt “{prompt.name}” has no aspect {named}" if unknown else f"no value for {named}",
            f"Its aspects are {', '.join(aspect.name for aspect in prompt.aspects)}.",
        )
    reply: dict[str, Any] = {"reasoning": reasoning, "flagged_items": [dict(flag) for flag in flags]}
    reply |= {analysis_field(aspect): reasoning for aspect in prompt.aspects}
    reply |= {aspect.field: _word(prompt, aspect, values[aspect.name]) for aspect in prompt.aspects}
    return {name: reply[name] for name in request.reply_schema["required"] if name in reply}


def _word(prompt: Prompt, aspect: AspectSpec, value: Value) -> str | float | int:
    """How a reply spells this label or number."""
    if prompt.scale is not None:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not prompt.scale.low <= number <= prompt.scale.high:
            raise UsageError(
                f"“{value}” is not a value of {aspect.name}",
                f"It is a number from {prompt.scale.low:g} to {prompt.scale.high:g}.",
            )
        return number
    labels = prompt.labels_of(aspect.name)
    for label in labels:
        words = (label.name.casefold(), label.reply.casefold(), f"{label.value:g}")
        if value.strip().casefold() in words if isinstance(value, str) else value == label.value:
            return int(label.reply) if label.reply.isascii() and label.reply.isdigit() else label.reply
    raise UsageError(
        f"“{value}” is not a label of {aspect.name}",
        f"Its labels are {', '.join(label.name for label in labels)}.",
    )
