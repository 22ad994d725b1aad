"""Exchanges, connections and partitions as Arrow columns."""
