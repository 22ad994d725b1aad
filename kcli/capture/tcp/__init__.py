"""Packets and TCP streams."""
