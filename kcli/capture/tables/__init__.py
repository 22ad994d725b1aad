"""Makes rows and Arrow columns of exchanges."""
