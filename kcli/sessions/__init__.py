"""Fetch sessions (KIP-227) as pure state machines, and the sessions that captures show."""
