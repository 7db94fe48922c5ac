"""The built-in judge without a language model: the published guidelines as code."""
