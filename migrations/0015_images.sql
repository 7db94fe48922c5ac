-- The images of items, each stored once for equal content: scaled down and written anew as JPEG when it is imported.
-- `digest` is the SHA-256 (hex) of `content`. Snapshots name the images that a judge was shown by their digests.
CREATE TABLE images (
  digest TEXT PRIMARY KEY,
  width INTEGER NOT NULL CHECK (width > 0),
  height INTEGER NOT NULL CHECK (height > 0),
  content BLOB NOT NULL
) STRICT;

ALTER TABLE items ADD COLUMN image TEXT REFERENCES images(digest);
CREATE INDEX items_by_image ON items(image) WHERE image IS NOT NULL;
