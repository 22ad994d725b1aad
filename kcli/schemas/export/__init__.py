"""The message tables in the languages of other tools: Wireshark, JSON Schema."""
