"""Replays the fetch sessions of captures, by a client that keeps sessions of its own."""
