"""Verdicts and metrics of systems over time."""
