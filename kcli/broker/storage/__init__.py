"""Logs on disk in Kafka's own layout: a folder for each partition, segments with indexes, checkpoints beside them."""
