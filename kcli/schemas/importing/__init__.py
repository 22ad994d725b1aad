"""Imports definitions and error codes from jars and source trees."""
