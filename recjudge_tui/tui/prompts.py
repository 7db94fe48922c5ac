"""The prompts of a project, rendered for its cases, their editor, and a prompt tried on one case."""

from __future__ import annotations

import os
import shlex
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from textual import on
from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from recjudge_tui.domain.calls import Order, Trial, estimate_prompt_tokens
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.domain.occasions import Occasion, occasion_text
from recjudge_tui.domain.text import one_line, safe_text
from recjudge_tui.errors import NotFoundError, RecjudgeError, UsageError
from recjudge_tui.prompting import drafts
from recjudge_tui.prompting.trial import CasePreview, ask_judge, read_case
from recjudge_tui.reports.changes import prompt_diff
from recjudge_tui.reports.judges import trial_table
from recjudge_tui.store.cases import Direction, showable_case
from recjudge_tui.store.database import Database, StoredRow
from recjudge_tui.store.prompts import list_prompts, load_shipped, prompt_by_id, prompt_toml
from recjudge_tui.tui import texts, widgets
from recjudge_tui.tui.dialogs import AskLine, PickDialog
from recjudge_tui.tui.form import Form
from recjudge_tui.tui.judge_picker import ADDRESS, JUDGE, chosen_judge, known_judges
from recjudge_tui.tui.row_list import Column, Reader, RowList
from recjudge_tui.tui.screens import COMMON, FILTER, ChoiceField, ListScreen, choice_form

# ---- prompts -----------------------------------------------------------------------------------------------------


_FALLBACK = "vi"
_MOST_PROBLEMS = 40


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


def draft_dialog(draft: drafts.Draft) -> PickDialog:
    """The problems of a text that is not stored; returns `edit`, `store`, or None to leave the file where it is."""
    problems = [f"{widgets.GLYPHS.failed} {problem}" for problem in draft.problems[:_MOST_PROBLEMS]]
    more = len(draft.problems) - _MOST_PROBLEMS
    about = [*problems, *([f"and {more} more"] if more > 0 else [])]
    about.append(f"\nNothing is stored. The text is kept in {draft.path}")
    offered = {"e": ("edit", "edit again"), "s": ("store", "store it anyway")}
    if draft.prompt is None:
        del offered["s"]
    return PickDialog("The prompt is not stored", "\n".join(about), offered)


# ---- jobs --------------------------------------------------------------------------------------------------------


def listed(db: Database) -> list[StoredRow]:
    """Every version of every prompt, the newest of a name first."""
    load_shipped(db)
    return sorted(list_prompts(db), key=lambda row: (row["name"], -row["version"]))


def read_text(db: Database, row: StoredRow, before: StoredRow | None = None) -> widgets.Layout:
    """A prompt as a file, or what differs from the one `before`, or why there is neither."""
    try:
        text = prompt_toml(prompt_by_id(db, row["id"]))
        if before is None:
            return lambda width: texts.toml_content(text, width)
        older = prompt_toml(prompt_by_id(db, before["id"]))
    except RecjudgeError as error:
        fault = texts.error_content(error)
        return lambda _: fault
    lines = prompt_diff(older, text, prompt_label(before), prompt_label(row))
    same = Content("The two texts are the same.")
    shown = texts.diff_content(lines) if lines else same
    return lambda _: shown


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
    dot = f" {widgets.GLYPHS.dot} "
    parts = [f"case {widgets.case_number(case['id'])}", f"user {one_line(case['user_id'], 20)}"]
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


def case_content(shown: CasePreview, app: App[Any]) -> Content:
    """The text of a case, or why there is none."""
    if shown.request is not None:
        return texts.request_content(shown.request.messages)
    if shown.error is not None:
        return texts.error_content(shown.error)
    what, kind = _NEEDS.get(shown.kind, "a case"), _IMPORT.get(shown.kind, "lists")
    keys = "On the home of the project {home.import} imports " + kind + ", and {home.launch} starts a run."
    made = f"It asks about {what}; a first run makes cases of what was imported."
    return Content(
        f"This project has no case that this prompt can show.\n\n{made}\n{widgets.keyed(app, keys)}"
    )


# ---- list --------------------------------------------------------------------------------------------------------


_COLUMNS: tuple[Column[StoredRow], ...] = (
    Column("prompt", lambda row, _: (row["name"], ""), 30, 12),
    Column("v", lambda row, _: (str(row["version"]), ""), 3),
    Column("protocol", lambda row, _: (row["protocol"], ""), 11, 6),
    # shipped prompts cannot be lost
    Column("origin", lambda row, _: _origin(row), 7),
    Column(
        "runs", lambda row, _: (widgets.number(row["runs"]) if row["runs"] else widgets.GLYPHS.none, ""), 4, 4
    ),
)


def _origin(row: StoredRow) -> tuple[str, str]:
    return ("yours", "") if row["origin"] == "user" else (row["origin"], "dim")


# ---- screen ------------------------------------------------------------------------------------------------------


View = Literal["text", "case", "diff", "answer"]


class PromptsScreen(ListScreen):
    """A list, and beside it the prompt under the cursor; in a narrow window, `enter` shows the prompt instead of the
    list."""

    CSS = """
    PromptsScreen #prompt { display: none; width: 1fr; }
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
    LISTED = PLACE = "Prompts"
    WORDS = "part of a name, protocol, domain or origin"
    NOTHING = "No prompts yet."

    def __init__(
        self, project_id: int, prompt: tuple[str, int] | None = None, case: tuple[str, int] | None = None
    ) -> None:
        """With `prompt` (name, version) and `case` (kind, id) it opens on that prompt as it reads for that case."""
        super().__init__()
        self.project_id = project_id
        self.view: View = "text" if case is None else "case"
        self.case: CasePreview | None = None
        self.trial: Trial | None = None
        self.rows = RowList(_COLUMNS, lambda row: row["id"])
        self._places: dict[str, int] = {} if case is None else dict([case])
        self._order: Order | None = None
        self._against: int | None = None
        self._select: tuple[str, int] | None = prompt
        # set to cancel the call in flight
        self._asking: threading.Event | None = None

    def beside(self) -> Reader:
        return Reader(id="prompt")

    def on_mount(self) -> None:
        self._list()

    def on_unmount(self) -> None:
        self._give_up()
        super().on_unmount()

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
        self._give_up()
        self.view = "case" if self.view == "answer" else self.view
        self._show()

    # ---- the pane

    def _show(self) -> None:
        """Read the content of the pane for the prompt under the cursor; does nothing while the pane is hidden."""
        current, pane = self.current, self.query_one(Reader)
        self.refresh_bindings()
        if current is None:
            self._say("prompt", Content(""))
        elif not pane.display or self.view == "answer":
            return
        elif self.view == "case":
            self.background.start("pane", self._case_reader(), self._show_case)
        else:
            before = self._before() if self.view == "diff" else None
            self.view = "text" if before is None else "diff"
            job = partial(read_text, row=current, before=before)
            self.background.start("pane", job, partial(self._show_text, current, before))

    def _say(self, title: str, text: Content, about: str = "") -> None:
        pane = self.query_one(Reader)
        pane.border_title, pane.border_subtitle = Content(one_line(title, 100)), Content(about)
        pane.show(lambda _: text)

    def _show_text(self, row: StoredRow, before: StoredRow | None, layout: widgets.Layout) -> None:
        if self.current is None or self.current["id"] != row["id"]:
            return
        title, about = prompt_label(row), one_line(row["description"] or "", 60)
        if before is not None:
            title, about = f"{prompt_label(before)} to {title}", "diff"
        self._say(title, Content(""), about)
        self.query_one(Reader).show(layout)

    def _case_reader(self) -> Callable[[Database], CasePreview]:
        assert self.current is not None
        return partial(
            read_case,
            project_id=self.project_id,
            prompt_id=self.current["id"],
            order=self._order,
            places=dict(self._places),
        )

    def _show_case(self, shown: CasePreview) -> None:
        current, before = self.current, self.case
        if current is None or shown.prompt_id != current["id"] or self.view != "case":
            return
        self.case = shown
        if shown.case is not None:
            self._places[shown.kind] = shown.case["id"]
        pane = self.query_one(Reader)
        pane.border_title = Content(one_line(f"{prompt_label(current)} {case_heading(shown)}", 100))
        pane.border_subtitle = Content(self._case_hint(shown))
        # keep the scroll position from case to case
        content = case_content(shown, self.app)
        pane.show(lambda _: content, stay=before is not None and before.prompt_id == shown.prompt_id)
        self.refresh_bindings()

    def _case_hint(self, shown: CasePreview) -> str:
        """The size of the text, and the keys of this view, for which the footer has no room."""
        keys = [("prompts.previous", ""), ("prompts.next", "case")]
        keys += [("prompts.order", "order")] if len(shown.orders) > 1 else []
        hints = [widgets.key_hint(self.app, *keys)] if shown.case is not None else []
        if shown.request is not None:
            low, high = estimate_prompt_tokens(shown.request.messages)
            hints.append(f"{widgets.number(low)} to {widgets.number(high)} tokens")
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
        self.view, self.case = view, None
        if not self.query_one(Reader).display:
            self._open_pane()
        self._show()

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if isinstance(self.focused, Input):
            return super().check_action(action, parameters)
        if action in ("case", "diff", "diff_with", "edit", "try"):
            return self.current is not None and self._asking is None
        if action in ("step", "number"):
            return self._shows_case()
        if action == "order":
            return self._shows_case() and self.case is not None and len(self.case.orders) > 1
        if action == "filter" and self.has_class("-reading"):
            return False
        return super().check_action(action, parameters)

    def _shows_case(self) -> bool:
        return self.view == "case" and self.case is not None and self.case.case is not None

    def action_case(self) -> None:
        self._turn_to("text" if self.view == "case" else "case")

    def action_step(self, direction: Direction, case_id: int | None = None) -> None:
        """Show the case before or after the one shown, or `case_id`; at either end it stays."""
        if self.case is None:
            return
        # the place, because keys may arrive faster than texts are rendered
        kind = self.case.kind
        here = self._places[kind] if case_id is None else case_id
        row = showable_case(self.host.db, self.project_id, kind, direction, here)
        if row is not None:
            self._places[kind] = row["id"]
            self._show()
        elif case_id is not None:
            needs = f"It needs a case of kind {kind} of this project, with its lists or text."
            self.host.show_error(NotFoundError(f"this prompt cannot show case {case_id}", needs))

    def action_number(self) -> None:
        def go(wanted: str) -> None:
            digits = wanted.lstrip("#")
            if digits.isascii() and digits.isdecimal() and len(digits) < 16:
                self.action_step("at", int(digits))
            else:
                self.host.show_error(UsageError(f"“{one_line(wanted, 40)}” is not the number of a case"))

        self.ask(AskLine("Case", "The number of a case of this project"), go)

    def action_order(self) -> None:
        if self.case is not None and len(self.case.orders) > 1:
            orders = self.case.orders
            self._order = orders[(orders.index(self.case.order) + 1) % len(orders)]
            self._show()

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

        def compare(chosen: dict[str, str]) -> None:
            self._against = int(chosen["prompt"])
            self._turn_to("diff")

        self.ask(choice_form(field, title="Compare with"), compare)

    def action_step_back(self) -> None:
        if self._give_up():
            self._say("answer", Content.styled("cancelled; nothing was stored", "dim"))
        elif self.has_class("-reading"):
            self.remove_class("-reading")
            self.rows.focus()
            self.refresh_bindings()
        else:
            self.action_leave()

    # ---- trying it

    def action_try(self) -> None:
        """Choose a judge to ask about the case shown, or else about the first one."""
        if (current := self.current) is not None:
            shown = self.case if self._shows_case() else None
            where = (
                f"on case {widgets.case_number(shown.case['id'])}" if shown and shown.case else "on a case"
            )
            judge = JUDGE.but(help=f"One call, which may cost money; nothing is stored. {JUDGE.help}")
            judges = known_judges(self.host.db, self.project_id)
            title = f"{prompt_label(current)} {where}"
            self.ask(
                Form(title, (judge, *ADDRESS), {}, {"judge": judges}, "ask", chosen_judge), self._ask_judge
            )

    def _ask_judge(self, spec: JudgeSpec) -> None:
        if self.current is None:
            return
        self._asking = threading.Event()
        self._turn_to("answer")
        self._say("asking", Content.styled(f"asking {one_line(spec.spec, 60)}   esc cancels", "dim"))
        job = partial(ask_judge, spec=spec, read=self._case_reader(), cancelled=self._asking)
        self.background.start("try", job, self._show_trial, self._trial_failed)

    def _trial_failed(self, error: RecjudgeError) -> None:
        if self._give_up():
            self._say("answer", Content.styled("no call was made", "dim"))
            self.host.show_error(error)

    def _show_trial(self, answered: tuple[CasePreview, Trial]) -> None:
        if self._give_up():
            shown, self.trial = answered
            title = (
                f"{'answer' if self.trial.parsed else 'no answer'} {widgets.GLYPHS.dot} {case_heading(shown)}"
            )
            self._say(title, trial_content(self.trial, systems_of(shown)))

    def _give_up(self) -> bool:
        """Cancel the call in flight, or note that it has ended; False if there is none."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.set()
            self.refresh_bindings()
        return asking is not None

    # ---- editing: no text is ever lost, one that is not stored stays in its file

    def action_edit(self) -> None:
        """Open the prompt in the editor; a valid, changed text is stored as a new version."""
        if (current := self.current) is None:
            return
        try:
            text = prompt_toml(prompt_by_id(self.host.db, current["id"]))
            editor = editor_command()
        except RecjudgeError as error:
            self.host.show_error(error)
        else:
            self._edit(editor, drafts.write_draft(text, current["name"]), text)

    def _edit(self, editor: list[str], path: Path, original: str) -> None:
        """Give the terminal to the editor until it ends, then check its result."""
        try:
            code = self.host.lend([*editor, str(path)], draft=path)
        except (OSError, SuspendNotSupported) as error:
            what, why = (
                "an editor cannot be opened here",
                "This terminal cannot be handed to another program.",
            )
            if isinstance(error, OSError):
                what, why = f"the editor “{editor[0]}” cannot be started", f"{error.strerror or error}."
            step = f"Set EDITOR, or edit {path} from another terminal, then “recjudge prompt add {path}”."
            self.host.show_error(RecjudgeError(what, why, step))
            return
        draft = drafts.check_draft(path, original, code)
        if not draft.is_changed:
            drafts.drop_draft(path)
            self.notify("You changed nothing, so nothing was stored.")
        elif draft.problems:

            def decided(decision: str) -> None:
                if decision == "store":
                    self._keep(draft)
                    return
                if not draft.path.exists():
                    draft.path.write_text(original, encoding="utf-8", newline="\n")
                self._edit(editor, draft.path, original)

            self.ask(draft_dialog(draft), decided)
        else:
            self._keep(draft)

    def _keep(self, draft: drafts.Draft) -> None:
        assert draft.prompt is not None
        job = partial(drafts.store_draft, prompt=draft.prompt)
        self.background.start("keep", job, partial(self._show_kept, draft.path))

    def _show_kept(self, path: Path, kept: drafts.StoredDraft) -> None:
        """The cursor goes to the new version as soon as it is listed."""
        named = f"{kept.name}@{kept.version}"
        if kept.new:
            drafts.drop_draft(path)
            self.notify(f"Stored as {named}.", markup=False)
        else:
            why = f"{named} is the same prompt (comments, description and source do not count)"
            self.notify(f"Nothing was stored: {why}. Your text is kept in {path}",
                        severity="warning", timeout=15, markup=False)  # fmt: skip
        self._select = (kept.name, kept.version)
        self._list()


# ---- trial -------------------------------------------------------------------------------------------------------


def trial_content(trial: Trial, whose: str) -> Content:
    """Answers and flags, or the error; what the call took; then the raw reply. `whose` says who A and B are."""
    table, reply = trial_table(trial, ""), trial.reply
    lines = [Content.styled(whose, "dim")] if whose and table.rows else []
    for row in table.rows:
        mark = widgets.GLYPHS.done if row["kind"] == "answer" else widgets.GLYPHS.marked
        value = f" ({widgets.score(row['value'])})" if isinstance(row["value"], float) else ""
        sure = "" if row["confidence"] is None else f"  confidence {row['confidence']:.2f}"
        named = (one_line(row["aspect"], 40), "bold"), "  ", (one_line(row["label"], 60), "bold $accent")
        lines.append(Content.assemble(f"{mark} ", *named, value, (sure, "dim")))
        lines.append(
            Content(f"  {safe_text(str(row['reasoning'] or '')[: widgets.LONGEST_TEXT]).expandtabs(4)}")
        )
    lines += [
        Content.styled(safe_text(note[: widgets.LONGEST_TEXT]).expandtabs(4), "$warning")
        for note in table.notes
    ]
    lines.append(texts.call_facts(trial.attempts, trial.cost_usd, table.settings))
    if reply is not None:
        lines += [texts.part("thinking", reply.thinking)] if reply.thinking else []
        lines.append(texts.part("reply", reply.text))
    return Content("\n").join(lines)
