"""Files that would never end, block, or fill the memory: refused quickly, with nothing stored."""

from __future__ import annotations

import gzip
import io
import json
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from recjudge_tui.errors import InputError, PromptError
from recjudge_tui.importers.layout import load_declaration
from recjudge_tui.importers.reader import contents_of, json_keys, sample_of, saved_input
from recjudge_tui.importers.values import html_text
from recjudge_tui.store.database import Database
from recjudge_tui.store.prompts import read_prompt
from tests.support.importing import Load

HEADER = b"item_id,title\n"
# far more than any of them takes, far less than before
LONGEST_S = 2.0


@pytest.fixture(autouse=True)
def _quickly() -> Iterator[None]:
    started = time.process_time()
    yield
    assert time.process_time() - started < LONGEST_S


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.csv")
    return folder / "pipe.csv"


def _link(folder: Path) -> Path:
    (folder / "link.csv").symlink_to("/dev/urandom")
    return folder / "link.csv"


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/urandom", _pipe, _link])
def test_only_regular_files_are_opened(place: object, tmp_path: Path, db: Database) -> None:
    path = place(tmp_path) if callable(place) else Path(str(place))
    for read in (sample_of, contents_of):
        with pytest.raises(
            InputError, match=r"cannot be read It is a (device|pipe), not a file\. .*import -"
        ):
            read(path)
    with pytest.raises(InputError, match="not a file"):
        load_declaration(path)
    with pytest.raises(PromptError, match="not a file"):
        read_prompt(path)


def test_files_written_by_hand_are_small(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(InputError, match="larger than 1,000,000 bytes"):
        load_declaration(path)
    with pytest.raises(PromptError, match="larger than 1,000,000 bytes"):
        read_prompt(path)


@pytest.mark.parametrize("packing", ["gzip", "zip"])
def test_a_file_that_unpacks_to_far_more_than_a_table_is_refused(packing: str, tmp_path: Path) -> None:
    path, block = tmp_path / f"bomb.csv.{packing.replace('gzip', 'gz')}", b"1,a\n" * 5_000_000
    packed = io.BytesIO()
    if packing == "gzip":
        with gzip.GzipFile(fileobj=packed, mode="wb") as file:
            file.write(HEADER)
            file.write(block)
        # members in a row are one file
        path.write_bytes(packed.getvalue() * 6)
    else:
        with (
            zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("a.csv", "w") as member,
        ):
            for _ in range(6):
                member.write(block)
        path.write_bytes(packed.getvalue())
    with pytest.raises(InputError, match=r"compressed too strongly.*more than 0.1 GB.*unpacked"):
        contents_of(path)


def test_a_file_with_a_hole_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for content, said in ((b"", "only zero bytes"), (HEADER + b"1,a\n", r":3: a thousand zero bytes")):
        path = tmp_path / "sparse.csv"
        path.write_bytes(content)
        os.truncate(path, 3 << 30)
        with pytest.raises(InputError, match=said):
            sample_of(path)
    path.write_bytes(HEADER + b"1,a\n" * 100_000)
    os.truncate(path, 3 << 30)
    with pytest.raises(InputError, match=r"\d: a thousand zero bytes"):
        contents_of(path)


def test_an_endless_standard_input_is_refused_by_its_beginning() -> None:
    with (
        Path("/dev/zero").open("rb") as stream,
        pytest.raises(InputError, match="stdin contains only zero"),
        saved_input(stream),
    ):
        pass


@pytest.mark.parametrize("piece", ['\\"', '"', "[", "{", "\\", ",", " ", '"a', '{"a":'])
def test_the_keys_of_json_that_is_cut_off_are_read_in_linear_time(piece: str) -> None:
    assert "b" not in json_keys('[{"a":"' + piece * (256_000 // len(piece)))


@pytest.mark.parametrize(
    "piece", ["<", "<a", "<a ", "<a b=", "<a '", '<a b="', "<!--", "<![", "</", "<?", "<script>", "&", "&#"]
)
def test_html_is_read_in_linear_time(piece: str) -> None:
    for before in ("", "<script>", "<a "):
        html_text(before + piece * (70_000 // len(piece)))


def test_a_label_studio_export_with_a_long_first_task_is_imported(load: Load) -> None:
    task = {
        "id": 1,
        "data": {"user_id": "u", "system": "s", "html": '<a href="x">' * 6_000},
        "annotations": [
            {
                "completed_by": {"email": "ann"},
                "result": [{"from_name": "overall", "type": "choices", "value": {"choices": ["Good"]}}],
            }
        ],
    }
    load("lists", "user_id,system,item_id,rank\nu,s,1,1\n")
    assert load("labels", json.dumps([task]), name="export.json").files[0].layout == "label-studio"
