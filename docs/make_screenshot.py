"""Write docs/screenshot.svg from the demo's data: python docs/make_screenshot.py"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from recjudge_tui.tui.app import RecjudgeApp

HERE = Path(__file__).resolve().parent
FILTER = "judge:rules label:poor"


async def picture(path: Path) -> str:
    app = RecjudgeApp(path, "synthetic-shop")
    async with app.run_test(size=(110, 32)) as pilot:
        await pilot.pause(2.0)
        # from the home of the project to its queue, whose filter is replaced
        await pilot.press("enter")
        await pilot.pause(1.0)
        await pilot.press("slash", "ctrl+u")
        await pilot.press(*("space" if c == " " else "colon" if c == ":" else c for c in FILTER), "enter")
        await pilot.pause(1.0)
        await pilot.press("down", "down")
        await pilot.pause(0.6)
        return app.export_screenshot(title="recjudge")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "demo.db"
        demo = [sys.executable, "-m", "recjudge_tui", "demo", "--no-tui", "--db", str(database)]
        subprocess.run(demo, check=True, capture_output=True)
        svg = asyncio.run(picture(database))
    # no fonts from the network: the reader's own monospaced one will do
    svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
    (HERE / "screenshot.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
