-- The scored example that a one-shot question about an explanation shows beside it.
ALTER TABLE run_cases ADD COLUMN example_snapshot INTEGER REFERENCES snapshots(id);
