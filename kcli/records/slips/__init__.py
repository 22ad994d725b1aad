"""Common slips in writing record batches: in the checksum, the header, the records."""
