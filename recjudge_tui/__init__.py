"""recjudge: language models judge recommendation lists and explanations, in the terminal."""

__version__ = "0.1.0"
