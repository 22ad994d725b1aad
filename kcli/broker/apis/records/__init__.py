"""Records of partitions: written, read, looked up by time or epoch, deleted."""
