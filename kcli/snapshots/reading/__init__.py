"""Reads snapshots and metadata logs: files, batches, records, folders."""
