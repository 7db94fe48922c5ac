"""From a prompt and a case to the messages of a request; the limits on what templates may access and do."""
