"""`kcli sql`: the command, its prompt and its results."""
