"""`kcli encode`: messages and record batches from JSON."""
