"""A broker rebuilt from a capture: its topics, batches, sessions and clock."""
