"""Rules about brokers: slow, gone, replication, leaders."""
