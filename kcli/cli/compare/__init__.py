"""`kcli compare`: captures of before and after a change."""
