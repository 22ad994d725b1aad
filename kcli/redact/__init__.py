"""Captures that may leave the house: names, addresses and data replaced, with sizes, times and errors as they were."""
