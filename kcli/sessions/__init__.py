"""Fetch sessions (KIP-227): state machines of client and broker, and a tracker of the sessions in captures."""
