"""From a prompt and a case to the messages of a request; what templates may reach and do."""
