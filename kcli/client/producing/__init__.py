"""The producer: batches gathered, sent in order, sent again to a new leader."""
