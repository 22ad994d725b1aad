"""Reads and writes messages: step tables of their grammars, and the operations on them; names, hashes, JSON text."""
