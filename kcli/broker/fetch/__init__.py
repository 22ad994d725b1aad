"""Fetches of the embedded broker: reading partitions, waiting, conversion."""
