"""The terminal app. Screens show what reports return and compute nothing."""

import os

# What a key changes is painted at Textual's next tick. Its own 60 a second alone would make that 17 ms later.
os.environ.setdefault("TEXTUAL_FPS", "250")
