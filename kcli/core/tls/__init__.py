"""Finds the numbers of protected TLS records."""
