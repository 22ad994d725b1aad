"""Logs on disk in Kafka's layout: a folder for each partition, with segments, indexes and checkpoints."""
