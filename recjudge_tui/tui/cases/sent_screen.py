"""Shows what was sent for one verdict and what came back, to read, copy or try again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from recjudge_tui.domain.text import money, one_line, quantity, safe_text
from recjudge_tui.store.database import Database
from recjudge_tui.tui.cases.output import ask_to_save, copy_text
from recjudge_tui.tui.kit.base_screen import COMMON, BaseScreen
from recjudge_tui.tui.kit.glyphs import Glyphs, case_number, glyphs, number
from recjudge_tui.tui.kit.key_line import KeyLine
from recjudge_tui.tui.kit.text_pane import LONGEST_PROMPT, TextPane
from recjudge_tui.tui.kit.top_bar import TopBar

if TYPE_CHECKING:
    from recjudge_tui.prompting.trial import SentCall, SentVerdict

_NONE = "No model was asked for this verdict: a person gave it, or it was imported or made from others."


class SentScreen(BaseScreen):
    """`SentScreen(project_id, verdict_id)`: every call behind a verdict, in both orders."""

    AUTO_FOCUS = "TextPane"
    CSS = """
    SentScreen TextPane { border: round $primary; border-title-color: $accent; height: 1fr; }
    .-ascii SentScreen TextPane { border: ascii $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "copy('text')", "copy text", id="sent.copy_text"),
        Binding("2", "copy('json')", "copy JSON", id="sent.copy_json"),
        Binding("3", "copy('curl')", "copy curl", id="sent.copy_curl"),
        Binding("Y", "save", "save", id="sent.save"),
        Binding("p", "prompt", "try the prompt", id="sent.prompt"),
        *COMMON,
    ]

    def __init__(self, project_id: int, verdict_id: int) -> None:
        super().__init__()
        self.project_id, self.verdict_id = project_id, verdict_id
        self.sent: SentVerdict | None = None

    def compose(self) -> ComposeResult:
        yield TopBar("recjudge", self.project_title(self.project_id), "Request and reply")
        yield TextPane()
        yield KeyLine()

    def on_mount(self) -> None:
        self.background.start("sent", partial(_read, verdict_id=self.verdict_id), self._show)

    def _show(self, sent: SentVerdict | None) -> None:
        self.sent, pane = sent, self.query_one(TextPane)
        if sent is None:
            pane.show(lambda _: Content.styled(_NONE, "dim"))
        else:
            prompt = "@".join(map(str, sent.prompt))
            dot = glyphs().dot
            parts = (f"case {case_number(sent.case_id)}", f"run {sent.run_id}", sent.judge, prompt)
            pane.border_title = Content(one_line(f" {dot} ".join(filter(None, parts)), 100))
            pane.show(lambda width: Content("\n").join(_content(sent, width, glyphs())))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("copy", "save", "prompt"):
            return self.sent is not None
        return super().check_action(action, parameters)

    def _text(self, form: str) -> str:
        from recjudge_tui.prompting.trial import sent_text

        return "" if self.sent is None else sent_text(self.sent, form)

    def action_copy(self, form: str) -> None:
        text = self._text(form)
        if not text:
            self.notify("This judge is not asked over HTTP, so there is no curl command.", markup=False)
            return
        copy_text(self, text)

    def action_save(self) -> None:
        hint = "A new file for the request and the reply; .json writes JSON, .sh curl commands, else text."
        ask_to_save(self, "Save", hint, f"sent-{self.verdict_id}.txt", self._file_text)

    def _file_text(self, path: Path) -> str:
        form = {".json": "json", ".sh": "curl"}.get(path.suffix.lower(), "text")
        return self._text(form) + "\n"

    def action_prompt(self) -> None:
        if self.sent is not None:
            of_case = (self.sent.unit, self.sent.case_id)
            self.open_screen("prompts", self.project_id, prompt=self.sent.prompt, case=of_case)


def _read(db: Database, verdict_id: int) -> SentVerdict | None:
    from recjudge_tui.prompting.trial import sent_verdict

    return sent_verdict(db, verdict_id)


def _content(sent: SentVerdict, width: int, symbols: Glyphs) -> Iterator[Content]:
    """The content. Replies come before requests, because prompts are long."""
    for call in sent.calls:
        rest = symbols.rule * max(width - len(call.title()) - 4, 0)
        yield Content.assemble(
            (f"{symbols.rule * 2} {one_line(call.title(), 60)} ", "bold $accent"), (rest, "dim")
        )
        yield Content.styled(_numbers(call, symbols), "dim")
        if call.state == "failed":
            kind = one_line(call.error_kind.replace("_", " "), 40)
            yield Content.assemble(
                (f"{symbols.failed} {kind}: ", "bold $error"), safe_text(call.error[:LONGEST_PROMPT])
            )
        yield from _part("reply", call.reply, symbols)
        if call.thinking:
            yield from _part("thinking", call.thinking, symbols)
        if call.request is None:
            yield Content.styled(
                f"The request cannot be rendered any more: {safe_text(call.fault)}", "$warning"
            )
            continue
        if call.same is False:
            yield Content.styled(
                f"{symbols.marked} This is not the request that was sent: its hash differs from the stored one.",
                "$warning",
            )
        for message in call.request.messages:
            yield from _part(f"sent, {message.role}", message.content, symbols)
        if call.parameters:
            given = ", ".join(f"{name} {value}" for name, value in call.parameters.items())
            yield Content.styled(f"with {one_line(given, 600)}", "dim")


def _part(name: str, text: str, symbols: Glyphs) -> Iterator[Content]:
    yield Content.styled(f"{symbols.crumb} {name}", "bold")
    yield Content(safe_text(text[:LONGEST_PROMPT]).expandtabs(4) or "(empty)")
    if len(text) > LONGEST_PROMPT:
        yield Content.styled(f"({number(len(text) - LONGEST_PROMPT)} more characters: Y saves all)", "dim")


def _numbers(call: SentCall, symbols: Glyphs) -> str:
    figures = call.numbers
    parts = [quantity(call.attempts, "attempt")]
    for name, unit in (
        ("tokens_in", "tokens in"),
        ("tokens_out", "out"),
        ("tokens_cached", "from its cache"),
        ("tokens_cache_written", "stored in its cache"),
    ):
        if (count := figures[name]) is not None:
            parts.append(f"{number(int(count))} {unit}")
    if (seconds := figures["latency_s"]) is not None:
        parts.append(f"{seconds:.2f} s")
    if (cost := figures["cost_usd"]) is not None:
        parts.append(money(cost))
    parts += ["a stored reply was used"] if call.cached else []
    parts += [f"parsed as {call.parsed_by}"] if call.parsed_by else []
    parts += [f"ended by {one_line(call.stop, 20)}"] if call.stop else []
    parts += [one_line(call.model, 40)] if call.model else []
    return f" {symbols.dot} ".join(parts)
