"""Grammars of files and networks: captures, TLS, checkpoints, files beside a log."""
