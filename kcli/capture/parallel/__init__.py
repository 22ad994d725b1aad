"""Reads captures in several processes, each with a share of the connections."""
