"""Transactions: their coordinator, and the topic that keeps its state (KIP-98, KIP-890)."""
