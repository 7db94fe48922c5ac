"""The nightly work of `recjudge watch`: import new files, judge new cases, report the trend and the gate."""
