"""Rules about the line between clients and brokers."""
