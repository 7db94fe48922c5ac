"""What a project holds, what its judges found, how far to trust them, and what needs a reader."""
