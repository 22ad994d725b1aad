"""Snapshots and metadata logs read: files, batches, records, folders."""
