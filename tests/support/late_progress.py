"""Imported for what it does: on a slow machine a command says nothing that it does not say on a fast one."""

from __future__ import annotations

from recjudge_tui.cli import output as progress

progress.FIRST_S = progress.PLAIN_EVERY_S
