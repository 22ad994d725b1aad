"""Frames, connections and exchanges of Kafka on ordered bytes."""
