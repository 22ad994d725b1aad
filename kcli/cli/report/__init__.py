"""`kcli report`: captures or metadata logs as one page."""
