"""`kcli replay`: the command and its view."""
