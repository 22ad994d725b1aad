"""Snapshots written, and new quorums started with them."""
