"""Random keys, mouse and resizes in a real pseudo-terminal; benchmarks/random_keys.py plays for an hour."""

from __future__ import annotations

from pathlib import Path

from tests.support.app.random_keys import make_material, play


def test_random_keys_do_not_end_the_app_wrongly(tmp_path: Path) -> None:
    path = tmp_path / "keys.db"
    make_material(path)
    session = play(path, seed=2, inputs=150, folder=tmp_path)
    assert not session.fault, (session.pressed[-8:], session.seen[-1500:])
