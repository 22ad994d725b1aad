"""Transactions: their coordinator, and the topic that stores its state (KIP-98, KIP-890)."""
