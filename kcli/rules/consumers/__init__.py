"""Rules about fetches, metadata and connections of clients."""
