"""Share groups, their records and offsets."""
