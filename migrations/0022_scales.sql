-- The scale of an aspect, as files of labels give it: numbers from low to high, or words whose values are 0, 1, ...
-- Words without an order are categories.
CREATE TABLE scales (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  protocol TEXT NOT NULL,
  aspect TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES imports(id) ON DELETE CASCADE,
  low REAL NOT NULL,
  high REAL NOT NULL,
  words TEXT NOT NULL DEFAULT '[]',
  ordered INTEGER NOT NULL DEFAULT 1 CHECK (ordered IN (0, 1)),
  PRIMARY KEY (project_id, protocol, aspect, import_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX scales_by_import ON scales(import_id);
