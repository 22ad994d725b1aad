"""Exchanges as rows and Arrow columns."""
