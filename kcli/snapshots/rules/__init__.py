"""Rules that snapshots and metadata logs are held to, and their findings."""
