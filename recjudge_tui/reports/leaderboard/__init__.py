"""Rankings of systems by judges' verdicts, and offline metrics for comparison."""
