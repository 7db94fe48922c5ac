"""Which judge: those that this machine has, and the one that the user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from recjudge_tui.config_file import read_preferences
from recjudge_tui.domain.address import ADDRESS_OPTIONS
from recjudge_tui.domain.judge import JudgeAddress, JudgeSpec
from recjudge_tui.domain.text import one_line
from recjudge_tui.store.database import Database
from recjudge_tui.store.runs import project_judges
from recjudge_tui.tui.dialogs import AskLine, Dialog
from recjudge_tui.tui.widgets import DialogHint, Options, move_cursor

_SPEC_CELLS = 32
_NO_SERVER = (
    "No model server answers on this machine: Ollama, llama.cpp, vLLM, LM Studio. One way: ollama serve"
)


class KnownJudge(NamedTuple):
    """A judge to choose; `source` says where it comes from. A spec that ends in a colon still needs a model."""

    spec: str
    source: str
    address: JudgeAddress = JudgeAddress()

    @property
    def base_urls(self) -> tuple[str, ...]:
        return self.address.base_urls

    @property
    def is_whole(self) -> bool:
        return bool(self.spec) and not self.spec.endswith(":")


class LocalJudges(NamedTuple):
    """The judges found on this machine: the models of its servers, then the vendors whose keys are set. `places`:
    base URLs (none: the provider's default server) -> `Ollama localhost:11434 ✓ 2 models`, without the sign."""

    judges: tuple[KnownJudge, ...]
    places: dict[tuple[str, ...], str]
    note: str


BUILT_IN = (KnownJudge("rules", "built in, no model"), KnownJudge("random", "built in, a baseline"))
CONFIGURED = "your settings"
_ANOTHER = KnownJudge("", "type its name")


def known_judges(db: Database, project_id: int) -> tuple[KnownJudge, ...]:
    """The judge of the settings file, those used in the project before, then the built-in ones."""
    default = read_preferences().preferences.judge
    first = [_known(default.judge, CONFIGURED)] if default else []
    used = [
        _known(judge, "used before")
        for judge in project_judges(db, project_id)
        if judge.spec not in [known.spec for known in BUILT_IN]
    ]
    places = [(judge.spec, judge.base_urls) for judge in first]
    rest = [judge for judge in (*used, *BUILT_IN) if (judge.spec, judge.base_urls) not in places]
    return (*first, *rest)


def _known(judge: JudgeSpec, source: str) -> KnownJudge:
    return KnownJudge(judge.spec, source, JudgeAddress.of_words(judge.words))


def local_judges() -> LocalJudges:
    """Look for servers, model files and keys; takes up to a second, so call it in a worker."""
    from recjudge_tui.judges.http.keys import is_set
    from recjudge_tui.judges.local_servers import local_files, local_servers
    from recjudge_tui.judges.registry import built_in

    judges, places = [], {}
    servers = local_servers()
    for server in servers:
        count = len(server.judges)
        places[server.base_urls] = f"{server.name} {server.place}, {count} model{'' if count == 1 else 's'}"
        about = f"{server.name} {server.place}"
        judges += [
            KnownJudge(spec, f"{about} {details}".strip(), JudgeAddress(base_urls=server.base_urls))
            for spec, details in server.judges
        ]
    providers = built_in()
    if any(provider.form == "gguf:FILE" and provider.is_installed() for provider in providers):
        judges += [KnownJudge(file.spec, f"{file.place} {file.details}") for file in local_files(servers)]
    note = "" if judges else _NO_SERVER
    for provider in providers:
        variable = next((name for name in provider.key_variables if is_set(name)), "")
        if variable and provider.is_installed() and not provider.form.startswith("ollama:"):
            judges.append(KnownJudge(f"{provider.form.partition(':')[0]}:", f"{variable} is set"))
    return LocalJudges(tuple(judges), places, note)


class JudgePicker(Dialog[KnownJudge | None]):
    """Returns the chosen judge, or None. `note` says which judges could not be listed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", "close", key_display="esc", id="picker.close"),
        Binding("j", "move(1)", "down", show=False, id="picker.down"),
        Binding("k", "move(-1)", "up", show=False, id="picker.up"),
    ]

    def __init__(self, judges: Sequence[KnownJudge], note: str) -> None:
        super().__init__()
        self._judges = [*judges, _ANOTHER]
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Content("Judges")
            yield Options(*self._options(), id="known-judges", markup=False, compact=True)
            yield DialogHint(self._hint())

    def show(self, judges: Sequence[KnownJudge], note: str) -> None:
        """Show other judges while the list is open; the cursor stays on its judge."""
        rows = self.query_one(OptionList)
        current = self._judges[rows.highlighted] if rows.highlighted is not None else None
        self._judges, self._note = [*judges, _ANOTHER], note
        rows.clear_options()
        rows.add_options(self._options())
        if current in self._judges:
            rows.highlighted = self._judges.index(current)
        self.query_one(".dialog-hint", Static).update(Content(self._hint()))

    def action_move(self, rows: int) -> None:
        move_cursor(self.query_one(OptionList), rows)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        judge = self._judges[event.option_index]
        if judge.is_whole:
            self.dismiss(judge)
        else:
            self.app.push_screen(AskLine("Judge", _forms(), judge.spec), self._typed)

    def _typed(self, spec: str | None) -> None:
        if spec is not None:
            self.dismiss(KnownJudge(spec, "typed"))

    def _options(self) -> list[Option]:
        return [
            Option(
                Content.assemble(
                    set_cell_size(_shown(judge), _SPEC_CELLS),
                    (one_line(judge.source, 40), "dim"),
                )
            )
            for judge in self._judges
        ]

    def _hint(self) -> str:
        lines = [one_line(self._note, 200)] if self._note else []
        return "\n".join([*lines, "enter choose   esc close"])


def _forms() -> str:
    """How judges are written that are not chosen by their name alone."""
    from recjudge_tui.judges.registry import built_in

    return ", ".join(provider.form for provider in built_in() if ":" in provider.form)


def _shown(judge: KnownJudge) -> str:
    if judge.is_whole:
        return one_line(judge.spec, _SPEC_CELLS - 1)
    return f"{judge.spec}MODEL" if judge.spec else "another judge"


ADDRESS = tuple(ADDRESS_OPTIONS)


def address_texts(address: JudgeAddress) -> dict[str, str]:
    """The content of each field, by the name of its option."""
    return {name: " ".join(words) for name, words in address.words.items()}


def read_address(texts: Mapping[str, str]) -> JudgeAddress:
    """The address in the fields; commas and spaces separate words. Raises AddressError naming the option."""
    address = JudgeAddress.of_words({name: texts[name].replace(",", " ").split() for name in ADDRESS})
    address.check()
    return address
