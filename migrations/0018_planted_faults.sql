-- Lists made to test judges: which fault was planted where, into which imported list.
CREATE TABLE planted_faults (
  slate_id INTEGER PRIMARY KEY REFERENCES slates(id) ON DELETE CASCADE,
  source_slate_id INTEGER NOT NULL REFERENCES slates(id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind <> ''),
  item_id TEXT NOT NULL CHECK (item_id <> ''),
  rank INTEGER NOT NULL CHECK (rank > 0),
  displaced_item_id TEXT NOT NULL
) STRICT;
CREATE INDEX planted_faults_by_source ON planted_faults(source_slate_id);
