"""Replays all traffic of captures: requests are rewritten for a live cluster, and responses compared with the captured
ones.
"""
