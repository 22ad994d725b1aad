"""Captures into a draft, redacted, in Python."""
