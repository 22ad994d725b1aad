"""`kcli diagnose`: what is wrong in captures."""
