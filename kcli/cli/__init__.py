"""The command line: options in, library call, rendering out. Nothing imports it."""
