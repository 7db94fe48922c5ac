"""A real llama.cpp server with a tiny random model; nothing is downloaded.

    python -m tests.support.servers.llama_cpp --ctx 8192 --parallel 2

What it says means nothing, but tokenizer, chat template, grammar, log-probabilities, usage, slots, context
overflow and error bodies are llama.cpp's own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import xllamacpp

from recjudge_tui.system import idle_cores
from tests.support.servers.process import READY, watch_parent
from tests.support.servers.tiny_model import write_model


def main() -> None:
    options = _parser().parse_args()
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    model = options.model or model_file(options.model_dir, options.ctx)
    server = xllamacpp.Server(_parameters(options, model))
    sys.stdout.write(f"{READY}{server.listening_address}\n")
    sys.stdout.flush()
    orphaned = watch_parent()
    while not orphaned() and not stop.wait(0.2):
        pass
    # The server's own threads have no orderly end; leaving at once is what stops them.
    os._exit(0)


def model_file(folder: Path, context: int) -> Path:
    """The model for this context length, written on first use; safe when several processes ask at once."""
    path = folder / f"tiny-stair-{context}.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        write_model(draft, context)
        draft.replace(path)
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="llama.cpp's HTTP server with a tiny random model.")
    parser.add_argument("--ctx", type=int, default=8192, help="context of each slot, in tokens")
    parser.add_argument("--parallel", type=int, default=2, help="slots: requests answered at a time")
    parser.add_argument("--api-key", default="", help="demand Authorization: Bearer KEY")
    parser.add_argument("--model", type=Path, help="another model's file")
    parser.add_argument(
        "--model-dir",
        type=Path,
        default=Path(tempfile.gettempdir()) / f"recjudge-tests-{os.getuid()}",
        help="folder that keeps the model between starts",
    )
    return parser


def _parameters(options: argparse.Namespace, model: Path) -> xllamacpp.CommonParams:
    threads = asyncio.run(idle_cores()) if options.model else 1
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {"tiny-stair"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = options.ctx * options.parallel
    parameters.n_parallel = options.parallel
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.n_threads_http = max(4, 2 * options.parallel)
    parameters.use_jinja = True
    parameters.warmup = False
    if options.api_key:
        parameters.api_keys = [options.api_key]
    return parameters


if __name__ == "__main__":
    main()
