from __future__ import annotations

import os
from pathlib import Path

import pytest

from recjudge_tui.config_file import (
    JudgeSetting,
    KeySetting,
    Preferences,
    Setting,
    config_path,
    default_judge,
    read_preferences,
    reader_name,
    save_theme,
)
from recjudge_tui.domain.judge import JudgeSpec
from recjudge_tui.errors import UsageError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path))
    return config_path()


def told(file: Path) -> list[str]:
    loaded = read_preferences()
    return [fault.sentence(loaded.path.name) for fault in loaded.faults]


def test_the_settings_of_the_file_apply(file: Path) -> None:
    file.write_text(
        '[app]\ntheme = "recjudge-light"\nreader = " Ada "\n\n[keys]\n"cases.filter" = "f"\n'
        'cases.sort = "s,f3"\n[keys.runs]\nnew = ["N", "f6"]\n',
        encoding="utf-8",
    )
    loaded = read_preferences()
    assert loaded.faults == ()
    assert loaded.preferences == Preferences(
        Setting("recjudge-light", 2),
        "Ada",
        (
            KeySetting("cases.filter", "f", 6),
            KeySetting("cases.sort", "s,f3", 7),
            KeySetting("runs.new", "N,f6", 9),
        ),
    )
    assert reader_name() == "Ada"


def test_the_environment_names_the_reader_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('[app]\nreader = "Ada"\n', encoding="utf-8")
    monkeypatch.setenv("RECJUDGE_READER", "Bea")
    assert reader_name() == "Bea"
    for name in ("  ", "a\nb", "n" * 61, "\x1b[31m"):
        monkeypatch.setenv("RECJUDGE_READER", name)
        with pytest.raises(UsageError, match="RECJUDGE_READER"):
            reader_name()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[app]\nthem = "x"\n', "config.toml:2: no setting “them” in [app]. Did you mean “theme”?"),
        ("[app]\ntheme = 3\n", "config.toml:2: “theme” must be text. Write theme"),
        ("\n[ap]\nx = 1\n", "config.toml:2: no section [ap]. Did you mean “app”?"),
        ('theme = "x"\n', "config.toml:1: no section [theme]. The sections are: [app], [run], [keys]."),
        ("keys = 3\n", "config.toml:1: “keys” is a section"),
        ('[keys]\n"cases.filter" = 7\n', "config.toml:2: “cases.filter” is not a key"),
        ('[app]\nreader = " "\n', "config.toml:2: the reader's name is empty"),
        ('[app]\n\nreader = "a\\u001b[31m"\n', "config.toml:3: the reader's name is too long or has"),
        ('[run]\njudg = "rules"\n', "config.toml:2: no setting “judg” in [run]. Did you mean “judge”?"),
        ("[run]\njudge = 3\n", "config.toml:2: “judge” must be text"),
        ('[run]\njudge = " "\n', "config.toml:2: “judge” is empty"),
        ('[run]\nbase_url = "http://h"\n', "config.toml:1: [run] names no judge"),
        ('[run]\njudge = "rules"\nheader_env = "x=Y"\n', "config.toml:3: “header_env” must be a table"),
        ('[run]\njudge = "rules"\nbase_url = [1]\n', "config.toml:3: “base_url” must be text"),
        ("[app]\ntheme = \n", "config.toml:2: not valid TOML"),
        ('[app]\ntheme = "a"\ntheme = "b"\n', "config.toml:3: not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_line(file: Path, content: str, said: str) -> None:
    file.write_text(content, encoding="utf-8")
    (found,) = told(file)
    assert found.startswith(said)


def test_a_key_in_place_of_its_name_is_not_repeated(file: Path) -> None:
    file.write_text('[run]\njudge = "openai:m"\napi_key_env = "sk-planted-KEY-1"\n', encoding="utf-8")
    (fault,) = told(file)
    assert fault.startswith("config.toml:3: “api_key_env” takes the name")
    assert "planted" not in fault
    assert read_preferences().preferences.judge is None
    file.write_text(
        '[run]\njudge = "openai:m"\nheader_env = { x-gateway = "sk-planted-KEY-1" }\n', encoding="utf-8"
    )
    (fault,) = told(file)
    assert fault.startswith("config.toml:3: “header_env” takes the name")
    assert "planted" not in fault


def test_the_judge_of_runs(file: Path) -> None:
    with pytest.raises(UsageError, match="no judge is named"):
        default_judge()
    file.write_text('[run]\njudge = "openai:m"\nbase_url = ["http://a", "http://b"]\n', encoding="utf-8")
    assert default_judge() == JudgeSetting(JudgeSpec(spec="openai:m", base_urls=("http://a", "http://b")), 2)
    file.write_text(
        '[run]\njudge = "openai:m"\napi_key_env = "MY_KEY"\nheader_env = { x-gateway = "GATEWAY_KEY" }\n',
        encoding="utf-8",
    )
    judge = JudgeSpec(spec="openai:m", api_key_env="MY_KEY", header_env=(("x-gateway", "GATEWAY_KEY"),))
    assert default_judge() == JudgeSetting(judge, 2)
    file.write_text('[run]\njudge = ""\n', encoding="utf-8")
    with pytest.raises(UsageError, match="a mistake in your settings"):
        default_judge()


def test_what_is_no_settings_file_holds_nothing_up(file: Path) -> None:
    deep = "[keys]\na" + ".a" * 5000 + ' = "f"\n'
    for content, said in (("# x\n" * 300_000, "larger than 1,000,000 bytes"), (deep, "nested too deeply")):
        file.write_text(content)
        assert [said in fault for fault in told(file)] == [True]
    with pytest.raises(UsageError, match="cannot be saved"):
        save_theme("recjudge-light")
    assert file.read_text() == deep
    file.unlink()
    os.mkfifo(file)
    assert ["not a file" in fault for fault in told(file)] == [True], "and it is not waited for"
    with pytest.raises(UsageError, match="cannot be saved"):
        save_theme("recjudge-light")


def test_files_that_cannot_be_read(file: Path) -> None:
    file.write_bytes(b"[app]\n# \xff\n")
    assert told(file) == ["config.toml:2: not valid UTF-8. Save the file as UTF-8."]
    file.write_bytes(b'\xef\xbb\xbf[app]\r\nreader = "Ada"\r\n')
    assert reader_name() == "Ada"
    file.unlink()
    file.mkdir()
    assert told(file) == ["config.toml: cannot be read: Is a directory."]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[app]\ntheme = "new"\n'),
        ("# only a comment", '# only a comment\n\n[app]\ntheme = "new"\n'),
        ('[app]\ntheme = "old" # why\n', '[app]\ntheme = "new" # why\n'),
        ("[app]\n  theme='old'#why\nreader = \"A\"\n", '[app]\n  theme="new"#why\nreader = "A"\n'),
        ('[keys]\na.b = "c"\n[app] # me\nreader = "A"\n', '[keys]\na.b = "c"\n[app] # me\nreader = "A"\ntheme = "new"\n'),
        ("[app]", '[app]\ntheme = "new"\n'),
        ('app.theme = "old"\napp.reader = "A"\n', 'app.theme = "new"\napp.reader = "A"\n'),
        ('[keys]\ntheme.x = "y"\n', '[keys]\ntheme.x = "y"\n\n[app]\ntheme = "new"\n'),
        ('[app]\r\nreader = "A"\r\n', '[app]\r\nreader = "A"\r\ntheme = "new"\n'),
        ('\ufeff[app]\ntheme = "old"\n', '\ufeff[app]\ntheme = "new"\n'),
    ],
)  # fmt: skip
def test_the_theme_is_kept_and_every_other_byte(file: Path, before: str, after: str) -> None:
    file.write_bytes(before.encode())
    file.chmod(0o600)
    save_theme("new")
    assert file.read_bytes() == after.encode()
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_preferences().preferences.theme is not None
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("content", ['app = { reader = "A" }\n', "[app\n", "app = 3\n", b"\xff\xfe"])
def test_a_setting_that_cannot_be_changed_in_one_line_is_left_alone(file: Path, content: str | bytes) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    file.write_bytes(raw)
    with pytest.raises(UsageError, match=r"Write theme = .new. below \[app\] yourself"):
        save_theme("new")
    assert file.read_bytes() == raw


def test_a_folder_is_made_and_a_link_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECJUDGE_CONFIG", str(tmp_path / "deep" / "down"))
    save_theme("new")
    assert config_path().read_text(encoding="utf-8") == '[app]\ntheme = "new"\n'
    real = tmp_path / "dotfiles.toml"
    config_path().rename(real)
    config_path().symlink_to(real)
    save_theme("newer")
    assert config_path().is_symlink()
    assert real.read_text(encoding="utf-8") == '[app]\ntheme = "newer"\n'
