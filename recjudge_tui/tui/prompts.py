"""The prompts of a project, rendered for its cases, their editor, and a prompt tried on one case."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from textual import events, on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Label, Static

from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.calls import Order, Request, Trial, estimate_prompt_tokens
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.material import CaseKind
from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.prompt import Prompt
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import NotFoundError, RecjudgeError, UsageError
from recjudge_tui.files import small_file
from recjudge_tui.prompting.drafts import StoredDraft, draft_findings, store_draft
from recjudge_tui.prompting.trial import request_now, try_prompt
from recjudge_tui.protocols.registry import protocol as protocol_named
from recjudge_tui.reports.changes import prompt_diff
from recjudge_tui.reports.judges import trial_table
from recjudge_tui.store.cases import Direction, showable_case
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import list_prompts, load_shipped, prompt_by_id, prompt_toml
from recjudge_tui.tui.dialogs import AskLine, Dialog, plain
from recjudge_tui.tui.judge_picker import (
    BUILT_IN,
    JudgePicker,
    KnownJudge,
    LocalJudges,
    address_texts,
    known_judges,
    local_judges,
    read_address,
)
from recjudge_tui.tui.row_list import Column, Reader, RowList
from recjudge_tui.tui.screens import (
    COMMON,
    FILTER,
    FORM,
    BaseScreen,
    ChoiceField,
    Host,
    ListScreen,
    choice_form,
)
from recjudge_tui.tui.texts import (
    call_facts,
    diff_content,
    error_content,
    part,
    request_content,
    toml_content,
)
from recjudge_tui.tui.widgets import (
    GLYPHS,
    LONGEST_TEXT,
    DialogHint,
    KeyLine,
    Layout,
    TopBar,
    case_number,
    number,
    score,
)

# ---- prompts -----------------------------------------------------------------------------------------------------


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


# ---- editing -----------------------------------------------------------------------------------------------------


_TITLES = {"wrong": "The prompt has a fault", "gone": "The file is gone", "given up": "Not stored"}


class EditingScreen(BaseScreen):
    """A screen that can open a prompt in the editor.

    No text is ever lost: a text that is not stored stays in its file.
    """

    def prompt_stored(self, name: str, version: int) -> None:
        """The edited text is stored as a prompt of this name and version; screens define what to do then."""
        raise NotImplementedError

    def edit_prompt(self, prompt_id: int, name: str) -> None:
        """Open a prompt in the editor; a valid, changed text is stored as a new version."""
        try:
            text = prompt_toml(prompt_by_id(self.host.db, prompt_id))
            editor_command()
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        self._edit(write_draft(text, name), text)

    def _edit(self, path: Path, original: str) -> None:
        """Give the terminal to the editor until it ends, then check its result."""
        try:
            code = run_editor(self.host, path)
        except SuspendNotSupported:
            self.host.show_error(
                RecjudgeError(
                    "an editor cannot be opened here",
                    "This terminal cannot be handed to another program.",
                    f"Edit {path} from another one, then “recjudge prompt add {path}”.",
                )
            )
            return
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        draft = check_draft(path, original, code)
        if draft.state == "unchanged":
            drop_draft(path)
            self.notify("You changed nothing, so nothing was stored.")
        elif draft.state == "fine":
            self._keep(draft)
        else:
            self.app.push_screen(DraftDialog(draft), partial(self._decided, draft=draft, original=original))

    def _decided(self, decision: str | None, draft: Draft, original: str) -> None:
        if decision == "edit":
            if draft.state == "gone":
                draft = draft._replace(path=write_draft(original, draft.path.stem))
            self._edit(draft.path, original)
        elif decision == "store":
            self._keep(draft)

    def _keep(self, draft: Draft) -> None:
        assert draft.prompt is not None
        job = partial(store_draft, prompt=draft.prompt)
        self.background.start("keep", job, partial(self._show_kept, draft.path))

    def _show_kept(self, path: Path, kept: StoredDraft) -> None:
        named = f"{kept.name}@{kept.version}"
        if kept.new:
            drop_draft(path)
            self.notify(f"Stored as {named}.", markup=False)
        else:
            why = f"{named} is the same prompt (comments, description and source do not count)"
            self.notify(f"Nothing was stored: {why}. Your text is kept in {path}",
                        severity="warning", timeout=15, markup=False)  # fmt: skip
        self.prompt_stored(kept.name, kept.version)


class DraftDialog(Dialog[str | None]):
    """The problems of a text that cannot be stored. Returns `edit`, `store`, or None to leave the file where it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e,enter", "dismiss('edit')", "edit again", key_display="e", id="draft.edit"),
        Binding("s", "dismiss('store')", "store it anyway", id="draft.store"),
        Binding("escape,q", "dismiss(None)", "leave it", key_display="esc", id="draft.leave"),
    ]

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self.draft = draft

    def compose(self) -> ComposeResult:
        draft = self.draft
        with Vertical(classes="dialog error") as box:
            box.border_title = Content(_TITLES.get(draft.state, "Prompt"))
            with VerticalScroll(classes="dialog-text"):
                for problem in draft.problems[:40]:
                    yield Static(plain(f"{GLYPHS.failed} {problem}"))
                more = len(draft.problems) - 40
                if more > 0:
                    yield Static(Content(f"and {more} more"))
            if draft.state != "gone":
                yield Static(
                    Content(f"Nothing is stored. The text is kept in {safe_text(draft.path)}"),
                    classes="error-step",
                )
            keys = ["e edit again", *(["s store it anyway"] if draft.prompt else []), "esc leave it"]
            yield DialogHint("   ".join(keys))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if parameters == ("store",):
            return self.draft.prompt is not None
        return super().check_action(action, parameters)


# ---- jobs --------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """The case to show: `case_id` itself, the case `times` before or after it, or the first one."""

    direction: Direction = "first"
    case_id: int = 0
    times: int = 1


class CasePreview(NamedTuple):
    """A prompt's text for a case. `order` is the shown order, `orders` all possible ones; without a case all is empty."""

    prompt_id: int
    case: StoredRow | None
    order: Order = ""
    orders: tuple[Order, ...] = ()
    request: Request | None = None
    kind: str = ""
    error: RecjudgeError | None = None


def listed(db: Database) -> list[StoredRow]:
    """Every version of every prompt, the newest of a name first."""
    load_shipped(db)
    return sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))


def read_text(db: Database, row: StoredRow, before: StoredRow | None = None) -> Layout:
    """A prompt as a file, or what differs from the one `before`, or why there is neither."""
    try:
        text = prompt_toml(prompt_by_id(db, row["id"]))
        if before is None:
            return lambda width: toml_content(text, width)
        older = prompt_toml(prompt_by_id(db, before["id"]))
    except RecjudgeError as error:
        fault = error_content(error)
        return lambda _: fault
    lines = prompt_diff(older, text, prompt_label(before), prompt_label(row))
    same = Content("The two texts are the same. Press D to compare with another prompt.")
    shown = diff_content(lines) if lines else same
    return lambda _: shown


def read_case(
    db: Database,
    project_id: int,
    prompt_id: int,
    step: Step | None,
    order: Order | None,
    places: Mapping[str, int],
) -> CasePreview:
    """The text of a prompt for a case of the project; at either end a step stays where it is.

    Without a step: the case of `places`, which has one for each kind of case, or else the first. Raises NotFoundError
    for a case number that this prompt cannot show.
    """
    try:
        prompt = prompt_by_id(db, prompt_id)
        rules = protocol_named(prompt.protocol)
    except RecjudgeError as error:
        return CasePreview(prompt_id, None, error=error)
    kind = rules.facts.unit
    case = _stepped(db, project_id, kind, step or Step("at", places.get(kind, 0)))
    if case is None and step is not None and step.direction == "at":
        raise NotFoundError(
            f"prompt “{prompt.name}” cannot show case {step.case_id}",
            f"It needs a case of kind {kind} of this project, with its lists or text.",
        )
    case = case or showable_case(db, project_id, kind, "at", places.get(kind, 0))
    case = case or showable_case(db, project_id, kind)
    if case is None:
        return CasePreview(prompt_id, None, kind=kind)
    chosen = order if order in rules.orders and order is not None else rules.orders[0]
    shown = CasePreview(prompt_id, case, chosen, rules.orders, kind=kind)
    try:
        return shown._replace(request=request_now(db, prompt, case["id"], chosen))
    except RecjudgeError as error:
        return shown._replace(error=error)


def _stepped(db: Database, project_id: int, kind: CaseKind, step: Step) -> StoredRow | None:
    case_row, here = None, step.case_id
    for _ in range(step.times):
        row = showable_case(db, project_id, kind, step.direction, here)
        if row is None:
            break
        case_row, here = row, row["id"]
    return case_row


# ---- pane --------------------------------------------------------------------------------------------------------


_NEEDS = {
    "list": "a list of a user",
    "pair": "lists of two systems for one user",
    "explanation": "an explanation",
}
_IMPORT = {"explanation": "explanations"}


def prompt_label(row: StoredRow) -> str:
    return f"{one_line(row['name'], 40)}@{row['version']}"


def case_heading(shown: CasePreview) -> str:
    """`case 0000012 · user u7 · first als, then cooc`: the reader may know the systems, the judge never does."""
    case = shown.case
    if case is None:
        return ""
    dot = f" {GLYPHS.dot} "
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


def case_layout(shown: CasePreview) -> Layout:
    """The text of a case, or why there is none."""
    if shown.request is not None:
        content = request_content(shown.request.messages)
    elif shown.error is not None:
        content = error_content(shown.error)
    else:
        what, kind = _NEEDS.get(shown.kind, "a case"), _IMPORT.get(shown.kind, "lists")
        content = Content(
            f"""This project has no case that this prompt can show.

It asks about {what}; a first run makes cases of what was imported.
q  goes back: there  i  imports {kind}, and  r  n  starts a run"""
        )
    return lambda _: content


# ---- list --------------------------------------------------------------------------------------------------------


class PromptList(RowList[StoredRow]):
    BINDINGS: ClassVar[list[BindingType]] = [
        # the list's own `enter`, shown in the footer
        Binding("enter", "open", "read", key_display="enter", id="prompts.open")
    ]

    def __init__(self) -> None:
        columns: tuple[Column[StoredRow], ...] = (
            Column("prompt", lambda row, _: (row["name"], ""), 30, 12),
            Column("v", lambda row, _: (str(row["version"]), ""), 3),
            Column("protocol", lambda row, _: (row["protocol"], ""), 11, 6),
            # shipped prompts cannot be lost
            Column("origin", _origin, 7),
            Column("runs", lambda row, _: (number(row["runs"]) if row["runs"] else GLYPHS.none, ""), 4, 4),
        )
        super().__init__(columns, lambda row: row["id"])


def _origin(row: StoredRow, _: int) -> tuple[str, str]:
    return ("yours", "") if row["origin"] == "user" else (row["origin"], "dim")


# ---- screen ------------------------------------------------------------------------------------------------------


View = Literal["text", "case", "diff"]


class PromptsScreen(ListScreen, EditingScreen):
    """A list, and beside it the prompt under the cursor; in a narrow window, `enter` shows the prompt instead of the
    list."""

    CSS = """
    PromptsScreen #prompt { display: none; width: 1fr; border: round $primary; border-title-color: $accent; }
    PromptsScreen #prompt:focus { border: round $accent; }
    PromptsScreen.-wide #listed { width: 60; }
    PromptsScreen.-wide #prompt { display: block; }
    PromptsScreen.-reading #listed { display: none; }
    PromptsScreen.-reading #prompt { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "case", "text/case", key_display="tab", priority=True, id="prompts.case"),
        Binding("left", "step('previous')", "previous case", show=False, priority=True, id="prompts.previous"),
        Binding("right", "step('next')", "next case", show=False, priority=True, id="prompts.next"),
        Binding("number_sign", "number", "case by its number", show=False, key_display="#", id="prompts.number"),
        Binding("o", "order", "other order", show=False, id="prompts.order"),
        Binding("d", "diff", "diff", id="prompts.diff"),
        Binding("D", "diff_with", "diff with another prompt", show=False, id="prompts.diff_with"),
        Binding("E", "edit", "edit", id="prompts.edit"),
        Binding("T", "try", "try", id="prompts.try"),
        FILTER,
        *COMMON,
    ]  # fmt: skip
    LISTED = "Prompts"
    NOTHING = "No prompts yet."

    def __init__(
        self, project_id: int, prompt: tuple[str, int] | None = None, case: tuple[str, int] | None = None
    ) -> None:
        """With `prompt` (name, version) and `case` (kind, id) it opens on that prompt as it reads for that case."""
        super().__init__()
        self.project_id = project_id
        self.view: View = "text" if case is None else "case"
        self.case: CasePreview | None = None
        self.rows = PromptList()
        self._places: dict[str, int] = {} if case is None else dict([case])
        self._order: Order | None = None
        self._against: int | None = None
        self._select: tuple[str, int] | None = prompt
        self._seen = False
        self._ahead = 0

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Prompts")
        yield self.words("part of a name, protocol, domain or origin")
        with Horizontal():
            yield from self.listed()
            yield Reader(id="prompt")
        yield KeyLine()

    def on_mount(self) -> None:
        self._list()

    def on_resize(self) -> None:
        # the pane has just appeared beside the list and is empty
        self.call_after_refresh(self._show)

    # ---- the list

    def _list(self) -> None:
        self.background.start("list", listed, self._show_list)

    def _show_list(self, rows: list[StoredRow]) -> None:
        """The cursor goes to the version that was asked for, as soon as it is listed."""
        wanted = next((row["id"] for row in rows if (row["name"], row["version"]) == self._select), None)
        self.fill(rows, wanted)
        if wanted is not None and self.rows.cursor_id == wanted:
            self._select = None

    def fill(self, every: Sequence[StoredRow], anchor: int | None = None) -> None:
        super().fill(every, anchor)
        self._show()

    def searched(self, row: StoredRow) -> str:
        return f"{row['name']}@{row['version']} {row['protocol']} {row['domain']} {row['origin']}"

    @property
    def current(self) -> StoredRow | None:
        """The row of the prompt under the cursor."""
        return self.rows.cursor_row

    @on(RowList.Moved)
    def _moved(self) -> None:
        self._against = None
        self._show()

    # ---- the pane

    def _show(self) -> None:
        """Read the content of the pane for the prompt under the cursor; does nothing while the pane is hidden."""
        current, pane = self.current, self.query_one(Reader)
        self.refresh_bindings()
        if current is None:
            pane.border_title = Content("prompt")
            pane.show(lambda _: Content(""))
        elif not pane.display:
            return
        elif self.view == "case":
            self._read_case(None)
        else:
            before = self._before() if self.view == "diff" else None
            self.view = "text" if before is None else "diff"
            job = partial(read_text, row=current, before=before)
            self.background.start("pane", job, partial(self._show_text, current, before))

    def _show_text(self, row: StoredRow, before: StoredRow | None, layout: Layout) -> None:
        if self.current is None or self.current["id"] != row["id"]:
            return
        pane, self._seen = self.query_one(Reader), False
        title, about = prompt_label(row), one_line(row["description"] or "", 60)
        if before is not None:
            title, about = f"{prompt_label(before)} to {title}", "diff"
        pane.border_title, pane.border_subtitle = Content(one_line(title, 70)), Content(about)
        pane.show(layout)

    def _read_case(self, step: Step | None) -> None:
        if (current := self.current) is not None:
            job = partial(
                read_case,
                project_id=self.project_id,
                prompt_id=current["id"],
                step=step,
                order=self._order,
                places=dict(self._places),
            )
            self.background.start("pane", job, self._show_case)

    def _show_case(self, shown: CasePreview) -> None:
        current = self.current
        if current is None or shown.prompt_id != current["id"]:
            return
        # keep the scroll position from case to case
        before = self.case if self._shows_case() and self._seen else None
        stay = before is not None and before.prompt_id == shown.prompt_id
        self.case, self._seen, self._ahead = shown, True, 0
        if shown.case is not None:
            self._places[shown.kind] = shown.case["id"]
        pane = self.query_one(Reader)
        pane.border_title = Content(one_line(f"{prompt_label(current)} {case_heading(shown)}", 100))
        pane.border_subtitle = Content(self._case_hint(shown))
        pane.show(case_layout(shown), stay=stay)
        self.refresh_bindings()

    def _case_hint(self, shown: CasePreview) -> str:
        """The size of the text, and the keys of this view, for which the footer has no room."""
        wanted = ("prompts.previous", "prompts.next", "prompts.order")
        bindings = {
            active.binding.id: active.binding for active in self.active_bindings.values() if active.enabled
        }
        keys = [self.app.get_key_display(bindings[name]) for name in wanted if name in bindings]
        hints = [f"{' '.join(keys[:2])} case"] if len(keys) > 1 else []
        hints += [f"{keys[2]} order"] if len(keys) > 2 else []
        if shown.request is not None:
            low, high = estimate_prompt_tokens(shown.request.messages)
            hints.append(f"{number(low)} to {number(high)} tokens")
        return "  ".join(hints)

    @on(RowList.Opened)
    def _read(self) -> None:
        self._open_pane()
        self._show()

    def _open_pane(self) -> None:
        self.add_class("-reading")
        self.query_one(Reader).focus()

    def _turn_to(self, view: View) -> None:
        """Change the view of the pane, and open the pane if only the list is visible."""
        self.view = view
        if not self.query_one(Reader).display:
            self._open_pane()
        self._show()

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return super().check_action(action, parameters)
        if action in ("case", "diff", "diff_with", "edit", "try"):
            return self.current is not None
        if action in ("step", "number"):
            return self._shows_case()
        if action == "order":
            return self._shows_case() and self.case is not None and len(self.case.orders) > 1
        if action == "filter" and self.has_class("-reading"):
            return False
        return super().check_action(action, parameters)

    def _shows_case(self) -> bool:
        seen = self.view == "case" and self.query_one(Reader).display
        return seen and self.case is not None and self.case.case is not None

    def action_case(self) -> None:
        self._turn_to("text" if self.view == "case" else "case")

    def action_step(self, direction: Literal["next", "previous"]) -> None:
        if self.case is not None and self.case.case is not None:
            # keys may arrive faster than texts are rendered
            self._ahead += 1 if direction == "next" else -1
            towards: Direction = "next" if self._ahead > 0 else "previous" if self._ahead else "at"
            self._read_case(Step(towards, self.case.case["id"], max(abs(self._ahead), 1)))

    def action_number(self, typed: str = "") -> None:
        self.app.push_screen(AskLine("Case", "The number of a case of this project", typed), self._go_to_case)

    def on_key(self, event: events.Key) -> None:
        if (
            event.character
            and event.character.isdecimal()
            and self._shows_case()
            and not isinstance(self.focused, Input)
        ):
            event.stop()
            self.action_number(event.character)

    def _go_to_case(self, wanted: str | None) -> None:
        if wanted is None:
            return
        digits = wanted.lstrip("#")
        if digits.isascii() and digits.isdecimal() and len(digits) < 16:
            self._read_case(Step("at", int(digits)))
        else:
            self.host.show_error(UsageError(f"“{one_line(wanted, 40)}” is not the number of a case"))

    def action_order(self) -> None:
        if self.case is not None and len(self.case.orders) > 1:
            orders = self.case.orders
            self._order = orders[(orders.index(self.case.order) + 1) % len(orders)]
            self._read_case(None)

    def action_diff(self) -> None:
        if self.view == "diff":
            self._turn_to("text")
        elif self._before() is None:
            self.action_diff_with()
        else:
            self._turn_to("diff")

    def _before(self) -> StoredRow | None:
        """The prompt to compare with: the chosen one, or else the previous version."""
        current = self.current
        if current is None:
            return None
        if self._against is not None:
            return next((row for row in self.every if row["id"] == self._against), None)
        older = [r for r in self.every if r["name"] == current["name"] and r["version"] < current["version"]]
        return older[0] if older else None

    def action_diff_with(self) -> None:
        current = self.current
        if current is None:
            return
        others = [row for row in self.every if row["id"] != current["id"]]
        # prompts of the same protocol first, because comparisons with other protocols are rarely useful
        others.sort(key=lambda row: row["protocol"] != current["protocol"])
        field = ChoiceField("prompt", "prompt", [(str(row["id"]), prompt_label(row)) for row in others], "")
        self.app.push_screen(choice_form(field, title="Compare with"), self._compare)

    def _compare(self, chosen: dict[str, str] | None) -> None:
        if chosen is not None:
            self._against = int(chosen["prompt"])
            self._turn_to("diff")

    def action_try(self) -> None:
        if (current := self.current) is not None:
            case = self.case.case if self._shows_case() and self.case else None
            at = Step("at", case["id"]) if case is not None else None
            self.app.push_screen(PromptTryScreen(self.project_id, current, at, self._order, self._places))

    def action_step_back(self) -> None:
        if self.has_class("-reading"):
            self.remove_class("-reading")
            self.rows.focus()
            self.refresh_bindings()
        else:
            self.action_leave()

    def action_edit(self) -> None:
        current = self.current
        if current is not None:
            self.edit_prompt(current["id"], current["name"])

    def prompt_stored(self, name: str, version: int) -> None:
        """Move the cursor to the new version as soon as it is listed."""
        self._select = (name, version)
        self._list()


# ---- trial -------------------------------------------------------------------------------------------------------


def trial_content(trial: Trial, whose: str) -> Content:
    """Answers and flags, or the error; what the call took; then the raw reply. `whose` says who A and B are."""
    table, reply = trial_table(trial, ""), trial.reply
    lines = [Content.styled(whose, "dim")] if whose and table.rows else []
    for row in table.rows:
        mark = GLYPHS.done if row["kind"] == "answer" else GLYPHS.marked
        value = f" ({score(row['value'])})" if isinstance(row["value"], float) else ""
        sure = "" if row["confidence"] is None else f"  confidence {row['confidence']:.2f}"
        named = (one_line(row["aspect"], 40), "bold"), "  ", (one_line(row["label"], 60), "bold $accent")
        lines.append(Content.assemble(f"{mark} ", *named, value, (sure, "dim")))
        lines.append(Content(f"  {safe_text(str(row['reasoning'] or '')[:LONGEST_TEXT]).expandtabs(4)}"))
    lines += [
        Content.styled(safe_text(note[:LONGEST_TEXT]).expandtabs(4), "$warning") for note in table.notes
    ]
    lines.append(call_facts(trial.attempts, trial.cost_usd, table.settings))
    if reply is not None:
        lines += [part("thinking", reply.thinking)] if reply.thinking else []
        lines.append(part("reply", reply.text))
    return Content("\n").join(lines)


# ---- trial -------------------------------------------------------------------------------------------------------


FIELDS = (
    ("judge", "judge", "rules, ollama:MODEL, openai:MODEL, … (enter: choose)"),
    *((name, option.label, option.hint) for name, option in ADDRESS_OPTIONS.items()),
)
_HINT = "f5  asks the judge about this case. This is one call, which may cost money; nothing is stored."


class PromptTryScreen(BaseScreen):
    """A prompt tried on one case: that of `at`, or else the first one that fits."""

    CSS = """
    PromptTryScreen #ask { height: 6; border: round $primary; border-title-color: $accent; padding: 0 1; }
    PromptTryScreen #answer { height: 1fr; border: round $primary; border-title-color: $accent; }
    PromptTryScreen #ask:focus-within, PromptTryScreen #answer:focus { border: round $accent; }
    PromptTryScreen .row { height: 1; }
    PromptTryScreen .row Label { width: 14; color: $text-muted; }
    PromptTryScreen .row Input { width: 1fr; background: $surface; }
    PromptTryScreen .row Input:focus { background: $primary 45%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "ask", "ask the judge", id="trial.ask"),
        Binding("f6", "flip", "other order", id="trial.order"),
        Binding("down", "field(1)", "next field", show=False, id="trial.down"),
        Binding("up", "field(-1)", "previous field", show=False, id="trial.up"),
        *FORM,
    ]

    def __init__(
        self,
        project_id: int,
        prompt: StoredRow,
        at: Step | None,
        order: Order | None,
        places: Mapping[str, int],
    ) -> None:
        super().__init__()
        self.project_id, self._prompt, self._at = project_id, prompt, at
        self.shown: CasePreview | None = None
        self.trial: Trial | None = None
        self._order, self._places = order, dict(places)
        self._known: tuple[KnownJudge, ...] = BUILT_IN
        self._local: tuple[KnownJudge, ...] = ()
        self._note = ""
        self._asking: threading.Event | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Prompts", "Try")
        with Vertical(id="ask") as box:
            box.border_title = Content(prompt_label(self._prompt))
            for name, label, hint in FIELDS:
                with Horizontal(classes="row"):
                    yield Label(Content(label))
                    yield Input(placeholder=hint, compact=True, select_on_focus=False, id=f"try-{name}")
        yield Reader(id="answer")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#try-judge", Input).focus()
        self._say("answer", Content.styled(_HINT, "dim"))
        self._find_case()
        job = partial(known_judges, project_id=self.project_id)
        self.background.start("judges", job, self._show_judges)

    def on_unmount(self) -> None:
        self._give_up()
        super().on_unmount()

    # ---- the case

    def _find_case(self) -> None:
        job = partial(
            read_case,
            project_id=self.project_id,
            prompt_id=self._prompt["id"],
            step=self._at,
            order=self._order,
            places=self._places,
        )
        self.background.start("case", job, self._show_case)

    def _show_case(self, shown: CasePreview) -> None:
        self.shown = shown
        title = f"{prompt_label(self._prompt)} {case_heading(shown)}"
        self.query_one("#ask").border_title = Content(one_line(title, 100))
        if shown.error is not None:
            self._say("answer", Content(one_line(shown.error, 2000)))
        elif shown.case is None:
            why = f"This project has no case of kind {shown.kind}, which this prompt needs."
            self._say("answer", Content(why))
        self.refresh_bindings()

    # ---- the judge

    def _show_judges(self, judges: tuple[KnownJudge, ...]) -> None:
        self._known = judges
        field = self.query_one("#try-judge", Input)
        if not field.value:
            self._take(self._known[0])

    def _take(self, judge: KnownJudge) -> None:
        for name, value in {"judge": judge.spec, **address_texts(judge.address)}.items():
            self.query_one(f"#try-{name}", Input).value = one_line(value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        if event.input.id != "try-judge":
            self.action_field(1)
            return
        # this job needs no database; its group lets a newer job replace it
        self.background.start("models", lambda _: local_judges(), self._show_models)
        self.app.push_screen(JudgePicker(self._judges(), self._note), self._picked)

    def _judges(self) -> list[KnownJudge]:
        return list(dict.fromkeys((*self._known, *self._local)))

    def _show_models(self, local: LocalJudges) -> None:
        self._local, self._note = local.judges, local.note
        if isinstance(self.app.screen, JudgePicker):
            self.app.screen.show(self._judges(), self._note)

    def _picked(self, judge: KnownJudge | None) -> None:
        if judge is not None:
            self._take(judge)

    def _spec(self) -> JudgeSpec:
        """The judge in the fields. Raises UsageError when there is none, and for an address that cannot be used."""
        texts = {name: self.query_one(f"#try-{name}", Input).value.strip() for name, _, _ in FIELDS}
        if not texts["judge"]:
            raise UsageError("no judge was given", next_step="Type one, or press enter to choose.")
        return read_address(texts).judge_named(texts["judge"])

    # ---- asking

    def action_ask(self) -> None:
        if self._asking is not None:
            return
        try:
            spec = self._spec()
            if self.shown is None or self.shown.case is None:
                raise NotFoundError(
                    "there is no case to ask about", "The project has no case that fits this prompt."
                )
        except RecjudgeError as error:
            self.host.show_error(error)
            return
        self._asking = threading.Event()
        job = partial(
            _try,
            prompt_id=self._prompt["id"],
            case_id=self.shown.case["id"],
            spec=spec,
            order=self.shown.order,
            cancelled=self._asking,
        )
        self._say("asking", Content.styled(f"asking {one_line(spec.spec, 60)}   esc cancels", "dim"))
        self.background.start("try", job, self._show_trial, self._trial_failed)
        self.refresh_bindings()

    def _trial_failed(self, error: RecjudgeError) -> None:
        if self._asking is not None:
            self._asking = None
            self.refresh_bindings()
            self._say("answer", Content.styled("no call was made", "dim"))
            self.host.show_error(error)

    def _show_trial(self, trial: Trial) -> None:
        if self._asking is None:
            return
        self._asking = None
        self.refresh_bindings()
        self.trial = trial
        self.query_one("#answer").border_title = Content("answer" if trial.parsed else "no answer")
        pane = self.query_one(Reader)
        whose = systems_of(self.shown) if self.shown is not None else ""
        pane.show(lambda _: trial_content(trial, whose))
        pane.focus()

    def _give_up(self) -> bool:
        """Cancel the current call; False if there is none."""
        if self._asking is None:
            return False
        self._asking.set()
        self._asking = None
        return True

    def _say(self, title: str, text: Content) -> None:
        pane = self.query_one(Reader)
        pane.border_title = Content(title)
        pane.show(lambda _: text)

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input) and action in ("app.show_keys", "leave"):
            return False
        if action == "ask":
            return self._asking is None
        if action == "flip":
            return self._asking is None and self.shown is not None and len(self.shown.orders) > 1
        return super().check_action(action, parameters)

    def action_field(self, by: int) -> None:
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def action_flip(self) -> None:
        if self.shown is not None and self.shown.orders:
            orders = self.shown.orders
            self._order = orders[(orders.index(self.shown.order) + 1) % len(orders)]
            self._find_case()

    def action_step_back(self) -> None:
        if self._give_up():
            self._say("answer", Content.styled(f"cancelled; nothing was stored\n\n{_HINT}", "dim"))
            self.refresh_bindings()
        else:
            self.action_leave()


def _try(
    db: Database, prompt_id: int, case_id: int, spec: JudgeSpec, order: Order, cancelled: threading.Event
) -> Trial:
    return try_prompt(db, prompt_by_id(db, prompt_id), case_id, spec, order, cancelled=cancelled)
