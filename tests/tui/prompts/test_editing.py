from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from recjudge_tui.errors import UsageError
from recjudge_tui.prompting.drafts import check_draft, write_draft
from recjudge_tui.tui.dialogs import PickDialog
from recjudge_tui.tui.prompts import editor_command
from tests.support.app.driving import press, shown
from tests.support.app.prompts_screen import front, prompts, versions
from tests.support.app.pty import ended, terminal

# ---- editing

EDITOR = """
import sys
from pathlib import Path
what, path = sys.argv[1], Path(sys.argv[-1])
text = path.read_text(encoding="utf-8") if path.exists() else ""
count = path.parent.parent / "opened"
times = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (times + 1))
if what == "change":
    path.write_text(text.replace("You compare", "You weigh"), encoding="utf-8")
elif what == "describe":
    path.write_text("# mine\\n" + text, encoding="utf-8")
elif what == "break":
    path.write_text("nonsense\\n" + text, encoding="utf-8")
elif what == "unknown":
    path.write_text(text.replace("<set_1>\\n", "<set_1>{{ nix }}\\n"), encoding="utf-8")
elif what == "break_then_mend":
    broken = "nonsense\\n" + text.replace("You compare", "You weigh")
    path.write_text(text.removeprefix("nonsense\\n") if times else broken, encoding="utf-8")
elif what == "delete":
    path.unlink()
elif what == "delete_then_change":
    path.write_text(text.replace("You compare", "You weigh"), encoding="utf-8") if times else path.unlink()
elif what == "fail":
    path.write_text(text.replace("You compare", "You weigh"), encoding="utf-8")
    raise SystemExit(1)
elif what == "bytes":
    path.write_bytes(b"\\xff\\xfe" + text.encode())
"""


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`editor("change")` makes the editor one that does that; the app thinks it can be suspended."""
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    script = tmp_path / "an editor.py"
    script.write_text(EDITOR, encoding="utf-8")
    monkeypatch.setattr("tempfile.tempdir", str(drafts))
    monkeypatch.setattr("recjudge_tui.tui.app.RecjudgeApp.suspend", lambda _: nullcontext())

    def use(what: str) -> Path:
        monkeypatch.setenv("VISUAL", f'{sys.executable} "{script}" {what}')
        return drafts

    return use


def kept(drafts: Path) -> list[Path]:
    return sorted(drafts.glob("*/*.toml"))


async def test_a_change_becomes_a_version_of_the_users_own(
    project_db: Path, project: int, editor: Any
) -> None:
    drafts = editor("change")
    async with prompts(project_db, project, "pairwise-media") as (pilot, screen):
        await press(pilot, "E")
        assert versions(project_db, "pairwise-media") == [(1, "shipped")]
        assert versions(project_db, "my-pairwise-media") == [(1, "user")]
        assert "Stored as my-pairwise-media@1" in shown(pilot)
        current = screen.current
        assert (current["name"], current["version"]) == ("my-pairwise-media", 1)
    assert kept(drafts) == []
    assert [p for p in drafts.iterdir() if p.is_dir()] == []


@pytest.mark.parametrize(("what", "told", "storable"), [
    ("break", ":1: not valid TOML", False),
    ("unknown", "'nix' is undefined", True),
    ("fail", "ended with code 1", True),
    ("bytes", ":1: not UTF-8 text", False),
])  # fmt: skip
async def test_a_text_that_cannot_be_stored_is_not_lost(
    project_db: Path, project: int, editor: Any, what: str, told: str, storable: bool
) -> None:
    drafts = editor(what)
    async with prompts(project_db, project, "pairwise-media", (160, 50)) as (pilot, screen):
        await press(pilot, "E")
        assert isinstance(front(pilot), PickDialog)
        said = "".join(line.strip("│ ") for line in shown(pilot).splitlines())
        assert told.replace(" ", "") in said.replace(" ", "")
        assert str(kept(drafts)[0]).replace(" ", "") in said.replace(" ", "")
        assert ("store it anyway" in shown(pilot)) == storable
        if what == "unknown":
            lines = kept(drafts)[0].read_text(encoding="utf-8").splitlines()
            line = next(number for number, line in enumerate(lines, 1) if "{{ nix }}" in line)
            assert f".toml:{line}:" in said.replace(" ", "")
        await press(pilot, "s")
        if storable:
            assert versions(project_db, "my-pairwise-media") == [(1, "user")]
            assert kept(drafts) == []
        else:
            await press(pilot, "escape")
            assert kept(drafts)[0].stat().st_size > 1000
        assert front(pilot) is screen
        assert versions(project_db, "pairwise-media") == [(1, "shipped")]


@pytest.mark.parametrize("what", ["break_then_mend", "delete_then_change"])
async def test_it_can_be_edited_again(project_db: Path, project: int, editor: Any, what: str) -> None:
    drafts = editor(what)
    async with prompts(project_db, project, "pairwise-media") as (pilot, _):
        await press(pilot, "E")
        assert isinstance(front(pilot), PickDialog)
        assert versions(project_db, "pairwise-media") == [(1, "shipped")]
        await press(pilot, "e")
        assert "Stored as my-pairwise-media@1" in shown(pilot)
    assert versions(project_db, "my-pairwise-media") == [(1, "user")]
    assert kept(drafts) == []


def test_which_editor(tmp_path: Path) -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "nano"}) == ["code", "--wait"]
    assert editor_command({"VISUAL": "  ", "EDITOR": "nano"}) == ["nano"]
    vi = tmp_path / "vi"
    vi.write_text("#!/bin/sh\n")
    vi.chmod(0o755)
    assert editor_command({"PATH": str(tmp_path)}) == [str(vi)]
    with pytest.raises(UsageError, match="no editor"):
        editor_command({"PATH": str(tmp_path / "nowhere")})
    with pytest.raises(UsageError, match="EDITOR cannot be read"):
        editor_command({"EDITOR": 'nano "'})


def test_a_draft_is_readable_by_its_owner_only() -> None:
    path = write_draft("x = 1\n", "../../etc/\x1b[31mpasswd")
    assert path.parent.stat().st_mode & 0o077 == 0
    assert path.parent.name.startswith("recjudge-")
    assert path.name == "-etc-31mpasswd.toml"
    assert not check_draft(path, "x = 1\n", 1).is_changed


def test_the_terminal_goes_to_the_editor_and_comes_back(
    project_db: Path, project: int, tmp_path: Path
) -> None:
    """In a real terminal: the editor draws and reads keys itself, then the app is there again."""
    script = tmp_path / "editor.py"
    script.write_text(
        """
import sys
from pathlib import Path
path = Path(sys.argv[-1])
print("EDITOR-ASKS", sys.stdin.isatty(), sys.stdout.isatty(), flush=True)
word = input()
path.write_text(path.read_text(encoding="utf-8").replace("score the list", word), encoding="utf-8")
""",
        encoding="utf-8",
    )
    words = {"VISUAL": f'{sys.executable} "{script}"', "TMPDIR": str(tmp_path)}
    with terminal(project_db, **words) as opened:
        assert b"absolute-media" in opened.press(b"\r", b"p", b"g")
        child = opened.child
        child.send(b"E")
        child.expect(b"EDITOR-ASKS True True")
        child.send(b"weigh the list\r")
        child.expect(b"Stored as my-absolute-media@1")
        child.send(b"\x11")
        assert b"\x1b[?1049l" in ended(child)[1]
    assert versions(project_db, "my-absolute-media") == [(1, "user")]
    assert list(tmp_path.glob("recjudge-*")) == []
