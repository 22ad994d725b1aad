"""Groups of consumers, classic and new, and their offsets."""
