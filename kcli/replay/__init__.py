"""Captures run again: one engine, with all traffic or the fetch sessions alone as its policies."""
