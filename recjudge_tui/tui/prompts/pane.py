"""The text around a prompt: its row in the list, the titles of its pane, and the hints if the pane is empty."""

from __future__ import annotations

from rich.text import Text
from textual.content import Content

from recjudge_tui.domain.calls import estimate_prompt_tokens
from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.store.database import StoredRow
from recjudge_tui.tui.kit.glyphs import case_number, glyphs, number
from recjudge_tui.tui.kit.text_pane import Layout
from recjudge_tui.tui.prompts.jobs import CasePreview, PromptText
from recjudge_tui.tui.prompts.text import diff_content, rendered_content, toml_content

COLUMNS = (("prompt", 22), ("v", 3), ("protocol", 11), ("origin", 7), ("runs", 4))
_LONGEST_CAUSE = 2_000
_NEEDS = {
    "list": "a list of a user",
    "pair": "lists of two systems for one user",
    "explanation": "an explanation",
}
_IMPORT = {"explanation": "explanations"}


def prompt_label(row: StoredRow) -> str:
    return f"{one_line(row['name'], 40)}@{row['version']}"


def searched(row: StoredRow) -> str:
    """The text in which a filter searches."""
    return f"{row['name']}@{row['version']} {row['protocol']} {row['domain']} {row['origin']}".casefold()


def prompt_cells(row: StoredRow) -> list[Text]:
    own = row["origin"] != "shipped"
    return [
        Text(one_line(row["name"], 22)),
        Text(str(row["version"]), justify="right"),
        Text(one_line(row["protocol"], 11)),
        # shipped prompts cannot be lost; a user's own are marked by a word and bold text
        Text("yours" if row["origin"] == "user" else one_line(row["origin"], 7), "bold" if own else "dim"),
        Text(number(row["runs"]) if row["runs"] else glyphs().none, justify="right"),
    ]


def case_heading(shown: CasePreview) -> str:
    """`case 0000012 · user u7 · first als, then cooc`: the reader may know the systems, the judge never does."""
    case = shown.case
    if case is None:
        return ""
    dot = f" {glyphs().dot} "
    parts = [f"case {case_number(case['id'])}", f"user {one_line(case['user_id'], 20)}"]
    occasion = occasion_text(Occasion(case["context"], case["served_at"]))
    parts += [occasion] if occasion else []
    if shown.kind == "pair":
        systems = [one_line(case["system_a"], 16), one_line(case["system_b"], 16)]
        if shown.order == "ba":
            systems.reverse()
        return dot.join([*parts, f"first {systems[0]}, then {systems[1]}"])
    parts += [f"item {one_line(case['item_id'], 16)}"] if case["item_id"] else []
    return dot.join([*parts, f"by {one_line(case['system_a'], 16)}"])


def systems_of(shown: CasePreview) -> str:
    """The systems that the labels A and B mean, whatever the order shown; empty for other questions."""
    if shown.case is None or shown.kind != "pair":
        return ""
    return f"A is {one_line(shown.case['system_a'], 40)}, B is {one_line(shown.case['system_b'], 40)}"


def tokens_of(shown: CasePreview) -> str:
    if shown.request is None:
        return ""
    low, high = estimate_prompt_tokens(shown.request.messages)
    return f"{number(low)} to {number(high)} tokens"


def text_layout(shown: PromptText) -> Layout:
    """A prompt as a file, or a diff."""
    if shown.error is not None:
        return _error_layout(shown.error)
    if shown.lines is None:
        return lambda width: toml_content(shown.text, width)
    lines = shown.lines
    if not lines:
        return lambda _: Content("The two texts are the same. Press D to compare with another prompt.")
    return lambda width: diff_content(lines, width)


def case_layout(shown: CasePreview) -> Layout:
    """The text of a case, or why there is none."""
    request = shown.request
    if request is not None:
        return lambda width: rendered_content(request.messages, width, glyphs())
    if shown.error is not None:
        return _error_layout(shown.error)
    what, kind = _NEEDS.get(shown.kind, "a case"), _IMPORT.get(shown.kind, "lists")
    message = f"""This project has no case that this prompt can show.

It asks about {what}; a first run makes cases of what was imported.
q  goes back: there  i  imports {kind}, and  r  n  starts a run"""
    return lambda _: Content(message)


def _error_layout(error: RecjudgeError) -> Layout:
    parts = [(f"{glyphs().failed} {safe_text(error.title)}", "bold $error")]
    parts += [(f"\n\n{safe_text(error.cause[:_LONGEST_CAUSE])}", "")] if error.cause else []
    parts += [(f"\n\n{safe_text(error.next_step)}", "$accent")] if error.next_step else []
    return lambda _: Content.assemble(*parts)
