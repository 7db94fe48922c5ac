"""The home of a project: its data, its judges' results, their agreement with people, and what needs a reader."""
