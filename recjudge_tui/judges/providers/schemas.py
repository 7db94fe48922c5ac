"""The part of a reply's schema that every server accepts."""

from __future__ import annotations

from typing import Any

# Claude refuses a schema with bounds, wherever it is served (its own API, Bedrock, resellers with OpenAI's API),
# and so does Azure. The bounds are checked when the reply is read.
_BOUNDS = ("minimum", "maximum", "maxLength", "maxItems")


def without_bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without bounds of numbers, texts and lists; the same object if it has none."""
    parts = {name: part for name, part in schema.items() if name not in _BOUNDS}
    for name, part in parts.items():
        if name == "properties":
            parts[name] = {field: without_bounds(spec) for field, spec in part.items()}
        elif isinstance(part, dict):
            parts[name] = without_bounds(part)
    return parts if parts != schema else schema
