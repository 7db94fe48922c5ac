from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from recjudge_tui.tui.themes import THEMES, Painted
from tests.support.app.driving import press, running, settle, shown, type_text, until
from tests.support.app.projects import make_project

TEXTS = ("foreground", "text", "text-muted", "accent", "warning", "error", "success", "secondary", "dim")
GROUNDS = ("background", "surface", "panel", "primary-muted", "block-cursor-background")


def luminance(color: Color) -> float:
    """WCAG 2.2, relative luminance."""

    def linear(channel: int) -> float:
        part = channel / 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def painted(theme: Theme, text: str, ground: Color) -> Color:
    """The colour that reaches the screen when `text` stands on `ground`."""
    names = theme.to_color_system().generate()
    if text == "dim":
        style = Style(color=Color.parse(names["foreground"]).rich_color, bgcolor=ground.rich_color, dim=True)
        painted_style = Painted((), colours=True).apply([Segment("x", style)], ground)[0].style
        assert painted_style.color is not None
        assert not painted_style.dim
        return Color.from_rich_color(painted_style.color)
    if names[text].startswith("auto"):
        color = ground.get_contrast_text(float(names[text].split()[1].rstrip("%")) / 100)
        return ground.blend(Color(color.r, color.g, color.b), color.a)
    return Color.parse(names[text])


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_every_text_can_be_read_on_every_ground(theme: Theme, text: str, ground: str) -> None:
    under = Color.parse(theme.to_color_system().generate()[ground])
    assert contrast(painted(theme, text, under), under) >= 4.5


async def test_a_theme_chosen_in_the_palette_is_kept(project_db: Path, config_folder: Path) -> None:
    make_project(project_db)
    config_folder.mkdir()
    file = config_folder / "config.toml"
    file.write_text('# mine\n[app]\nreader = "Ada" # me\n', encoding="utf-8")
    async with running(project_db) as pilot:
        await press(pilot, "colon")
        await type_text(pilot, "theme")
        await press(pilot, "enter")
        await type_text(pilot, "recjudge-light")
        await press(pilot, "enter")
        await until(pilot, lambda: pilot.app.theme == "recjudge-light")
        await until(pilot, lambda: "recjudge-light" in file.read_text(encoding="utf-8"))
        assert "movies" in shown(pilot)
    assert (
        file.read_text(encoding="utf-8") == '# mine\n[app]\nreader = "Ada" # me\ntheme = "recjudge-light"\n'
    )
    async with running(project_db) as pilot:
        assert pilot.app.theme == "recjudge-light"


async def test_no_colour_means_no_colour_whatever_the_theme(
    project_db: Path, config_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    make_project(project_db)
    async with running(project_db, "movies") as pilot:
        for theme in THEMES:
            pilot.app.theme = theme.name
            await settle(pilot)
            filters = pilot.app.get_line_filters()
            for strip in pilot.app.screen._compositor.render_strips():
                segments = list(strip)
                for line_filter in filters:
                    segments = line_filter.apply(segments, Color(0, 0, 0))
                for segment in segments:
                    for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                        assert color is None or color.triplet is None or len(set(color.triplet)) == 1
    assert os.environ["NO_COLOR"]
