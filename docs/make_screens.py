"""Write the pictures of docs/screens/ from the demo's data: python docs/make_screens.py"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp
from recjudge_tui.tui.home import HomeScreen

FOLDER = Path(__file__).resolve().parent / "screens"
SIZE = (104, 30)
PROJECT = "synthetic-shop"
# the keys that lead from the home of the project to each picture; words in quotes are typed
ROUTES = {
    "home": (),
    "triage": ("t", "slash", "ctrl+u", "'judge:rules label:poor'", "enter", "down", "down"),
    "reports": ("a",),
    "launch": ("n",),
}


async def picture(path: Path, keys: tuple[str, ...]) -> str:
    app = RecjudgeApp(path, PROJECT)
    async with app.run_test(size=SIZE) as pilot:
        home = pilot.app.screen
        assert isinstance(home, HomeScreen)
        # its slow figures come one after the other
        while not home.view.done:
            await pilot.pause(0.1)
        for key in keys:
            await pilot.press(*(_keys_of(key.strip("'")) if key.startswith("'") else (key,)))
            await pilot.pause(1.0)
        return app.export_screenshot(title="recjudge")


def _keys_of(text: str) -> tuple[str, ...]:
    return tuple({" ": "space", ":": "colon"}.get(character, character) for character in text)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "demo.db"
        demo = [sys.executable, "-m", "recjudge_tui", "demo", "--no-tui", "--db", str(database)]
        subprocess.run(demo, check=True, capture_output=True)
        for name, keys in ROUTES.items():
            svg = asyncio.run(picture(database, keys))
            # no fonts from the network: the reader's own monospaced one will do
            svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
            (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
