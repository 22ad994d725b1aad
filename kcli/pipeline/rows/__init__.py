"""Rows of tables and facts, from the decoder's output."""
