"""Definitions and error codes imported from jars and source trees."""
