"""Rows of tables and facts out of what the decoder gives."""
