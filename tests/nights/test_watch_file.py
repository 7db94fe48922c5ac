"""The file of a watch: what it takes, and where its mistakes are."""

from __future__ import annotations

from pathlib import Path

import pytest

from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import InputError, UsageError
from recjudge_tui.nights.template import write_template
from recjudge_tui.nights.watch_file import read_watch

JUDGE = '[[judge]]\nspec = "rules"\nname = "n"\nprotocols = ["pointwise"]\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "w.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('project = "p"\n[[judge]\n', 2, "not valid TOML"),
        (JUDGE, 1, "project: is missing"),
        ('project = "p"\nspeed = 3\n', 2, "speed: there is no such setting"),
        ('project = "p"\n[[import]]\npaths = []\n', 3, "import.paths"),
        (
            'project = "p"\n[[import]]\npaths = ["a"]\n[[import]]\npaths = ["b"]\nas = "movies"\n',
            6,
            "import.as",
        ),
        ('project = "p"\n[[import]]\npaths = ["a"]\nmapping = "m.toml"\n', 2, "a mapping needs a kind"),
        (f'project = "p"\n{JUDGE}budget = -1\n', 6, "greater than 0"),
        (f'project = "p"\n{JUDGE}settings = {{ top_k = 0 }}\n', 2, "settings: top_k"),
        (f'project = "p"\n{JUDGE}settings = {{ budget_usd = 3 }}\n', 2, "write protocols and budget above"),
        (
            'project = "p"\n[[judge]]\nspec = "rules"\nname = "n"\nprotocols = ["guess"]\n',
            5,
            "no protocol “guess”",
        ),
        (
            'project = "p"\n[[judge]]\nspec = "rules"\nname = "n"\nprotocols = ["pairwise", "arena"]\n',
            5,
            "a second [[judge]] with another name",
        ),
        (
            f'project = "p"\n{JUDGE}header_env = {{ x = "sk-1-2" }}\n',
            2,
            "takes the name of an environment variable",
        ),
        (f'project = "p"\n{JUDGE}header_env = {{ Host = "VAR" }}\n', 2, "the header Host cannot be set"),
        (f'project = "p"\n{JUDGE}{JUDGE}', 1, "two judges have the same name"),
        ('project = "p"\n[gate]\nat_most = { failure_rate = 0.1 }\n', 1, "the gate needs a rater"),
        (f'project = "p"\n{JUDGE}[trend]\nfile = "t.csv"\nover = "year"\n', 8, "trend.over"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        read_watch(path)
    assert error.value.title.startswith(f"{path}:{line}: ")
    assert message in error.value.title


def test_every_mistake_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, f'project = "p"\nspeed = 1\n{JUDGE}colour = "red"\n')
    with pytest.raises(InputError) as error:
        read_watch(path)
    assert f"{path}:2: speed" in str(error.value)
    assert f"{path}:7: judge.colour" in str(error.value)


def test_a_judge_has_its_address(tmp_path: Path) -> None:
    address = (
        'base_urls = ["http://a/v1"]\napi_key_env = "MY_KEY"\nheader_env = { x-gateway = "GATEWAY_KEY" }\n'
    )
    (entry,) = read_watch(written(tmp_path, f'project = "p"\n{JUDGE}{address}')).judges
    assert entry.judge == JudgeSpec(
        spec="rules",
        base_urls=("http://a/v1",),
        api_key_env="MY_KEY",
        header_env=(("x-gateway", "GATEWAY_KEY"),),
    )


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="watch init"):
        read_watch(tmp_path / "none.toml")


def test_the_template_is_a_valid_file(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    write_template(path, 'shop "north"')
    watch = read_watch(path)
    assert watch.project == 'shop "north"'
    assert (watch.judges[0].protocols, watch.gate and watch.gate.at_most) == (
        ("pointwise", "pairwise"), {"failure_rate": 0.05},
    )  # fmt: skip
    assert watch.path("lists") == tmp_path / "lists"
    with pytest.raises(UsageError, match="exists already"):
        write_template(path, "other")
