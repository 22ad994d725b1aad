"""Rules about the network between clients and brokers."""
