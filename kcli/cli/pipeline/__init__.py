"""`kcli pipeline`: run and report."""
