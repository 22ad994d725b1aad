"""Definitions and drafts judged by the rules of Kafka's generator."""
