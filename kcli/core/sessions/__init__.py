"""Follows fetch sessions, without a Python object for each incremental fetch."""
