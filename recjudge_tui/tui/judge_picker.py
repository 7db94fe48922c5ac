"""Which judge: those that this machine has, those used before, and the one that the user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from recjudge_tui.config_file import read_preferences
from recjudge_tui.domain.address import ADDRESS_OPTIONS, AddressError
from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec, KnownJudge, LocalJudges
from recjudge_tui.domain.options import Option
from recjudge_tui.domain.text import one_line
from recjudge_tui.judges.registry import takes_address
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import project_judges
from recjudge_tui.tui.dialogs import Choice, FieldError
from recjudge_tui.tui.row_list import Command, Palette
from recjudge_tui.tui.widgets import GLYPHS

_NO_SERVER = (
    "No model server answers on this machine: Ollama, llama.cpp, vLLM, LM Studio. One way: ollama serve"
)

BUILT_IN = (KnownJudge("rules", "built in, no model"), KnownJudge("random", "built in, a baseline"))


def known_judges(db: Database, project_id: int) -> list[KnownJudge]:
    """The judge of the settings file, then those used in the project before."""
    default = read_preferences().preferences.judge
    judges = [(default.judge, "your settings")] if default else []
    judges += [(judge, "used before") for judge in project_judges(db, project_id)]
    return [
        KnownJudge(judge.spec, source, JudgeAddress.of_words(judge.words))
        for judge, source in judges
        if source != "used before" or judge.spec not in [known.spec for known in BUILT_IN]
    ]


class JudgeField(Choice):
    """A choice among the known judges, to which those found on this machine are added as soon as they are; enter lists all
    of them, and takes another one. As long as the user has chosen none it is the first."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "list", "judges", id="judge.list")]

    def __init__(self, used: Sequence[KnownJudge], *, field_id: str) -> None:
        super().__init__([("", "")], field_id=field_id)
        self._used = list(used)
        self.local: LocalJudges | None = None
        self._is_chosen = False
        self._judges: dict[str, KnownJudge] = {}
        self._palette: Palette | None = None
        self._offer()

    def on_mount(self) -> None:
        # without what a server of another kind answers, the form works, too
        self.run_worker(self._look, thread=True, exit_on_error=False)

    def _look(self) -> None:
        from recjudge_tui.judges.local_servers import local_judges  # loads the HTTP client

        self.call_later(self._show_local, local_judges())

    @property
    def judge(self) -> KnownJudge:
        return self._judges[self.value]

    def asks_server(self) -> bool:
        return takes_address(JudgeSpec(spec=self.judge.spec))

    def about(self) -> str:
        """Where the judge was found."""
        if self.local is None:
            return "looking for servers" if self.asks_server() else self.judge.source
        if self.judge in self.local.judges:
            urls = self.judge.address.base_urls
            return f"{GLYPHS.done} {self.local.places.get(urls, self.judge.source)}"
        return self.judge.source

    def _offer(self) -> None:
        found = self.local.judges if self.local is not None else ()
        self._judges = {}
        for judge in (*self._used, *found, *BUILT_IN):
            self._judges.setdefault(judge.key, judge)
        whole = [(key, one_line(judge.spec, 60)) for key, judge in self._judges.items() if judge.is_whole]
        self.offer(whole)
        if not self._is_chosen:
            self.choose(whole[0][0])

    def _show_local(self, local: LocalJudges) -> None:
        self.local = local
        self._offer()
        self._say_changed()
        if self._palette is not None and self._palette.is_current:
            self._palette.offer(self._commands(), self._hint())

    def take(self, judge: KnownJudge) -> None:
        """Choose a judge for the user, which need not be one of those offered before."""
        self._is_chosen = True
        if judge.key not in self._judges:
            self._used.insert(0, judge)
            self._offer()
        self.choose(judge.key)
        # a message created by a parent, as after a dialog, would not reach the screen
        self.call_later(self._say_changed)

    def _take(self, chosen: str) -> None:
        self._is_chosen = True
        super()._take(chosen)

    def _say_changed(self) -> None:
        self.post_message(self.Changed(self, self.value))

    # ---- the list of all

    def action_list(self, typed: str = "") -> None:
        self._palette = Palette(self._commands(), "Judges", self._other, typed, self._hint())
        self.app.push_screen(self._palette, lambda command: command and command.run())

    def _hint(self) -> str:
        return _NO_SERVER if self.local is not None and not self.local.judges else "enter choose   esc close"

    def _commands(self) -> list[Command]:
        return [
            Command(one_line(judge.source, 40), one_line(judge.spec, 40) + ("" if judge.is_whole else GLYPHS.cut), "",
                    partial(self.take, judge) if judge.is_whole else partial(self.action_list, judge.spec))
            for judge in self._judges.values()
        ]  # fmt: skip

    def _other(self, spec: str) -> Command:
        return Command(
            "", f"“{one_line(spec, 60)}”", "as typed", partial(self.take, KnownJudge(spec, "typed"))
        )


JUDGE = Option(
    "judge", JudgeSpec, "← → choose; enter lists all judges, and takes another one.", label="judge"
)
ADDRESS = tuple(
    Option(name, str, option.hint, label=option.label, placeholder=option.placeholder, rare=True)
    for name, option in ADDRESS_OPTIONS.items()
)


def chosen_judge(given: Mapping[str, Any]) -> JudgeSpec:
    """The judge in the fields of a form. An address that is typed, with commas or spaces between words, replaces the one
    that the judge is known at. Raises FieldError."""
    known: KnownJudge = given["judge"]
    words = {name: (given.get(name) or "").replace(",", " ").split() for name in ADDRESS_OPTIONS}
    try:
        address = JudgeAddress.of_words(words) if any(words.values()) else known.address
        address.check()
    except AddressError as error:
        raise FieldError(error.option, error.title, error.cause, error.next_step) from error
    return address.judge_named(known.spec)
