"""Controls work on a run: the process, its speed and its limits."""
