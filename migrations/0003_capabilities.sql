-- What `recjudge judge test` found out about a judge at these servers; a new test replaces the row.
CREATE TABLE capabilities (
  judge TEXT NOT NULL,
  base_urls TEXT NOT NULL DEFAULT '[]',
  record TEXT NOT NULL,
  probed_at TEXT NOT NULL,
  PRIMARY KEY (judge, base_urls)
) STRICT, WITHOUT ROWID;
