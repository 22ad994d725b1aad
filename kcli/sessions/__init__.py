"""Fetch sessions (KIP-227) as pure state machines, and what captures tell of them."""
