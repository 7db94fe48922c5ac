"""Flagged items: kinds of issue by system and by rank, and the agreement of raters on them."""
