"""The producer: gathers records into batches, sends them in order, and sends them again to a new leader."""
