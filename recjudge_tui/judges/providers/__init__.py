"""One file for each vendor's API, and the code that they share."""
