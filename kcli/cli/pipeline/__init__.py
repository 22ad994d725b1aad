"""`kcli pipeline`: run, report, and the upkeep of what they wrote."""
