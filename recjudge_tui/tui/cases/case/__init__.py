"""One case laid out as text, in sections, and the panel that shows it."""
