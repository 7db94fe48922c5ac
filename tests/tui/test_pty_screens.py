"""One real terminal, every screen by its keys, hostile text in all of them: byte for byte, only our own sequences."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.app.poisoned import poisoned
from tests.support.app.pty import PAYLOADS, TEXT, terminal

UP, DOWN, RIGHT, PAGE_DOWN, BACKSPACE = b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[6~", b"\x7f"
ESC = b"\x1b"
# (what is pressed one after another, a word of the screen it leads to)
WALK: tuple[tuple[tuple[bytes, ...], bytes], ...] = (
    ((b"j", b"D"), b"Delete the project"),
    ((ESC, b"i"), b"Import"),
    ((ESC, b":"), b"Go to projects"),
    ((ESC, b"r"), b"Runs"),
    ((b"j", b"\r"), b"Latest answers"),
    ((ESC, b"n"), b"New run"),
    ((DOWN, b"\r"), b"Judges"),
    ((ESC, ESC, ESC, b"a"), b"[leaderboard]"),
    ((b"\t",), b"[agreement]"),
    ((b"f",), b"confusion"),
    ((b"2", b"7", b"m"), b"question"),
    ((ESC, ESC, ESC, b"d"), b"Compare"),
    ((b"j", b"s", b"p"), b"[prompts]"),
    ((ESC, ESC, ESC, b"\r"), b"Read first"),
    ((b"t",), b"sort: attention"),
    ((b"\r", PAGE_DOWN, b"Q", b"v"), b"Override the verdict"),
    ((ESC, b"F"), b"Saved filters"),
    ((ESC, b"/", *(bytes([code]) for code in b"judge:")), b"judge:"),
)
# any CSI, OSC or other escape sequence, and what of them may be there
SEQUENCE = re.compile(r"\x1b(?:\[([0-?]*)([ -/]*[@-~])|\]([^\x07\x1b]*)(?:\x07|\x1b\\)|([^\[\]]))")
MODES = {"7", "25", "1000", "1002", "1003", "1004", "1006", "1015", "1016", "1049", "2004", "2026", "2048"}
CONTROL = re.compile("[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")


def test_only_our_own_sequences_come_out(project_db: Path) -> None:
    poisoned(project_db, TEXT)
    with terminal(project_db) as opened:
        for keys, word in WALK:
            opened.press(*keys[:-1])
            assert word in opened.press(keys[-1]), keys
        opened.press(ESC)
        before_copy = opened.written.tell()
        opened.press(b"y")
        raw = opened.written.getvalue()
    assert raw.count(b"PLANTED") > 50
    assert not [payload for payload in PAYLOADS if payload in raw]
    assert foreign(raw[:before_copy].decode()) == []
    copied = foreign(raw[before_copy:].decode())
    assert [said[:9] for said in copied] == ["OSC 52;c;"]


def foreign(text: str) -> list[str]:
    """The sequences and control characters that neither the app nor Textual would write."""
    found = []
    for parameters, final, command, other in SEQUENCE.findall(text):
        if command and not re.fullmatch(r"22;[a-z-]*", command):
            found.append(f"OSC {command[:20]}")
        elif final and not _ours(parameters, final):
            found.append(f"CSI {parameters}{final}")
        elif other and other not in "78=>c":
            found.append(f"ESC {other}")
    return found + CONTROL.findall(SEQUENCE.sub("", text))


def _ours(parameters: str, final: str) -> bool:
    if final in ("h", "l"):
        return parameters[:1] == "?" and parameters[1:] in MODES
    if final == "$p":
        return parameters[:1] == "?" and parameters[1:] in MODES
    if final in ("m", "H"):
        return re.fullmatch(r"[\d;]*", parameters) is not None
    return final == "u" and re.fullmatch(r">\d+|<", parameters) is not None
