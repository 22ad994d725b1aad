"""Packets and TCP streams in Python."""
