"""Checks definitions and drafts by the rules of Kafka's generator."""
