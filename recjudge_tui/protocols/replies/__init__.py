"""From the text of a reply to its answers, or to the fault to name when the judge is asked again."""
