"""Captured fetch sessions run again, against a live broker."""
