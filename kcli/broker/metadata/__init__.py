"""The embedded broker's metadata: topics, leaders, the metadata log and its snapshots."""
