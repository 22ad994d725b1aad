"""`kcli diff`: two encodings of the same, field by field."""
