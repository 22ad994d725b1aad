"""Fetch sessions of captures run again, by a client that keeps sessions of its own."""
