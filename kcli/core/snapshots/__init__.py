"""Records of the metadata log and its snapshots."""
