"""Rules for snapshots and metadata logs, and their findings."""
