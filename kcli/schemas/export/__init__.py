"""Exports the message tables for other tools: Wireshark, Kaitai Struct, JSON Schema."""
