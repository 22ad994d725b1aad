"""Reads Kafka's frames, connections and exchanges from ordered bytes."""
