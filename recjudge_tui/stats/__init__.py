"""Pure functions on NumPy arrays: agreement, correlation, ranking, intervals, offline metrics."""
