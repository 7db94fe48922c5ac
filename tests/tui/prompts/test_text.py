from __future__ import annotations

import pytest
from rich.cells import cell_len

from recjudge_tui.domain.calls import Answer, Flag, Message, ParsedReply, Reply, Request, Trial
from recjudge_tui.domain.text import one_line
from recjudge_tui.reports.judges import trial_table
from recjudge_tui.settings import data_dir
from recjudge_tui.tui.prompts import trial_content
from recjudge_tui.tui.texts import diff_content, request_content, toml_content
from tests.support.app.hostile import FORBIDDEN
from tests.support.hostile import HOSTILE

FILE = (data_dir("prompts") / "arena-media.toml").read_text(encoding="utf-8")


def test_every_shipped_file_is_shown_whole() -> None:
    for path in sorted(data_dir("prompts").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        lines = toml_content(text, 10_000).plain.split("\n")
        gutter = len(str(len(lines))) + 1
        assert [line[gutter:].rstrip() for line in lines] == [line.rstrip() for line in text.splitlines()]
        assert [int(line[:gutter]) for line in lines] == list(range(1, len(lines) + 1))


def test_a_narrow_pane_breaks_lines_beside_their_numbers() -> None:
    lines = toml_content(FILE, 40).plain.split("\n")
    assert max(map(cell_len, lines)) <= 40
    assert "".join(line[4:] for line in lines).replace(" ", "") == "".join(FILE.split("\n")).replace(" ", "")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_text(text: str) -> None:
    shown = [
        toml_content(f"x = '''{text}'''", 40),
        toml_content(text, 40),
        request_content([Message(role="system", content=text), Message(role="user", content=text)]),
        diff_content([f"+{text}", text]),
        trial_content(_trial(text), one_line(text, 60)),
        trial_content(_trial(text)._replace(parsed=None, error_kind=text, error=text), ""),
    ]
    for content in shown:
        assert not FORBIDDEN & set(content.plain)
        assert len(content.plain) < 160_000
    assert trial_table(_trial(text), text).rows


def test_a_long_text_is_cut_and_says_so() -> None:
    for content in (
        toml_content("x" * 1_000_000, 80),
        request_content([Message(role="user", content="y " * 500_000)]),
        diff_content(["+x"] * 100_000),
    ):
        assert len(content.plain) < 100_000
        assert "more characters" in content.plain


def test_a_diff_is_told_by_sign_and_colour() -> None:
    content = diff_content(("--- a", "+++ b", "@@ -1 +1 @@", "-old", "+new", " same"))
    assert content.plain.split("\n") == ["--- a", "+++ b", "@@ -1 +1 @@", "-old", "+new", " same"]
    assert {"$error", "$success", "$accent", "bold"} <= {str(span.style) for span in content.spans}


def _trial(text: str) -> Trial:
    parsed = ParsedReply(
        answers=(Answer(aspect=text, value=0.5, label=text, reasoning=text, confidence=0.25),),
        flags=(Flag(item_id=text, issue=text, reason=text),),
        parsed_by="json",
    )
    reply = Reply(text=text, thinking=text, model=text)
    request = Request(messages=(Message(role="user", content=text),), reply_schema={})
    return Trial(text, "judge", 1, "ab", request, 1, reply, parsed)
