"""The frame around the screens: keys, themes, the command palette, the terminal and its signals."""
