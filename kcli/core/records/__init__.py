"""Record batches: headers, checksums, values, JSON text, columns, down-conversion."""
