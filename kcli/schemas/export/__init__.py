"""The message tables in the languages of other tools: Wireshark, Kaitai Struct, JSON Schema."""
