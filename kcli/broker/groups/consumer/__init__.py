"""Consumer groups of KIP-848's protocol: the coordinator assigns partitions, and members learn them by heartbeats."""
