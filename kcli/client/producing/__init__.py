"""The producer: it collects records in batches, sends them in order, and sends them again if a leader moves."""
