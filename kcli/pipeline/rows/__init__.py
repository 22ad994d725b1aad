"""Rows of tables and facts, made from the decoder's output."""
