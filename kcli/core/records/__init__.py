"""Reads and writes record batches: headers, checksums, values, JSON text, columns, down-conversion."""
