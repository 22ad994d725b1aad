"""Reads payloads of records: Avro values."""
