"""Intervals over users by the jackknife, and corrections for several tests."""
