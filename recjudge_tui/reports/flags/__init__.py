"""Flagged items: kinds of fault by system and by rank, and how far raters agree on them."""
