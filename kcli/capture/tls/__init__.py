"""TLS in captures: records out of streams, and, with the keys of a key log, the bytes that they protect."""
