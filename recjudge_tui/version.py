"""The version of the program, in a file of its own because every command loads it, even `--help`."""

VERSION = "0.1.0"
# how the program names itself in requests
USER_AGENT = f"recjudge/{VERSION}"
