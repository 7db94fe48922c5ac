"""The data of a project: the imported data, and the part that a judge will see."""
