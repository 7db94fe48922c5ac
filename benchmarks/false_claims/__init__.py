"""Samples in which a claim of the tool is false; `benchmarks/claims.py` counts how often it is made."""
