"""Fetch sessions: incremental fetches followed without a Python object each."""
