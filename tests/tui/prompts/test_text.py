from __future__ import annotations

from recjudge_tui.domain.calls import Message
from recjudge_tui.settings import data_dir
from recjudge_tui.tui.texts import diff_content, request_content, toml_content


def test_every_shipped_file_is_shown_whole() -> None:
    for path in sorted(data_dir("prompts").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        lines = toml_content(text, 10_000).plain.split("\n")
        gutter = len(str(len(lines))) + 1
        assert [line[gutter:].rstrip() for line in lines] == [line.rstrip() for line in text.splitlines()]
        assert [int(line[:gutter]) for line in lines] == list(range(1, len(lines) + 1))


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
