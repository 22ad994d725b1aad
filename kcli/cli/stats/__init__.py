"""`kcli stats`: the command and its table."""
