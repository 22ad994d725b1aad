"""`kcli schema`: a module for each command, with its view."""
