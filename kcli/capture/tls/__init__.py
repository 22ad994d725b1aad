"""Reads TLS in captures: records, and, with the secrets of a key log, their decrypted contents."""
