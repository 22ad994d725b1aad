"""Fetch sessions, followed in Python alone."""
