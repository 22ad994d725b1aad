"""Reads records of the metadata log and its snapshots."""
