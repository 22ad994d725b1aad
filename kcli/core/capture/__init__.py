"""Packets, TCP streams and exchanges of captures."""
