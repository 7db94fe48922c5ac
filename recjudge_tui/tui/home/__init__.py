"""The home of a project."""
