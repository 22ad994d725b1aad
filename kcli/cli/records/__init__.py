"""`kcli records`: the command, where it finds records, and its formats."""
