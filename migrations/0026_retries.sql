-- A run whose server cannot be reached: why, with how many calls, and when the next of them tries again. Empty while it is.
ALTER TABLE runs ADD COLUMN retry_why TEXT;
ALTER TABLE runs ADD COLUMN retry_at TEXT;
