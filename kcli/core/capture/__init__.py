"""Reads packets, TCP streams and exchanges of captures."""
