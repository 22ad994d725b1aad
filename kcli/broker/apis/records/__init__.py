"""APIs that write, read, look up (by time or epoch) and delete the records of partitions."""
