from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.prompting.drafts import draft_findings
from recjudge_tui.settings import data_dir

PAIR = (data_dir("prompts") / "pairwise-media.toml").read_text(encoding="utf-8")
ARENA = (data_dir("prompts") / "arena-media.toml").read_text(encoding="utf-8")


def draft(folder: Path, text: str) -> Path:
    path = folder / "draft.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "marked", "told"), [
    (PAIR.replace("</set_1>\n\n", "</set_1>{{ nix }}\n\n"), "{{ nix }}", "'nix' is undefined"),
    (PAIR.replace("# Guidelines", "# Guidelines {{ nix }}"), "{{ nix }}", "'nix' is undefined"),
    (PAIR.replace("system = '''\n", "system = '''{{ nix }}\n"), "{{ nix }}", "'nix' is undefined"),
    (PAIR.replace("# Issue types\n", "# Issue types\n{% iff %}\n"), "{% iff %}", "iff"),
    (ARENA[::-1].replace("</user>"[::-1], "</user>{{ nix }}"[::-1], 1)[::-1], "{{ nix }}", "'nix' is undefined"),
], ids=["user", "system", "first_line", "syntax", "profile"])  # fmt: skip
def test_a_template_at_fault_is_shown_with_the_line_of_the_file(
    tmp_path: Path, text: str, marked: str, told: str
) -> None:
    path = draft(tmp_path, text)
    prompt, findings = draft_findings(path)
    line = next(n for n, line in enumerate(text.splitlines(), 1) if marked in line)
    assert prompt is not None
    assert findings[0].startswith(f"{path}:{line}: ")
    assert told in findings[0]
