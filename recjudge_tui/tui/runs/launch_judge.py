"""The second question of the run form: the known judges, the servers found on this machine, and a test of the judge."""

from __future__ import annotations

from functools import partial
from typing import cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Label, Static

from recjudge_tui.domain.judge import Capabilities, JudgeSpec
from recjudge_tui.domain.text import one_line
from recjudge_tui.errors import RecjudgeError
from recjudge_tui.judges.registry import takes_address
from recjudge_tui.tui.kit.base_screen import BaseScreen
from recjudge_tui.tui.kit.choice import Choice
from recjudge_tui.tui.kit.glyphs import glyphs
from recjudge_tui.tui.kit.judge_picker import BUILT_IN, JudgePicker, KnownJudge, LocalJudges, local_judges
from recjudge_tui.tui.runs.launch_questions import JudgeChoice
from recjudge_tui.tui.runs.launch_request import tested_judge


class JudgeQuestion(Horizontal):
    """The judge and, beside it, a line about it. Posts `Choice.Changed` of its field `field-judge`."""

    DEFAULT_CSS = """
    JudgeQuestion #field-judge { width: auto; min-width: 16; max-width: 44; }
    JudgeQuestion #judge-about { width: 1fr; padding: 0 0 0 2; color: $text-muted; text-wrap: nowrap;
                                 text-overflow: ellipsis; }
    """

    def __init__(self, label: str) -> None:
        super().__init__(classes="row question", id="row-judge")
        self._label = label
        self._used: tuple[KnownJudge, ...] = ()
        self.local: LocalJudges | None = None
        self._is_chosen = False

    def compose(self) -> ComposeResult:
        yield Label(Content(self._label))
        yield JudgeChoice(field_id="field-judge")
        yield Static(id="judge-about")

    def on_mount(self) -> None:
        # this job needs no database
        self._screen.background.start("local", lambda _: local_judges(), self._show_local)

    @property
    def _screen(self) -> BaseScreen:
        return cast(BaseScreen, self.screen)

    @property
    def _field(self) -> JudgeChoice:
        return self.query_one(JudgeChoice)

    @property
    def judge(self) -> KnownJudge:
        return self._field.judge

    def asks_server(self) -> bool:
        return takes_address(JudgeSpec(spec=self.judge.spec))

    # ---- what there is to choose

    def offer_used(self, judges: tuple[KnownJudge, ...]) -> None:
        """Offer the judges used in the project before."""
        self._used = tuple(judge for judge in judges if judge not in BUILT_IN)
        self._offer()

    def _show_local(self, local: LocalJudges) -> None:
        self.local = local
        self._offer()
        if isinstance(self.app.screen, JudgePicker):
            self.app.screen.show(self.known(), local.note)

    def known(self) -> list[KnownJudge]:
        """The judges used before, those found on this machine, and the built-in ones."""
        here = self.local.judges if self.local is not None else ()
        places = {(judge.spec, judge.base_urls) for judge in self._used}
        local = [judge for judge in here if (judge.spec, judge.base_urls) not in places]
        used = [judge.spec for judge in self._used]
        return [*self._used, *local, *(judge for judge in BUILT_IN if judge.spec not in used)]

    def _offer(self) -> None:
        """Offer the judges known so far; the first one is chosen as long as the user has chosen none."""
        known = self.known()
        self._field.offer_judges(known)
        first = next(judge for judge in known if judge.is_whole)
        if not self._is_chosen and self.judge != first:
            self._field.take(first)
        self._show_about()

    @on(JudgeChoice.ListRequested)
    def _pick(self) -> None:
        note = self.local.note if self.local is not None else "looking for servers"
        self.app.push_screen(JudgePicker(self.known(), note), self._picked)

    def _picked(self, judge: KnownJudge | None) -> None:
        if judge is not None:
            self.take(judge)

    def take(self, judge: KnownJudge) -> None:
        """Choose a judge for the user."""
        self._is_chosen = True
        self._field.take(judge)

    @on(Choice.Changed)
    def _other(self) -> None:
        self._is_chosen = self._is_chosen or self._field.has_focus
        self._show_about()

    # ---- the line about it

    def _show_about(self) -> None:
        judge, about = self.judge, self.judge.source
        if self.local is None and self.asks_server():
            about = "looking for servers"
        elif self.local is not None and judge in self.local.judges:
            about = f"{glyphs().done} {self.local.places.get(judge.base_urls, judge.source)}"
        self._say(Content(one_line(about, 80)))

    def _say(self, text: Content) -> None:
        self.query_one("#judge-about", Static).update(text)

    def test(self, spec: JudgeSpec) -> None:
        """Ask the judge three small questions and say how it answered."""
        self._say(Content("testing with 3 calls"))
        self._screen.background.start(
            "test", partial(tested_judge, judge=spec), self._show_tested, self._test_failed
        )

    def _test_failed(self, error: RecjudgeError) -> None:
        self._say(Content.styled(f"{glyphs().failed} the test failed", "$error"))
        self._screen.host.show_error(error)

    def _show_tested(self, result: Capabilities) -> None:
        speed = "" if result.latency_s is None else f", {result.latency_s:.1f} s a call"
        schema = "" if result.schema_enforced else ", no schema enforced"
        failed = f", {len(result.problems)} failed" if result.problems else ""
        self._say(Content(f"{glyphs().done} answers{speed}{schema}{failed}"))
