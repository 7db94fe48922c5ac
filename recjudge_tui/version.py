"""The version of the program. Apart from everything else, because every command loads it, `--help` too."""

VERSION = "0.1.0"
# the name of the program in its requests
USER_AGENT = f"recjudge/{VERSION}"
