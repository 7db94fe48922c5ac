"""Reads files of every known layout as records, and stores all records of an import in one transaction."""
