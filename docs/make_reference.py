"""Write the pages that are made from the program: python docs/make_reference.py

They are not kept in the repository: they are made anew each time the site is built, and by `recjudge docs`.
"""

from pathlib import Path

from recjudge_tui.cli.docs import MADE, page

if __name__ == "__main__":
    for name in MADE:
        (Path(__file__).resolve().parent / f"{name}.md").write_text(page(name), encoding="utf-8")
