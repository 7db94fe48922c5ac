-- Filters of the verdict list that somebody gave a name.
CREATE TABLE saved_filters (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (name <> ''),
  filter TEXT NOT NULL CHECK (filter <> ''),
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;
