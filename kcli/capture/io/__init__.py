"""Recognizes, reads and writes capture files."""
