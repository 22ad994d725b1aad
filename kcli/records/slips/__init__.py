"""What people do wrong when they write record batches: in the checksum, the header, the records."""
