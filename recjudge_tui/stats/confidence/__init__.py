"""Calibration of a judge's confidence."""
