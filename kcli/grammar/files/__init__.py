"""Grammars of files and of network protocols: captures, TLS, checkpoints, files beside a log."""
