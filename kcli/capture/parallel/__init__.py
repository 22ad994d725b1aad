"""Captures read by several processes, each a share of the connections."""
