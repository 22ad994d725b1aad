"""Interpreted twins of the core, slow and plain: what it must agree with, and never what kcli runs on."""
