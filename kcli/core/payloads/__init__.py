"""Payloads of records: values of Avro."""
