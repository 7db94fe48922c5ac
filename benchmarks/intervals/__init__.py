"""Populations with known true values, by the kind of figure; `benchmarks/coverage.py` draws from them."""
