"""Selects a few fields of a message as columns."""
