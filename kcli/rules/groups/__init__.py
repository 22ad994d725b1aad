"""Rules about consumer groups and their members."""
