"""`kcli snapshot`: a module for each command, with its view."""
