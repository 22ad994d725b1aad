"""Connections of the embedded broker: listening, receiving, queueing, sending."""
