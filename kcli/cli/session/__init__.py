"""`kcli fetch-session`: explain, lint and replay, with their views."""
