"""Writes snapshots, and starts new quorums with them."""
