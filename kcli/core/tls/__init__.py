"""TLS: the numbers of protected records."""
