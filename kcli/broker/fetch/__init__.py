"""Fetches of the embedded broker: they read partitions, wait for records and convert them."""
