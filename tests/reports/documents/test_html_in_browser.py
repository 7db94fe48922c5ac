"""The report of a project in a real browser: on a phone, in the dark and on paper."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from recjudge_tui.cli.app import recjudge

pytestmark = pytest.mark.browser

PAPER = {"A4": (595, 842), "Letter": (612, 792)}
# a page without scripts of its own is measured from outside, in a frame as wide as a phone
FRAME = """<!doctype html><body><iframe id="f" width="390" height="844" src="report.html"></iframe><script>
f.onload = () => { const d = f.contentDocument; document.title = [d.documentElement.scrollWidth, d.images.length,
  [...d.images].every(i => i.complete && i.naturalWidth > 0)].join(" ") }
</script></body>"""


def chromium(*args: str | Path) -> str:
    """What the browser prints. Root needs --no-sandbox, a container's small /dev/shm the other."""
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        *map(str, args),
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the demo."""
    folder = tmp_path_factory.mktemp("report")
    database, path = folder / "demo.db", folder / "report.html"
    for words in (["demo", "--no-tui"], ["report", "-p", "synthetic-shop", "-o", str(path)]):
        done = CliRunner().invoke(recjudge, [*words, "--db", str(database)])
        assert done.exit_code == 0, done.output
    return path


def test_nothing_is_wider_than_a_phone_and_every_picture_is_drawn(report: Path) -> None:
    frame = report.with_name("frame.html")
    frame.write_text(FRAME, encoding="utf-8")
    page = chromium(
        "--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom", frame.as_uri()
    )
    width, pictures, drawn = re.search(r"<title>(.*?)</title>", page)[1].split()  # type: ignore[index]
    assert int(width) <= 390
    assert int(pictures) > 5
    assert drawn == "true"


@pytest.mark.parametrize("paper", PAPER)
def test_the_conclusion_fills_one_sheet(report: Path, paper: str) -> None:
    """The first section alone makes one page; what is folded away is not printed with it."""
    text = report.read_text(encoding="utf-8")
    first = re.sub(r"(<section id=\"summary\".*?</section>).*</main>", r"\1</main>", text, flags=re.DOTALL)
    sheet = report.with_name(f"{paper}.html")
    sheet.write_text(first.replace("</style>", f"@page {{ size: {paper} }}</style>", 1), encoding="utf-8")
    pdf = sheet.with_suffix(".pdf")
    chromium("--no-pdf-header-footer", f"--print-to-pdf={pdf}", sheet.as_uri())
    printed = pdf.read_bytes()
    sizes = {
        tuple(round(float(x)) for x in box.split())
        for box in re.findall(rb"/MediaBox \[0 0 (.*?)\]", printed)
    }
    assert len(re.findall(rb"/Type /Page\b", printed)) == 1
    assert sizes == {PAPER[paper]}
